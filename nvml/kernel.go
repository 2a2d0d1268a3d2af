package nvml

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// A Kernel is the [Source] "nvidia": it reads the files of NVIDIA's kernel
// driver, without the library. Models, unique ids, minor numbers and near CPUs
// are all that it knows: no memory sizes, links or MIG instances.
type Kernel struct {
	Proc fs.FS // as /proc
	Sys  fs.FS // as /sys
}

// Name returns "nvidia".
func (k Kernel) Name() string { return "nvidia" }

const gpuDir = "driver/nvidia/gpus"

// Snapshot reads all devices, in the order of addresses. It returns
// [ErrNoDriver] if the driver is not loaded.
func (k Kernel) Snapshot() (*Snapshot, error) {
	entries, err := fs.ReadDir(k.Proc, gpuDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoDriver
	}
	if err != nil {
		return nil, fmt.Errorf("nvml: read %s: %w", gpuDir, err)
	}
	s := &Snapshot{Driver: kernelVersion(k.Proc)}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	for _, name := range names {
		d, err := k.device(name)
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		d.Index = len(s.Devices)
		s.Devices = append(s.Devices, *d)
	}
	return s, nil
}

// device reads one; nil is one that the driver excludes.
func (k Kernel) device(name string) (*Device, error) {
	file := gpuDir + "/" + name + "/information"
	data, err := fs.ReadFile(k.Proc, file)
	if err != nil {
		return nil, fmt.Errorf("nvml: read device: %w", err)
	}
	d := &Device{Minor: -1, BusID: normalBusID(name)}
	line := 0
	for s := range strings.SplitSeq(string(data), "\n") {
		line++
		key, value, ok := strings.Cut(s, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "Model":
			d.Name = value
		case "GPU UUID":
			// Question marks until the GPU was first used.
			if !strings.Contains(value, "?") {
				d.UUID = value
			}
		case "Device Minor":
			n, err := strconv.ParseUint(value, 10, 20)
			if err != nil {
				return nil, &ParseError{File: file, Line: line, Token: value, Err: ErrSyntax}
			}
			d.Minor = int(n)
		case "GPU Excluded":
			if value == "Yes" {
				return nil, nil
			}
		}
	}
	dev := "bus/pci/devices/" + d.BusID
	if text, err := fs.ReadFile(k.Sys, dev+"/local_cpulist"); err == nil {
		if d.CPUs, err = cpuList(string(text)); err != nil {
			return nil, &ParseError{File: dev + "/local_cpulist", Line: 1, Token: string(text), Err: err}
		}
		d.CPUKnown = len(d.CPUs) > 0
	}
	d.MemoryNodes = numaNode(k.Sys, dev)
	return d, nil
}

// numaNode reads a device's NUMA node as a set; −1 is no preference.
func numaNode(sys fs.FS, dev string) []uint64 {
	text, err := fs.ReadFile(sys, dev+"/numa_node")
	if err != nil {
		return nil
	}
	words, err := cpuList(string(text))
	if err != nil {
		return nil
	}
	return words
}

// kernelVersion picks the version out of driver/nvidia/version.
func kernelVersion(proc fs.FS) string {
	data, err := fs.ReadFile(proc, "driver/nvidia/version")
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	for word := range strings.FieldsSeq(line) {
		if word[0] >= '0' && word[0] <= '9' && strings.Contains(word, ".") {
			return word
		}
	}
	return ""
}
