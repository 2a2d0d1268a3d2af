package outcome

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Check returns nil if the run keeps the laws, else every broken one, each
// with its first example:
//
//   - every job started, ended, and never ended before it started, nor started
//     before it was submitted or before its last run ended;
//   - no node gave a device, a part of one, or a CPU twice (CPUs of jobs that
//     were suspended, which they lend, are left out);
//   - the sum over jobs of GPUs (and CPUs) times time is the integral of what
//     the scheduler counted as in use;
//   - the makespan is at least that sum over the capacity.
func Check(r *Run) error {
	errs := []error{checkTimes(r), checkPlaces(r), checkSums(r)}
	return errors.Join(errs...)
}

func checkTimes(r *Run) error {
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if len(j.Stays) == 0 {
			return fmt.Errorf("outcome: job %s: never started (%s)", j.Name, j.State)
		}
		at := j.Submit
		for _, s := range j.Stays {
			if s.Start < at || s.End < s.Start {
				return fmt.Errorf("outcome: job %s: runs from %d to %d, not before %d", j.Name, s.Start, s.End, at)
			}
			if len(s.Places) == 0 {
				return fmt.Errorf("outcome: job %s: runs nowhere", j.Name)
			}
			at = s.End
		}
	}
	return nil
}

// A change is what one stay takes (sign 1) or gives back (-1) at an instant.
type change struct {
	at    int64
	sign  int64
	job   int32
	place *Place
}

// checkPlaces sweeps over the stays of each node.
func checkPlaces(r *Run) error {
	byNode := make([][]change, len(r.Nodes))
	for i := range r.Jobs {
		for _, s := range r.Jobs[i].Stays {
			for k := range s.Places {
				p := &s.Places[k]
				if len(r.Jobs[i].Pauses) > 0 {
					// A suspended job lends its CPUs; its devices stay its own.
					p = &Place{Node: p.Node, Devices: p.Devices}
				}
				byNode[p.Node] = append(byNode[p.Node], change{s.Start, 1, int32(i), p}, change{s.End, -1, int32(i), p})
			}
		}
	}
	for n, list := range byNode {
		if err := checkNode(r, &r.Nodes[n], list); err != nil {
			return err
		}
	}
	return nil
}

func checkNode(r *Run, node *Node, list []change) error {
	// At equal times what is given back comes first.
	slices.SortStableFunc(list, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.sign, b.sign))
	})
	var cpu, counted int64
	used := make([]int64, node.GPUs)
	for _, c := range list {
		// A stay of no length is taken in just after it was given back, so
		// the sums do not see what it holds: it is held to the node alone.
		if gpus, cpus := c.place.held(); cpus > node.MilliCPU || gpus > node.GPUs*1000 {
			return overfull(r, node, c, cpus, gpus)
		}
		cpu += c.sign * c.place.MilliCPU
		for _, d := range c.place.Devices {
			if d.Index < 0 {
				counted += c.sign * d.Milli
				continue
			}
			if int(d.Index) >= len(used) {
				return fmt.Errorf("outcome: job %s: GPU %d of node %s, which has %d", r.Jobs[c.job].Name, d.Index, node.Name, node.GPUs)
			}
			used[d.Index] += c.sign * d.Milli
			if used[d.Index] > 1000 {
				return fmt.Errorf("outcome: job %s: GPU %d of node %s given twice", r.Jobs[c.job].Name, d.Index, node.Name)
			}
		}
		if cpu > node.MilliCPU || counted > node.GPUs*1000 {
			return overfull(r, node, c, cpu, counted)
		}
	}
	return nil
}

func overfull(r *Run, node *Node, c change, milliCPU, gpuMilli int64) error {
	return fmt.Errorf("outcome: job %s: node %s gives %d milli-CPU of %d, %d milli-GPU of %d", r.Jobs[c.job].Name, node.Name,
		milliCPU, node.MilliCPU, gpuMilli, node.GPUs*1000)
}

func checkSums(r *Run) error {
	u := r.usage()
	if u.gpuJobs != u.gpuUsed {
		return fmt.Errorf("outcome: jobs held %.3f GPU seconds, the integral of GPUs in use is %.3f", u.gpuJobs.units(), u.gpuUsed.units())
	}
	if u.cpuJobs != u.cpuUsed && !r.paused() {
		return fmt.Errorf("outcome: jobs held %.3f CPU seconds, the integral of CPUs in use is %.3f", u.cpuJobs.units(), u.cpuUsed.units())
	}
	first, last := r.Span()
	gpus, cpus := r.Capacity()
	var gpuMost, cpuMost amount
	gpuMost.add(gpus, last-first)
	cpuMost.add(cpus, last-first)
	if gpuMost.less(u.gpuJobs) || cpuMost.less(u.cpuJobs) && !r.paused() {
		return fmt.Errorf("outcome: makespan %d µs is too short for what the jobs held", last-first)
	}
	return nil
}

// paused reports whether any job was suspended: then CPUs that it held are in
// use by another.
func (r *Run) paused() bool {
	return slices.ContainsFunc(r.Jobs, func(j Job) bool { return len(j.Pauses) > 0 })
}

// usage is capacity in use times time, from two sources.
type usage struct {
	gpuJobs, cpuJobs amount // summed over jobs
	gpuUsed, cpuUsed amount // integral over samples
	nodesUsed        amount // in thousandths of a node
}

func (r *Run) usage() usage {
	var u usage
	for i := range r.Jobs {
		for k := range r.Jobs[i].Stays {
			s := &r.Jobs[i].Stays[k]
			gpu, cpu := s.held()
			u.gpuJobs.add(gpu, s.End-s.Start)
			u.cpuJobs.add(cpu, s.End-s.Start)
		}
	}
	for i := 1; i < len(r.Samples); i++ {
		s := &r.Samples[i-1]
		dt := r.Samples[i].At - s.At
		u.gpuUsed.add(s.GPUMilli, dt)
		u.cpuUsed.add(s.MilliCPU, dt)
		u.nodesUsed.add(int64(s.Nodes)*1000, dt)
	}
	return u
}
