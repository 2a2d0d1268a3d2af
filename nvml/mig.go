package nvml

import (
	"strconv"
	"strings"
)

// MIGMinors are the numbers of the capability files of MIG instances: M of
// /dev/nvidia-caps/nvidia-capM.
type MIGMinors map[MIGKey]int

// A MIGKey names a GPU instance, or with Compute of 0 and above a compute
// instance of it. GPU is the minor number.
type MIGKey struct{ GPU, Instance, Compute int }

// GPUInstance as Compute names the GPU instance itself.
const GPUInstance = -1

// ParseMIGMinors reads /proc/driver/nvidia-caps/mig-minors: lines such as
// gpu0/gi1/access 12 and gpu0/gi1/ci0/access 13. Lines of other capabilities
// are skipped. Errors are of type [*ParseError].
func ParseMIGMinors(text string) (MIGMinors, error) {
	m := MIGMinors{}
	line := 0
	for s := range strings.SplitSeq(text, "\n") {
		line++
		path, number, ok := strings.Cut(strings.TrimSpace(s), " ")
		if !ok || !strings.HasPrefix(path, "gpu") || !strings.HasSuffix(path, "/access") {
			continue
		}
		key := MIGKey{Compute: GPUInstance}
		parts := strings.Split(strings.TrimSuffix(path, "/access"), "/")
		into := [...]*int{&key.GPU, &key.Instance, &key.Compute}
		minor, err := strconv.ParseUint(strings.TrimSpace(number), 10, 31)
		good := err == nil && (len(parts) == 2 || len(parts) == 3)
		for i := 0; good && i < len(parts); i++ {
			n, hasPrefix := strings.CutPrefix(parts[i], [...]string{"gpu", "gi", "ci"}[i])
			v, err := strconv.ParseUint(n, 10, 31)
			good = hasPrefix && err == nil
			*into[i] = int(v)
		}
		if !good {
			return nil, &ParseError{File: "mig-minors", Line: line, Token: s, Err: ErrSyntax}
		}
		m[key] = int(minor)
	}
	return m, nil
}

// files returns the device files of an instance of a GPU: the GPU's own, and
// the two capabilities'. A process with CAP_SYS_ADMIN has all capabilities
// anyway.
func (m MIGMinors) files(gpu, gi, ci int) ([]string, bool) {
	a, ok := m[MIGKey{gpu, gi, GPUInstance}]
	b, ok2 := m[MIGKey{gpu, gi, ci}]
	if !ok || !ok2 {
		return nil, false
	}
	const caps = "/dev/nvidia-caps/nvidia-cap"
	return []string{gpuFile(gpu), caps + strconv.Itoa(a), caps + strconv.Itoa(b)}, true
}

func gpuFile(minor int) string { return "/dev/nvidia" + strconv.Itoa(minor) }

// typeName returns the GRES type of a MIG instance: the GPU's name up to its
// first hyphen, then the part of the instance's name behind "mig", such as
// nvidia_a100_3g.20gb. Without that part it is built from attributes.
func (in *Instance) typeName(gpu string) string {
	base, _, _ := strings.Cut(normalName(gpu), "-")
	if _, profile, ok := strings.Cut(normalName(in.Name), "mig"); ok && profile != "" {
		return base + profile
	}
	profile := "_"
	if in.ComputeSlices != in.GPUSlices {
		profile += strconv.Itoa(in.ComputeSlices) + "c."
	}
	gb := (in.MemoryMB + 1023) / 1024
	return base + profile + strconv.Itoa(in.GPUSlices) + "g." + strconv.FormatUint(gb, 10) + "gb"
}

// migUUIDs is the first driver whose MIG devices have ids of their own.
var migUUIDs = [3]int{470, 42, 1}

// id returns the unique id of an instance under a driver.
func (in *Instance) id(gpuUUID, driver string) string {
	if in.UUID != "" && !olderDriver(driver, migUUIDs) {
		return in.UUID
	}
	return "MIG-" + gpuUUID + "/" + strconv.Itoa(in.GPUInstance) + "/" + strconv.Itoa(in.ComputeInst)
}

// olderDriver compares a version such as 535.129.03; one that cannot be read
// is not older.
func olderDriver(version string, than [3]int) bool {
	parts := strings.SplitN(version, ".", 3)
	for i, want := range than {
		if i >= len(parts) {
			return true
		}
		have, err := strconv.Atoi(parts[i])
		if err != nil {
			return false
		}
		if have != want {
			return have < want
		}
	}
	return false
}
