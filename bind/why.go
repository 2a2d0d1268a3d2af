package bind

import (
	"strconv"

	"github.com/berth-sched/berth/topology"
)

// AppendVerbose appends the line that a verbose binding prints for local task
// k: what it sees, of what, under which numbers, and what was wrong. The text
// is ours; Slurm's is free too.
func AppendVerbose(dst []byte, b *Binding, d *Devices, bound *Bound, k int) []byte {
	dst = appendInt32(append(dst, "gpu-bind: task "...), int32(k))
	dst = append(dst, " sees "...)
	for i, p := range bound.Task(k) {
		dst = appendInt32(comma(dst, i), d.Index[p])
	}
	dst = AppendList(append(dst, " of "...), d.Index)
	if d.Constrained {
		dst = append(dst, " as "...)
		for i, p := range bound.Task(k) {
			dst = appendInt32(comma(dst, i), d.visible(i, p, true))
		}
	}
	quiet := *b
	quiet.Verbose = false
	dst = quiet.Append(append(dst, " by "...))
	if f := bound.Fault(k); f != FaultNone {
		dst = append(append(dst, "; "...), f.String()...)
	}
	return append(dst, '\n')
}

// AppendWhy appends an explanation of a solution, some lines of text: the
// criteria in figures, then each task.
func AppendWhy(dst []byte, w *Wiring, s *Solution) []byte {
	dst = append(dst, "GPUs "...)
	dst = appendBits(dst, s.GPUs)
	dst = append(append(dst, ": worst pair "...), s.Score.Worst.String()...)
	dst = strconv.AppendInt(append(dst, ", "...), s.Score.GBps, 10)
	dst = appendCount(append(dst, " GB/s between pairs, "...), s.Score.NUMANodes, "NUMA node", "NUMA nodes")
	if s.Score.CPUsFar > 0 {
		dst = appendCount(append(dst, ", "...), s.Score.CPUsFar, "CPU is far", "CPUs are far")
	}
	dst = appendCount(append(dst, ", "...), s.Score.Broken, "free group broken", "free groups broken")
	if s.Score.NodeSplit > 0 {
		dst = appendCount(append(dst, ", "...), s.Score.NodeSplit, "task over NUMA nodes", "tasks over NUMA nodes")
	}
	if s.Score.SocketSplit > 0 {
		dst = appendCount(append(dst, ", "...), s.Score.SocketSplit, "task over sockets", "tasks over sockets")
	}
	dst = append(dst, '\n')
	for k := range s.Tasks() {
		dst = appendTaskWhy(dst, w, s, k)
	}
	return dst
}

func appendTaskWhy(dst []byte, w *Wiring, s *Solution, k int) []byte {
	dst = appendInt32(append(dst, "task "...), int32(k))
	gpus := s.Task(k)
	if len(gpus) > 0 {
		dst = AppendList(append(dst, ": GPU "...), gpus)
	}
	if s.words > 0 {
		dst = topology.AppendCPUList(append(dst, "  CPUs "...), s.CPUs(k))
	}
	if mem := s.MemoryNodes(k); mem != 0 {
		dst = appendBits(append(dst, "  memory "...), mem)
	}
	for i, r := range s.NICs(k) {
		if r >= 0 {
			dst = append(append(dst, "  "...), w.m.NICs[r].Name...)
			dst = append(append(dst, " ("...), w.m.NICWire(int(gpus[i]), int(r)).Class.String()...)
			dst = append(dst, ')')
		}
	}
	if len(gpus) > 0 && k+1 < s.Tasks() {
		if next := s.Task(k + 1); next[0] != gpus[len(gpus)-1] {
			dst = append(append(dst, "  -"...), w.m.GPUWire(int(gpus[len(gpus)-1]), int(next[0])).Class.String()...)
			dst = append(dst, "->"...)
		}
	}
	return append(dst, '\n')
}

func appendBits(dst []byte, set uint64) []byte {
	return topology.AppendCPUList(dst, []uint64{set})
}

func appendCount(dst []byte, n int, one, many string) []byte {
	dst = append(strconv.AppendInt(dst, int64(n), 10), ' ')
	if n == 1 {
		return append(dst, one...)
	}
	return append(dst, many...)
}

// AppendPicture appends a drawing of a machine for people: a row for each
// NUMA node with its GPUs, then the matrix of wires. GPUs of the solution are
// in brackets, with their task; others are as free or busy as free says. s may
// be nil.
func AppendPicture(dst []byte, w *Wiring, free uint64, s *Solution) []byte {
	task := make([]int, w.gpus)
	for i := range task {
		task[i] = -1
	}
	if s != nil {
		for k := s.Tasks() - 1; k >= 0; k-- {
			for _, g := range s.Task(k) {
				task[g] = k
			}
		}
	}
	for n := -1; n < w.nodes; n++ {
		row := len(dst)
		if n >= 0 {
			dst = appendInt32(append(dst, "NUMA "...), w.m.Memory[n].ID)
			dst = topology.AppendCPUList(append(dst, "  CPUs "...), w.cpus[n])
			dst = append(dst, " "...)
		} else {
			dst = append(dst, "anywhere "...)
		}
		shown := n >= 0
		for i := range w.gpus {
			if int(w.numa[i]) == n {
				dst = appendSeat(dst, i, task[i], free>>i&1 == 1)
				shown = true
			}
		}
		if !shown {
			dst = dst[:row]
			continue
		}
		dst = append(dst, '\n')
	}
	return appendMatrix(dst, w)
}

func appendSeat(dst []byte, gpu, task int, free bool) []byte {
	switch {
	case task >= 0:
		dst = appendInt32(append(dst, "  [GPU"...), int32(gpu))
		dst = appendInt32(append(dst, " t"...), int32(task))
		return append(dst, ']')
	case free:
		return appendInt32(append(dst, "  GPU"...), int32(gpu))
	}
	return append(appendInt32(append(dst, "  GPU"...), int32(gpu)), " busy"...)
}

func appendMatrix(dst []byte, w *Wiring) []byte {
	cell := func(dst []byte, text string) []byte {
		for pad := len(text); pad < 6; pad++ {
			dst = append(dst, ' ')
		}
		return append(dst, text...)
	}
	dst = cell(dst, "")
	for j := range w.gpus {
		dst = cell(dst, "GPU"+strconv.Itoa(j))
	}
	for r := range w.nics {
		dst = cell(dst, "NIC"+strconv.Itoa(r))
	}
	dst = append(dst, '\n')
	for i := range w.gpus {
		dst = cell(dst, "GPU"+strconv.Itoa(i))
		for j := range w.gpus {
			wire := w.m.GPUWire(i, j)
			text := wire.Class.String()
			if wire.Class == topology.PathNVLink {
				text += strconv.Itoa(int(wire.Lanes))
			}
			dst = cell(dst, text)
		}
		for r := range w.nics {
			dst = cell(dst, w.m.NICWire(i, r).Class.String())
		}
		dst = append(dst, '\n')
	}
	return dst
}
