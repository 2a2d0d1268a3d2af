// Command vmtest runs one Go test binary in a QEMU guest whose only cgroup hierarchy is v2:
//
//	CGO_ENABLED=0 go test -exec /path/to/vmtest ./cgroupsv2
//
// The same static binary is host runner and guest init. Kernel: $VMTEST_KERNEL,
// a bzImage. run.sh beside it fetches what is needed and calls go test so.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	if os.Getpid() == 1 {
		guest()
	}
	if len(os.Args) < 2 || os.Getenv("VMTEST_KERNEL") == "" {
		fmt.Fprintln(os.Stderr, "usage: VMTEST_KERNEL=bzImage vmtest test-binary [arguments]")
		os.Exit(2)
	}
	code, err := host(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "vmtest:", err)
	}
	os.Exit(code)
}

// host boots the guest and returns the test's exit status; 125 means that there
// was none. TCG is asked for by name: a /dev/kvm may be there and not carry a
// stock kernel.
func host(test string, args []string) (int, error) {
	dir, err := os.MkdirTemp("", "vmtest")
	if err != nil {
		return 125, err
	}
	defer os.RemoveAll(dir)
	cover := ""
	for i, a := range args { // the one file that comes back
		if p, ok := strings.CutPrefix(a, "-test.coverprofile="); ok {
			cover, args[i] = p, "-test.coverprofile=/tmp/cover"
		} else if strings.HasPrefix(a, "-test.gocoverdir=") {
			args[i] = "-test.gocoverdir=/tmp"
		}
	}
	initrd, swap := dir+"/initrd", dir+"/swap"
	if err := errors.Join(pack(initrd, test, args), mkswap(swap, 64<<20)); err != nil {
		return 125, err
	}
	ctx, stop := context.WithTimeout(context.Background(), 8*time.Minute)
	defer stop()
	q := exec.CommandContext(ctx, "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-machine", "q35", "-accel", "tcg", "-cpu", "Nehalem", "-m", "512", "-smp", "8,sockets=2,cores=2,threads=2",
		"-object", "memory-backend-ram,id=m0,size=256M", "-object", "memory-backend-ram,id=m1,size=256M",
		"-numa", "node,nodeid=0,cpus=0-3,memdev=m0", "-numa", "node,nodeid=1,cpus=4-7,memdev=m1",
		"-kernel", os.Getenv("VMTEST_KERNEL"), "-initrd", initrd,
		"-append", "console=ttyS0 quiet loglevel=4 panic=-1 reboot=t cgroup_no_v1=all rdinit=/init mitigations=off",
		"-serial", "file:"+dir+"/kernel", "-serial", "stdio", "-serial", "file:"+dir+"/status", "-serial", "file:"+dir+"/back",
		"-drive", "if=none,id=swap,format=raw,file="+swap, "-device", "nvme,drive=swap,serial=swap")
	q.Stdout, q.Stderr = os.Stdout, os.Stderr
	err = q.Run()
	var code int
	status, _ := os.ReadFile(dir + "/status")
	if _, serr := fmt.Sscanf(string(status), "exit %d", &code); err != nil || serr != nil { // panic, hang, no qemu
		log, _ := os.ReadFile(dir + "/kernel")
		return 125, fmt.Errorf("the guest gave no exit status: %v\n%s", err, log)
	}
	if cover != "" {
		b, _ := os.ReadFile(dir + "/back")
		return code, os.WriteFile(cover, b, 0o644)
	}
	return code, nil
}

