package nvml

import (
	"testing"
	"testing/fstest"
)

func FuzzParseMIGMinors(f *testing.F) {
	f.Add("config 1\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMIGMinors(text)
		if err == nil {
			for key := range m {
				m.files(key.GPU, key.Instance, key.Compute)
			}
		}
	})
}

func FuzzParseEmulation(f *testing.F) {
	f.Add("tesla|16|0-7|-1,2|/dev/nvidia0|GPU-9|nvidia_gpu_env\n")
	f.Fuzz(func(t *testing.T, text string) { ParseEmulation(text) })
}

// FuzzKernel puts any text into a device's file, and what comes of it through
// discovery.
func FuzzKernel(f *testing.F) {
	f.Add("Model: X\nDevice Minor: 3\nGPU UUID: GPU-1\n", "0-3")
	f.Fuzz(func(t *testing.T, info, cpus string) {
		proc, sys := procTree(), fstest.MapFS{"bus/pci/devices/0000:18:00.0/local_cpulist": {Data: []byte(cpus)}}
		proc["driver/nvidia/gpus/0000:18:00.0/information"] = &fstest.MapFile{Data: []byte(info)}
		s, err := (Kernel{Proc: proc, Sys: sys}).Snapshot()
		if err == nil {
			Discover(s, Options{Machine: nodeN(1)})
		}
	})
}
