package bind

import "math/bits"

// A CPUShape is the grid of a node's CPUs in Slurm's abstract numbering:
// socket-major, then core, then thread.
type CPUShape struct {
	Sockets, Cores, Threads int32 // Cores is per socket, Threads per core; all at least 1
	// Schedulable is the number of threads of a core that Slurm schedules: 1
	// on a node configured with as many CPUs as cores. 0 means Threads.
	Schedulable int32
	// MemoryNode has the NUMA node of each core; nil means one a socket.
	MemoryNode []int32
}

// CPUs returns the number of CPU ids, those not schedulable included.
func (s *CPUShape) CPUs() int32 { return s.Sockets * s.Cores * s.Threads }

func (s *CPUShape) core(cpu int32) int32 { return cpu / s.Threads }

func (s *CPUShape) socket(cpu int32) int32 { return cpu / (s.Threads * s.Cores) }

func (s *CPUShape) memory(cpu int32) int32 {
	if s.MemoryNode == nil {
		return s.socket(cpu)
	}
	return s.MemoryNode[s.core(cpu)]
}

func (s *CPUShape) schedulable() int32 {
	if s.Schedulable > 0 {
		return min(s.Schedulable, s.Threads)
	}
	return s.Threads
}

// A Width is how far a task's CPUs reach beyond those it was dealt.
type Width uint8

// The widths, from narrow to wide; WidthNone binds to all CPUs of the step.
const (
	WidthAuto Width = iota
	WidthThreads
	WidthCores
	WidthSockets
	WidthLdoms
	WidthNone
)

// A CPURequest says how the tasks of one node are dealt its CPUs. Zero means
// not given, and for the limits, no limit.
type CPURequest struct {
	Tasks          int32
	CPUsPerTask    int32 // -c; at least 1, or 0 for 1
	Distribution   InSocket
	BlockByDefault bool  // SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK
	TasksPerCore   int32 // --ntasks-per-core
	TasksPerSocket int32 // --ntasks-per-socket
	ThreadsPerCore int32 // --threads-per-core
	Overcommit     bool  // -O
	Bind           CPUBinding
	AutoBind       Width // TaskPluginParam=autobind, WidthAuto for none
	WholeNode      bool  // the job holds all CPUs of the node
}

// Masks has CPU sets by task, each of the same number of words. It is reused
// by the next call that is given the same value.
type Masks struct {
	bits  []uint64
	list  [][]uint64
	words int
	// Width is how wide the tasks were bound, WidthAuto for an explicit list.
	Width Width
}

// Tasks returns the masks by local task, as [Binder.Bind] takes them. They are
// valid until m is used again.
func (m *Masks) Tasks() [][]uint64 { return m.list }

func (m *Masks) reset(tasks, words int32) {
	m.words = int(words)
	m.bits = grow(m.bits, int(tasks*words))
	m.list = m.list[:0]
	for k := range int(tasks) {
		m.list = append(m.list, m.bits[k*m.words:(k+1)*m.words:(k+1)*m.words])
	}
}

// A CPULayer deals CPUs. It holds scratch only; the zero value works.
type CPULayer struct {
	cpus       []int32 // the CPUs to deal, ascending
	end        []int32 // by socket: end of its part of cpus
	pos        []int32 // by socket: read position in cpus
	coreTasks  []int32 // by core: tasks there
	sockTasks  []int32 // by socket: tasks there
	lastOnCore []int32 // by core: last task, +1
	lastOnSock []int32 // by socket: last task, +1
	touched    []uint64
}

// Lay stores in dst the CPUs of each task of a node on which the step holds
// the CPUs alloc (bits by abstract id). The result is in abstract ids too; see
// [AppendMachine]. It takes O(tasks · (CPUs per task + words)) steps, a walk over the
// CPUs for every round of oversubscription, and allocates nothing once its
// slices have grown.
//
// Source: srun(1) -m, --cpu-bind; specification bind.md 4.1, 4.2.
func (l *CPULayer) Lay(dst *Masks, s *CPUShape, alloc []uint64, req *CPURequest) Refusal {
	words := (s.CPUs() + 63) / 64
	dst.reset(req.Tasks, words)
	dst.Width = WidthAuto
	l.collect(s, alloc, req)
	if req.Bind.Type >= CPUMap {
		return req.Bind.fill(dst, s, alloc, req.WholeNode)
	}
	n := int32(len(l.cpus))
	if n == 0 || n < req.Tasks {
		if !req.Overcommit || n == 0 {
			return RefusedCPUs
		}
		dst.Width = WidthNone
		dst.fillAll(alloc)
		return Accepted
	}
	c := max(req.CPUsPerTask, 1)
	if n < req.Tasks*c {
		c = n / req.Tasks
	}
	dst.Width = l.width(s, alloc, req, req.Tasks*c)
	if dst.Width == WidthNone {
		dst.fillAll(alloc)
		return Accepted
	}
	skip := int32(0)
	if t := s.schedulable(); dst.Width == WidthCores || req.TasksPerCore == 1 {
		if skip = c % t; c < t {
			skip = t - c
		}
	}
	if req.block() {
		l.block(dst, s, req, c, skip)
	} else {
		l.cyclic(dst, s, req, c, skip)
	}
	l.widen(dst, s, alloc)
	return Accepted
}

