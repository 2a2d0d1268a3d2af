package main

import (
	"bytes"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/berth-sched/berth/bind"
	"github.com/berth-sched/berth/bind/wiring"
	"github.com/berth-sched/berth/cgroupsv2"
	"github.com/berth-sched/berth/examples/nodeagent/protocol"
	"github.com/berth-sched/berth/nvml"
	"github.com/berth-sched/berth/topology"
)

// A machine is what the agent found out about its node.
type machine struct {
	Inventory protocol.Inventory
	Shape     bind.CPUShape
	Numbers   []int32              // the kernel's number of each CPU in Slurm's numbering
	Records   [][]cgroupsv2.Device // files of each GPU, in the order of Inventory.GPUs
	Mems      []uint64             // memory nodes with CPUs
	Near      [][]uint64           // CPUs near each GPU, in Slurm's numbering; nil is all
}

// The major number of device files that stand for GPUs in a trial: one that is
// reserved for experiments. No driver answers, so opening one gives ENXIO if
// the fence lets it through, and EPERM if not.
const fakeMajor = 240

// discover looks at the node. fake, if not 0, is a number of device files that
// are made in dir instead of looking for GPUs.
func discover(fake int, dir string) (*machine, error) {
	m := &machine{}
	wires, err := wiring.Sysfs(os.DirFS("/sys"))
	if err != nil {
		return nil, err
	}
	m.number(wires)
	for i := range wires.Memory {
		if node := &wires.Memory[i]; len(node.CPUs) > 0 {
			for len(m.Mems) <= int(node.ID/64) {
				m.Mems = append(m.Mems, 0)
			}
			m.Mems[node.ID/64] |= 1 << (node.ID % 64)
		}
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return nil, err
	}
	if _, rest, ok := bytes.Cut(text, []byte("MemTotal:")); ok {
		var kib int64
		fmt.Sscan(string(rest), &kib)
		m.Inventory.Memory = kib / 1024
	}
	if fake > 0 {
		err = m.fakes(fake, dir)
	} else {
		m.gpus(wires)
	}
	if err != nil {
		return nil, err
	}
	for _, g := range m.Inventory.GPUs {
		var files []cgroupsv2.Device
		for _, path := range g.Files {
			d, err := cgroupsv2.Stat(path)
			if err != nil {
				m.Inventory.Problems = append(m.Inventory.Problems, err.Error())
				continue
			}
			files = append(files, d)
		}
		m.Records = append(m.Records, files)
	}
	return m, nil
}

// number puts the machine's CPUs into Slurm's order. A machine whose cores
// differ in threads is taken as one thread a core.
func (m *machine) number(w *topology.Machine) {
	cpus := slices.Clone(w.CPUs)
	slices.SortFunc(cpus, func(a, b topology.MachineCPU) int {
		if a.Core != b.Core {
			return int(a.Core - b.Core)
		}
		return int(a.ID - b.ID)
	})
	cores, sockets := int32(0), int32(1)
	for _, c := range cpus {
		cores, sockets = max(cores, c.Core+1), max(sockets, c.Socket+1)
	}
	threads := int32(1)
	if cores > 0 && int(cores)*(len(cpus)/int(cores)) == len(cpus) {
		threads = int32(len(cpus)) / cores
	} else {
		cores = int32(len(cpus))
	}
	if cores%sockets != 0 {
		sockets = 1
	}
	m.Shape = bind.CPUShape{Sockets: sockets, Cores: cores / sockets, Threads: threads}
	m.Inventory.Sockets, m.Inventory.Cores, m.Inventory.Threads = sockets, cores/sockets, threads
	for _, c := range cpus {
		m.Numbers = append(m.Numbers, c.ID)
	}
}

