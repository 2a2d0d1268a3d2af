package nvml

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// Faults that [Discover] reports of a device, besides a [Return].
var (
	// ErrAffinity is a device whose driver says that no CPU is near. Slurm's
	// node daemon ends on it.
	ErrAffinity = errors.New("nvml: CPU affinity is empty")
	// ErrNoMinor is a device whose file is unknown. It is left out.
	ErrNoMinor = errors.New("nvml: minor number unknown")
	// ErrNoCapability is a MIG instance without capability files. It is left out.
	ErrNoCapability = errors.New("nvml: MIG capability unknown")
	// ErrNoInstances is a GPU in MIG mode without instances. It is offered whole.
	ErrNoInstances = errors.New("nvml: MIG mode is on but there are no instances")
)

// A Problem is what was wrong with one device. A device that is left out makes
// the count too low, upon which Slurm drains the node.
type Problem struct {
	Device int // index in the snapshot
	Err    error
}

// Error returns a text that names the device.
func (p Problem) Error() string { return fmt.Sprintf("nvml: device %d: %v", p.Device, p.Err) }

// Unwrap returns the cause.
func (p Problem) Unwrap() error { return p.Err }

// Fatal reports whether Slurm's node daemon would end.
func (p Problem) Fatal() bool { return errors.Is(p.Err, ErrAffinity) }

// Options say what [Discover] knows beside the snapshot.
type Options struct {
	// Machine gives the core of each CPU. Nil leaves cores out.
	Machine *topology.Machine
	// CPUs are those that jobs may use, bits by the kernel's number; nil means
	// all. Others are taken out of affinities.
	CPUs []uint64
	// Minors are the capability files of MIG instances.
	Minors MIGMinors
	// Flags of the records beside "detected"; zero means RecordEnvNVIDIA.
	Flags gres.RecordFlags
}

// Discover makes of a snapshot the records that [gres.MergeNode] merges with a
// configuration: one for each device that can be used, in the snapshot's
// order, with type, file, cores, links and unique id as Slurm's AutoDetect=nvml
// has them. A GPU with at least one complete MIG instance is offered as its
// instances alone. Problems come in the order of devices.
//
// Source: specification nvml.md 2 to 4.
func Discover(s *Snapshot, opt Options) ([]gres.Record, []Problem) {
	if opt.Flags == 0 {
		opt.Flags = gres.RecordEnvNVIDIA
	}
	var recs []gres.Record
	var probs []Problem
	for i := range s.Devices {
		d := &s.Devices[i]
		fail := func(err error) { probs = append(probs, Problem{d.Index, err}) }
		if d.Err != nil {
			fail(d.Err)
			continue
		}
		file := d.File
		if file == "" {
			if d.Minor < 0 {
				fail(ErrNoMinor)
				continue
			}
			file = gpuFile(d.Minor)
		}
		rec := gres.Record{Name: "gpu", Type: normalName(d.Name), Count: 1, Files: []string{file}, Flags: opt.Flags, Detected: true, UUID: d.UUID}
		var err error
		if rec.Cores, err = opt.cores(d); err != nil {
			fail(err)
		}
		if inst := d.records(&rec, s.Driver, opt.Minors, fail); len(inst) > 0 {
			recs = append(recs, inst...)
			continue
		}
		rec.Links = s.links(i)
		recs = append(recs, rec)
	}
	return recs, probs
}

// records returns those of the MIG instances of d, whose own record is rec.
func (d *Device) records(rec *gres.Record, driver string, minors MIGMinors, fail func(error)) []gres.Record {
	if d.MIG.Err != nil {
		fail(d.MIG.Err)
	}
	if !d.MIG.Current {
		return nil
	}
	if len(d.Instances) == 0 {
		if d.MIG.Err == nil {
			fail(ErrNoInstances)
		}
		return nil
	}
	var out []gres.Record
	for i := range d.Instances {
		in := &d.Instances[i]
		files, ok := minors.files(d.Minor, in.GPUInstance, in.ComputeInst)
		if !ok {
			fail(fmt.Errorf("gi%d/ci%d: %w", in.GPUInstance, in.ComputeInst, ErrNoCapability))
			continue
		}
		r := *rec
		r.Type, r.Files, r.Multiple = in.typeName(d.Name), files, true
		r.UUID, r.Flags = in.id(d.UUID, driver), rec.Flags|gres.RecordEnvUUID
		out = append(out, r)
	}
	return out
}

// cores converts the near CPUs to cores; nil means any.
func (o *Options) cores(d *Device) ([]uint64, error) {
	if !d.CPUKnown {
		return nil, nil
	}
	count := 0
	for _, w := range d.CPUs {
		count += bits.OnesCount64(w)
	}
	if count == 0 {
		return nil, ErrAffinity
	}
	if o.Machine == nil {
		return nil, nil
	}
	var cores []uint64
	for i := range o.Machine.CPUs {
		c := &o.Machine.CPUs[i]
		if !hasBit(d.CPUs, int(c.ID)) || o.CPUs != nil && !hasBit(o.CPUs, int(c.ID)) {
			continue
		}
		for len(cores) <= int(c.Core>>6) {
			cores = append(cores, 0)
		}
		cores[c.Core>>6] |= 1 << (c.Core & 63)
	}
	return cores, nil
}

// links counts the active lanes from device i to every device, −1 for itself.
// Lanes to a switch reach no device in particular and count for none, so
// behind an NVSwitch all are zero.
func (s *Snapshot) links(i int) []int32 {
	out := make([]int32, len(s.Devices))
	for _, l := range s.Devices[i].Links {
		for j := range s.Devices {
			if j != i && l.BusID != "" && s.Devices[j].BusID == l.BusID {
				out[j]++
			}
		}
	}
	out[i] = -1
	return out
}