func (r *CPURequest) block() bool {
	return r.Distribution == SocketBlock || r.Distribution == SocketDefault && r.BlockByDefault
}

func (m *Masks) fillAll(alloc []uint64) {
	for _, mask := range m.list {
		copy(mask, alloc)
	}
}

// collect lists the schedulable CPUs of alloc and zeroes the counters.
func (l *CPULayer) collect(s *CPUShape, alloc []uint64, req *CPURequest) {
	threads := s.schedulable()
	if req.ThreadsPerCore > 0 {
		threads = min(threads, req.ThreadsPerCore)
	}
	l.cpus, l.end = l.cpus[:0], l.end[:0]
	per := s.Cores * s.Threads
	for sock := range s.Sockets {
		for cpu := sock * per; cpu < (sock+1)*per; cpu++ {
			if cpu%s.Threads < threads && hasBit(alloc, cpu) {
				l.cpus = append(l.cpus, cpu)
			}
		}
		l.end = append(l.end, int32(len(l.cpus)))
	}
	l.coreTasks = grow(l.coreTasks, int(s.Sockets*s.Cores))
	l.lastOnCore = grow(l.lastOnCore, int(s.Sockets*s.Cores))
	l.sockTasks = grow(l.sockTasks, int(s.Sockets))
	l.lastOnSock = grow(l.lastOnSock, int(s.Sockets))
	l.pos = grow(l.pos, int(s.Sockets))
	l.rewind()
}

// rewind starts the walk again with fresh counters.
func (l *CPULayer) rewind() {
	clear(l.coreTasks)
	clear(l.sockTasks)
	clear(l.lastOnCore)
	clear(l.lastOnSock)
	start := int32(0)
	for sock := range l.pos {
		l.pos[sock] = start
		start = l.end[sock]
	}
}

func hasBit(words []uint64, i int32) bool {
	return int(i>>6) < len(words) && words[i>>6]>>(i&63)&1 == 1
}

// give deals cpu to task k unless a limit forbids it.
func (l *CPULayer) give(dst *Masks, s *CPUShape, req *CPURequest, cpu, k int32) bool {
	core, sock := s.core(cpu), s.socket(cpu)
	newCore, newSock := l.lastOnCore[core] != k+1, l.lastOnSock[sock] != k+1
	if newCore && req.TasksPerCore > 0 && l.coreTasks[core] >= req.TasksPerCore ||
		newSock && req.TasksPerSocket > 0 && l.sockTasks[sock] >= req.TasksPerSocket {
		return false
	}
	if newCore {
		l.coreTasks[core]++
		l.lastOnCore[core] = k + 1
	}
	if newSock {
		l.sockTasks[sock]++
		l.lastOnSock[sock] = k + 1
	}
	dst.list[k][cpu>>6] |= 1 << (cpu & 63)
	return true
}

func (l *CPULayer) block(dst *Masks, s *CPUShape, req *CPURequest, c, skip int32) {
	at, n := int32(0), int32(len(l.cpus))
	for k := range req.Tasks {
		for got, refused := int32(0), int32(0); got < c && refused <= n; {
			if at >= n {
				at = 0
				l.rewind()
			}
			if l.give(dst, s, req, l.cpus[at], k) {
				got, refused = got+1, 0
			} else {
				refused++
			}
			at++
		}
		at += skip
	}
}