// pack writes a newc archive: this program as /init, the test, its arguments and the package's testdata.
func pack(out, test string, args []string) error {
	var b bytes.Buffer
	pad := func() { b.Write(make([]byte, -b.Len()&3)) }
	add := func(name string, mode int, data []byte) {
		fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", b.Len(), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
		pad()
		b.Write(data)
		pad()
	}
	file := func(name, path string, mode int) error {
		d, err := os.ReadFile(path)
		add(name, syscall.S_IFREG|mode, d)
		return err
	}
	for _, d := range []string{"proc", "sys", "dev", "tmp", "pkg"} {
		add(d, syscall.S_IFDIR|0o755, nil)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := errors.Join(file("init", self, 0o755), file("test", test, 0o755)); err != nil {
		return err
	}
	js, err := json.Marshal(args)
	add("args", syscall.S_IFREG|0o644, js)
	err2 := filepath.WalkDir("testdata", func(p string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			add("pkg/"+p, syscall.S_IFDIR|0o755, nil)
			return nil
		}
		return file("pkg/"+p, p, 0o644)
	})
	add("TRAILER!!!", 0, nil)
	return errors.Join(err, err2, os.WriteFile(out, b.Bytes(), 0o600))
}

// mkswap writes the header page that swapon(2) asks for.
func mkswap(path string, size int64) error {
	h := make([]byte, 4096)
	h[1024] = 1
	n := uint32(size/4096 - 1)
	h[1028], h[1029], h[1030], h[1031] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
	copy(h[4086:], "SWAPSPACE2")
	return errors.Join(os.WriteFile(path, h, 0o600), os.Truncate(path, size))
}

// guest is the machine's first process: it mounts, runs the test, answers over
// the serial lines and reboots, which ends QEMU.
func guest() {
	for _, m := range [][3]string{{"devtmpfs", "/dev", ""}, {"proc", "/proc", ""}, {"sysfs", "/sys", ""}, {"cgroup2", "/sys/fs/cgroup", "nsdelegate"}, {"bpf", "/sys/fs/bpf", ""}, {"tmpfs", "/tmp", "mode=1777"}} {
		if err := syscall.Mount(m[0], m[1], m[0], 0, m[2]); err != nil {
			fmt.Println("init: mount", m, err)
		}
	}
	loopback()
	swap := []byte("/dev/nvme0n1\x00")
	syscall.Syscall(syscall.SYS_SWAPON, uintptr(unsafe.Pointer(&swap[0])), 0, 0)
	var args []string
	js, _ := os.ReadFile("/args")
	json.Unmarshal(js, &args)
	out := line("/dev/ttyS1")
	c := exec.Command("/test", args...)
	c.Dir, c.Stdout, c.Stderr = "/pkg", out, out
	c.Env = []string{"HOME=/tmp", "TMPDIR=/tmp", "VMTEST=1"}
	err := c.Run()
	code := c.ProcessState.ExitCode() // -1 if it died by a signal or never started
	if code < 0 {
		fmt.Fprintln(out, "init:", err)
		code = 124
	}
	if f, err := os.Open("/tmp/cover"); err == nil {
		io.Copy(line("/dev/ttyS3"), f)
	}
	fmt.Fprintf(line("/dev/ttyS2"), "exit %d\n", code)
	for _, p := range []string{"/dev/ttyS1", "/dev/ttyS2", "/dev/ttyS3"} {
		ioctl(line(p), 0x5409, 1) // TCSBRK: wait until all is sent
	}
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_RESTART)
	select {}
}

// loopback takes the machine's own network interface up.
func loopback() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		fmt.Println("init: socket", err)
		return
	}
	var req [40]byte // struct ifreq: name, then flags
	copy(req[:], "lo")
	req[16] = syscall.IFF_UP
	syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&req[0])))
	syscall.Close(fd)
}

// line opens a serial port that passes bytes through as they are.
func line(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		fmt.Println("init:", err)
		return os.Stdout
	}
	var t syscall.Termios
	ioctl(f, syscall.TCGETS, uintptr(unsafe.Pointer(&t)))
	t.Oflag &^= syscall.OPOST
	t.Lflag &^= syscall.ECHO | syscall.ICANON | syscall.ISIG
	ioctl(f, syscall.TCSETS, uintptr(unsafe.Pointer(&t)))
	return f
}

func ioctl(f *os.File, req, arg uintptr) {
	syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), req, arg)
}