// gpus asks the driver, and without its library the kernel. A node without a
// driver has no GPUs; what else goes wrong is a problem to report.
func (m *machine) gpus(w *topology.Machine) {
	problem := func(err error) { m.Inventory.Problems = append(m.Inventory.Problems, err.Error()) }
	sources := []nvml.Source{nvml.Kernel{Proc: os.DirFS("/proc"), Sys: os.DirFS("/sys")}}
	if lib, err := nvml.Open(""); err == nil {
		defer lib.Close()
		sources = append(sources, lib)
	}
	snap, _, err := nvml.Detect(nvml.DetectNVML|nvml.DetectNVIDIA, sources...)
	if err != nil {
		problem(err)
	}
	if snap == nil {
		return
	}
	text, err := os.ReadFile("/proc/driver/nvidia-caps/mig-minors")
	var minors nvml.MIGMinors
	if err == nil {
		if minors, err = nvml.ParseMIGMinors(string(text)); err != nil {
			problem(err)
		}
	}
	records, problems := nvml.Discover(snap, nvml.Options{Machine: w, Minors: minors})
	for _, p := range problems {
		problem(p)
	}
	for i := range records {
		r := &records[i]
		g := protocol.GPU{Type: r.Type, UUID: r.UUID, Files: r.Files, Cores: string(cgroupsv2.AppendList(nil, r.Cores))}
		m.Inventory.GPUs = append(m.Inventory.GPUs, g)
		m.Near = append(m.Near, m.spread(r.Cores))
	}
}

// spread turns cores into their CPUs.
func (m *machine) spread(cores []uint64) []uint64 {
	if len(cores) == 0 {
		return nil
	}
	out := make([]uint64, (len(m.Numbers)+63)/64)
	for w, word := range cores {
		for ; word != 0; word &= word - 1 {
			core := w*64 + bits.TrailingZeros64(word)
			for t := range int(m.Shape.Threads) {
				if cpu := core*int(m.Shape.Threads) + t; cpu/64 < len(out) {
					out[cpu/64] |= 1 << (cpu % 64)
				}
			}
		}
	}
	return out
}

// fakes makes device files nvidia0, nvidia1, … in dir.
func (m *machine) fakes(n int, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		path := filepath.Join(dir, "nvidia"+strconv.Itoa(i))
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, fakeMajor<<8|i); err != nil && err != syscall.EEXIST {
			return &os.PathError{Op: "mknod", Path: path, Err: err}
		}
		if err := os.Chmod(path, 0o666); err != nil {
			return err
		}
		m.Inventory.GPUs = append(m.Inventory.GPUs, protocol.GPU{Type: "fake", UUID: fmt.Sprintf("GPU-%08d", i), Files: []string{path}})
		m.Near = append(m.Near, nil)
	}
	return nil
}

// kernelCPUs turns a list in Slurm's numbering into the kernel's numbers.
func (m *machine) kernelCPUs(list string) (abstract, kernel []uint64, err error) {
	if abstract, err = cgroupsv2.ParseList(list); err != nil {
		return nil, nil, err
	}
	for w, word := range abstract {
		if word != 0 && w*64+63-bits.LeadingZeros64(word) >= len(m.Numbers) {
			return nil, nil, fmt.Errorf("nodeagent: CPUs %q: the node has %d", list, len(m.Numbers))
		}
	}
	return abstract, bind.AppendMachine(nil, abstract, m.Numbers), nil
}

// held turns numbers of GPUs into bits.
func (m *machine) held(gpus []int32) ([]uint64, error) {
	out := make([]uint64, (len(m.Records)+63)/64)
	for _, g := range gpus {
		if g < 0 || int(g) >= len(m.Records) {
			return nil, fmt.Errorf("nodeagent: GPU %d: the node has %d", g, len(m.Records))
		}
		out[g/64] |= 1 << (g % 64)
	}
	return out, nil
}

// visible lists the device files in dir that this process may open, as
// nvidia-smi -L would list GPUs.
func visible(dir string) string {
	var b strings.Builder
	names, _ := filepath.Glob(filepath.Join(dir, "nvidia*"))
	slices.Sort(names)
	for _, path := range names {
		fd, err := syscall.Open(path, syscall.O_RDWR, 0)
		if err == nil {
			syscall.Close(fd)
		}
		if err != syscall.EPERM {
			fmt.Fprintf(&b, "GPU %s\n", strings.TrimPrefix(filepath.Base(path), "nvidia"))
		}
	}
	return b.String()
}