func (l *CPULayer) cyclic(dst *Masks, s *CPUShape, req *CPURequest, c, skip int32) {
	sock := int32(0)
	for k := range req.Tasks {
		last := sock
		rewound := false
		for got := int32(0); got < c; {
			at, ok := l.next(dst, s, req, sock, k)
			if !ok {
				if rewound {
					break // limits leave no CPU at all
				}
				l.rewind()
				rewound = true
				continue
			}
			rewound = false
			last = at
			got++
			if req.Distribution == SocketFCyclic {
				sock = (at + 1) % s.Sockets
			} else {
				sock = at
			}
		}
		l.pos[last] = min(l.pos[last]+skip, l.end[last])
		if req.Distribution != SocketFCyclic {
			sock = (last + 1) % s.Sockets
		}
	}
}

// next deals task k the next CPU of socket sock, or of the first later one
// that has any.
func (l *CPULayer) next(dst *Masks, s *CPUShape, req *CPURequest, sock, k int32) (at int32, ok bool) {
	for range s.Sockets {
		for l.pos[sock] < l.end[sock] {
			cpu := l.cpus[l.pos[sock]]
			l.pos[sock]++
			if l.give(dst, s, req, cpu, k) {
				return sock, true
			}
		}
		sock = (sock + 1) % s.Sockets
	}
	return 0, false
}

// width answers how wide tasks are bound that ask for m CPUs together.
func (l *CPULayer) width(s *CPUShape, alloc []uint64, req *CPURequest, m int32) Width {
	switch req.Bind.Type {
	case CPUThreads:
		return WidthThreads
	case CPUCores:
		return WidthCores
	case CPUSockets:
		return WidthSockets
	case CPULdoms:
		return WidthLdoms
	case CPUNone:
		return WidthNone
	}
	sockets, wholeSockets := l.whole(s, alloc, s.Cores*s.Threads)
	if wholeSockets && m == sockets {
		return WidthSockets
	}
	cores, wholeCores := l.whole(s, alloc, s.Threads)
	if wholeCores && m == cores {
		return WidthCores
	}
	if m == int32(len(l.cpus)) {
		return WidthThreads
	}
	if req.AutoBind != WidthAuto {
		return req.AutoBind
	}
	return WidthNone
}

// whole counts the groups of size CPUs that are completely allocated; ok is
// false if any is partly so. Threads that Slurm does not schedule do not
// count.
func (l *CPULayer) whole(s *CPUShape, alloc []uint64, size int32) (n int32, ok bool) {
	t := s.schedulable()
	for lo := int32(0); lo < s.CPUs(); lo += size {
		have := int32(0)
		for cpu := lo; cpu < lo+size; cpu++ {
			if cpu%s.Threads < t && hasBit(alloc, cpu) {
				have++
			}
		}
		switch have {
		case 0:
		case size / s.Threads * t:
			n++
		default:
			return 0, false
		}
	}
	return n, true
}

// widen adds to each task's CPUs all those of the step in the touched cores,
// sockets or NUMA nodes.
func (l *CPULayer) widen(dst *Masks, s *CPUShape, alloc []uint64) {
	var group func(*CPUShape, int32) int32
	switch dst.Width {
	case WidthCores:
		group = (*CPUShape).core
	case WidthSockets:
		group = (*CPUShape).socket
	case WidthLdoms:
		group = (*CPUShape).memory
	default:
		return
	}
	for _, mask := range dst.list {
		l.touched = grow(l.touched, int(s.CPUs()+63)/64)
		for w, word := range mask {
			for ; word != 0; word &= word - 1 {
				g := group(s, int32(w<<6+bits.TrailingZeros64(word)))
				l.touched[g>>6] |= 1 << (g & 63)
			}
		}
		for w, word := range alloc {
			for ; word != 0; word &= word - 1 {
				cpu := int32(w<<6 + bits.TrailingZeros64(word))
				if w < len(mask) && cpu < s.CPUs() && hasBit(l.touched, group(s, cpu)) {
					mask[w] |= 1 << (cpu & 63)
				}
			}
		}
	}
}

// AppendMachine appends to dst the CPU set words in the kernel's numbers:
// machine[i] is the kernel's number of abstract CPU i. dst is zeroed and grown
// as needed and has the CPUs as bits.
func AppendMachine(dst []uint64, words []uint64, machine []int32) []uint64 {
	dst = dst[:0]
	for w, word := range words {
		for ; word != 0; word &= word - 1 {
			i := w<<6 + bits.TrailingZeros64(word)
			if i >= len(machine) || machine[i] < 0 {
				continue
			}
			cpu := machine[i]
			for int(cpu>>6) >= len(dst) {
				dst = append(dst, 0)
			}
			dst[cpu>>6] |= 1 << (cpu & 63)
		}
	}
	return dst
}
