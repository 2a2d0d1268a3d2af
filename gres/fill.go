package gres

import "slices"

// What FillUp minimises: the free milli-GPUs of a node that the workload could
// not take if it kept coming. FGD asks whether one task of a shape fits; here
// a node is filled with the shape until its CPUs or devices are used up, and
// what is left on a device counts by how well parts pack into it. A device
// type that requests name is kept for them as far as they will come.

// waste returns the milli-GPUs of n that are lost even to a well-packed
// stream of parts.
func (w *Workload) waste(n *fragNode) int64 {
	lost := n.total
	for _, u := range n.left {
		lost -= int64(w.value[u])
	}
	return lost
}

// unfilled returns the milli-GPUs of n that the workload cannot fill, times
// w.weight. A shape weighs its count, and a tenth for each whole GPU of it
// more, for what a large task that finds no room costs.
func (w *Workload) unfilled(n *fragNode) int64 {
	if n.total == 0 {
		return 0
	}
	lost := w.waste(n)
	var sum int64
	for i := range w.forms {
		f := &w.forms[i]
		if f.gpus == 0 {
			continue
		}
		room := n.room(f)
		if room < 0 {
			sum += f.weight * n.total
			continue
		}
		each := int64(f.gpus) * f.milli
		for k, cpu := range f.cpus {
			fit := room
			if cpu > 0 {
				fit = min(room, n.cpu/cpu)
			}
			// Parts count by three quarters as a mix of sizes packs, by one
			// quarter as the shape alone does: the next task may be one that
			// finds no partner.
			switch {
			case f.milli == 1000:
				sum += f.weights[k] * (n.total - fit*each)
			case room == 0:
				sum += f.weights[k] * (n.total + 3*lost) / 4
			default:
				packed := n.total - (n.total-lost)*fit/room
				sum += f.weights[k] * (n.total - fit*each + 3*packed) / 4
			}
		}
	}
	return sum
}

// room returns how many tasks of form f the devices of n hold, CPUs aside; −1
// if none is acceptable.
func (n *fragNode) room(f *taskForm) int64 {
	var k int64
	ok := len(f.types) == 0
	for d, u := range n.left {
		if len(f.types) > 0 {
			if len(n.types) == 0 || !slices.Contains(f.types, n.types[d]) {
				continue
			}
			ok = true
		}
		if f.gpus == 1 {
			k += u / f.milli
		} else if u >= f.milli {
			k++
		}
	}
	if !ok {
		return -1
	}
	return k / int64(f.gpus)
}

// claims returns, by device type, how much of the type's devices, in
// thousandths of their capacity, goes to requests that name it, if the
// workload filled the cluster of p: the chance that a device given to somebody
// else is missed. A request that names several types draws on them by their
// capacity. dst is reused.
func (w *Workload) claims(p *Pool, dst []int64) []int64 {
	var devices []int64 // by type
	var all, asked int64
	for _, id := range p.state {
		if id == noState {
			continue
		}
		s := p.shapes[p.states.meta[id].shape]
		g := s.Group(NameGPU)
		if g < 0 {
			continue
		}
		for d := range s.groups[g].devs {
			t := int(s.groups[g].devs[d].typ)
			for len(devices) <= t {
				devices = append(devices, 0)
			}
			devices[t]++
			all++
		}
	}
	for i := range w.shapes {
		asked += w.shapes[i].asked()
	}
	dst = append(dst[:0], make([]int64, len(devices))...)
	for i := range w.shapes {
		s := &w.shapes[i]
		var have int64
		for _, t := range s.Types {
			if int(t) < len(devices) {
				have += devices[t]
			}
		}
		for _, t := range s.Types {
			if int(t) < len(devices) && have > 0 {
				dst[t] += SatMul(s.asked(), 1000*all) / max(asked, 1) / have
			}
		}
	}
	for t := range dst {
		dst[t] = min(dst[t], 1000)
	}
	return dst
}

// asked returns the milli-GPUs that all tasks of s ask for.
func (s *TaskShape) asked() int64 { return s.Count * int64(s.GPUs) * s.MilliGPU }
