// Package nvmltest builds a fake of NVIDIA's management library and describes
// machines for it, so that tests of this module and of embedding programs can
// walk the real path of loading and calling it.
//
// [Library] compiles the fake with the C compiler of the machine; a [Machine] is
// text, whose lines the head of testdata/fake.c explains; [Use] makes the fake
// answer as one machine from the next nvmlInit on, so that one process can play
// several.
//
// Everything is for tests and takes a testing.TB.
//
// A machine without gcc skips the test, unless BERTH_NEED_GCC is set, as it is
// where tests are run for all to see.
//
// It knows nothing of package nvml.
package nvmltest

import (
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed testdata
var files embed.FS

// Library builds the fake into a temporary folder and returns its path. An old
// one lacks the symbols that drivers of some years ago lack. It skips the test
// where there is no gcc; see the package comment.
func Library(t testing.TB, old bool) string {
	t.Helper()
	source, err := files.ReadFile("testdata/fake.c")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-shared", "-fPIC", "-Wall"}
	if old {
		args = append(args, "-DOLD")
	}
	dir := t.TempDir()
	so := filepath.Join(dir, "libnvidia-ml.so.1")
	c := filepath.Join(dir, "fake.c")
	if err := os.WriteFile(c, source, 0o666); err != nil {
		t.Fatal(err)
	}
	compile(t, append(args, "-o", so, c)...)
	return so
}

// CheckLayout compiles the layouts and signatures that package nvml assumes
// against NVIDIA's header in the folder include.
func CheckLayout(t testing.TB, include string) {
	t.Helper()
	source, err := files.ReadFile("testdata/layout.c")
	if err != nil {
		t.Fatal(err)
	}
	c := filepath.Join(t.TempDir(), "layout.c")
	if err := os.WriteFile(c, source, 0o666); err != nil {
		t.Fatal(err)
	}
	compile(t, "-c", "-Wno-deprecated-declarations", "-Werror=incompatible-pointer-types", "-I", include, "-o", os.DevNull, c)
}

func compile(t testing.TB, args ...string) {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("BERTH_NEED_GCC") != "" {
			t.Fatal("gcc is missing, and BERTH_NEED_GCC is set")
		}
		t.Skip("gcc is missing")
	}
	if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %v: %v\n%s", args, err, out)
	}
}

// Use makes the fake answer as machine until the test ends.
func Use(t testing.TB, machine string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "machine.txt")
	if err := os.WriteFile(path, []byte(machine), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BERTH_FAKE_NVML", path)
}

// Machine returns a machine by name: h100x8 (NVSwitch, two NUMA nodes, minors
// unlike indices), pairs (four V100 in linked pairs), mig-mixed (two A100, one
// divided), lost (one of four has fallen off), health (each device with a
// fault of its own). It fails the test if there is none of that name.
func Machine(t testing.TB, name string) string {
	t.Helper()
	text, err := files.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatalf("nvmltest: no machine %q", name)
	}
	return string(text)
}
