package bind

import "math/bits"

// Devices says what a step holds of one resource on one node. All slices are
// the caller's and are only read.
type Devices struct {
	// Index has the node's device numbers that the step holds, ascending.
	Index []int32
	// Job has the node's device numbers that the job holds, ascending. It
	// matters for map and mask under Constrained alone; nil means Index.
	Job []int32
	// Near has for each element of Index the CPUs near the device as bits,
	// numbered as the tasks' masks are. A nil element, or a nil Near, is near
	// to every CPU.
	Near [][]uint64
	// Units has for each element of Index the units of a shared resource that
	// the step holds there. Nil for devices that are given whole.
	Units []int64
	// Constrained says that a task can open its own devices alone
	// (cgroup.conf ConstrainDevices). Visible indices then count from 0 among
	// what can be opened, and ids of map and mask are positions in Job.
	Constrained bool
	// TaskSharing says that the fence stays around the step, so that a task
	// may open the devices of its siblings. Slurm: --gres-flags=allow-task-sharing.
	TaskSharing bool
}

// A Fault says what was wrong with one task's binding; the task then has the
// first device of the step.
type Fault uint8

// The faults.
const (
	FaultNone  Fault = iota
	FaultID          // map named a device that the step does not hold
	FaultMask        // mask left no device of the step
	FaultShort       // per_task found no device left
)

// String returns a short text for a message to the user.
func (f Fault) String() string {
	switch f {
	case FaultID:
		return "device id outside of the step"
	case FaultMask:
		return "device mask outside of the step"
	case FaultShort:
		return "no device left"
	}
	return ""
}

// Bound is the answer of [Binder.Bind]. Its slices are reused by the next call
// that is given the same value.
type Bound struct {
	pos   []int32 // positions in Devices.Index, task by task, ascending in each
	off   []int32 // off[k]:off[k+1] is task k's part of pos
	fault []Fault // by task
}

// Tasks returns the number of tasks.
func (b *Bound) Tasks() int { return max(len(b.off)-1, 0) }

// Task returns the devices of task k as positions in [Devices.Index],
// ascending. The slice is valid until b is used again.
func (b *Bound) Task(k int) []int32 { return b.pos[b.off[k]:b.off[k+1]] }

// Fault returns what was wrong with task k.
func (b *Bound) Fault(k int) Fault { return b.fault[k] }

func (b *Bound) reset() {
	b.pos, b.off, b.fault = b.pos[:0], append(b.off[:0], 0), b.fault[:0]
}

func (b *Bound) close(f Fault) {
	b.off = append(b.off, int32(len(b.pos)))
	b.fault = append(b.fault, f)
}

// A Binder binds the tasks of one node. It holds scratch only; the zero value
// works.
type Binder struct {
	used []int32 // by device: tasks or 0/1
	left []int64 // by device: shared units
}

// Bind stores in dst which devices each of the node's tasks sees under b.
// masks has the CPUs of each local task as bits; a nil element is a task that
// is not bound to CPUs. It takes O(tasks · devices) steps and allocates
// nothing once the slices have grown.
//
// Slurm repeats the computation on the node for every task; one pass gives
// the same result, because it depends on the step alone.
//
// Source: srun(1) --gpu-bind; specification bind.md 2.
func (r *Binder) Bind(dst *Bound, b *Binding, d *Devices, masks [][]uint64) {
	dst.reset()
	r.used = grow(r.used, len(d.Index))
	if d.Units != nil {
		r.left = append(r.left[:0], d.Units...)
	}
	for k, mask := range masks {
		if len(d.Index) == 0 {
			dst.close(FaultNone)
			continue
		}
		switch b.Mode {
		case ModeClosest:
			r.closest(dst, d, mask)
		case ModeSingle:
			dst.pos = append(dst.pos, r.single(b.N, d, mask, k))
			dst.close(FaultNone)
		case ModePerTask:
			r.perTask(dst, b.N, d, mask)
		case ModeMap:
			r.mapped(dst, b, d, k)
		case ModeMask:
			r.masked(dst, b, d, k)
		default:
			for i := range d.Index {
				dst.pos = append(dst.pos, int32(i))
			}
			dst.close(FaultNone)
		}
	}
}

// grow returns a zeroed slice of length n that reuses s.
func grow[T int32 | int64 | uint64](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

func (d *Devices) near(i int) []uint64 {
	if i < len(d.Near) {
		return d.Near[i]
	}
	return nil
}

// overlaps reports whether a device near CPUs a is near a task on CPUs b.
func overlaps(a, b []uint64) bool {
	if a == nil || b == nil {
		return true
	}
	for i := range min(len(a), len(b)) {
		if a[i]&b[i] != 0 {
			return true
		}
	}
	return false
}

// within reports whether a device near CPUs a is near none but those of b.
func within(a, b []uint64) bool {
	if a == nil || b == nil {
		return true
	}
	for i, w := range a {
		if i < len(b) {
			w &^= b[i]
		}
		if w != 0 {
			return false
		}
	}
	return true
}

func (r *Binder) closest(dst *Bound, d *Devices, mask []uint64) {
	before := len(dst.pos)
	for i := range d.Index {
		if overlaps(d.near(i), mask) {
			dst.pos = append(dst.pos, int32(i))
		}
	}
	if len(dst.pos) == before {
		for i := range d.Index {
			dst.pos = append(dst.pos, int32(i))
		}
	}
	dst.close(FaultNone)
}

func (r *Binder) single(n int32, d *Devices, mask []uint64, k int) int32 {
	if len(d.Index) == 1 {
		return 0
	}
	best, rank := k%len(d.Index), 3
	for i := range d.Index {
		if r.used[i] >= n {
			continue
		}
		near := d.near(i)
		got := 2
		if within(near, mask) {
			got = 0
		} else if overlaps(near, mask) {
			got = 1
		}
		if got < rank {
			best, rank = i, got
		}
	}
	if rank < 3 {
		r.used[best]++
	}
	return int32(best)
}

func (r *Binder) perTask(dst *Bound, n int32, d *Devices, mask []uint64) {
	before := len(dst.pos)
	if d.Units != nil {
		r.perTaskShared(dst, int64(n), d, mask)
	} else {
		for _, wantNear := range [2]bool{true, false} {
			for i := range d.Index {
				if int32(len(dst.pos)-before) >= n {
					break
				}
				if r.used[i] == 0 && overlaps(d.near(i), mask) == wantNear {
					r.used[i] = 1
					dst.pos = append(dst.pos, int32(i))
				}
			}
		}
	}
	if len(dst.pos) == before {
		dst.pos = append(dst.pos, 0)
		dst.close(FaultShort)
		return
	}
	sortInt32(dst.pos[before:])
	dst.close(FaultNone)
}

// perTaskShared takes n units: from one near device, else from one device,
// else from near devices and then any.
func (r *Binder) perTaskShared(dst *Bound, n int64, d *Devices, mask []uint64) {
	for _, nearOnly := range [2]bool{true, false} {
		for i := range d.Index {
			if r.left[i] >= n && (!nearOnly || overlaps(d.near(i), mask)) {
				r.left[i] -= n
				dst.pos = append(dst.pos, int32(i))
				return
			}
		}
	}
	for _, wantNear := range [2]bool{true, false} {
		for i := range d.Index {
			if take := min(n, r.left[i]); take > 0 && overlaps(d.near(i), mask) == wantNear {
				n -= take
				r.left[i] -= take
				dst.pos = append(dst.pos, int32(i))
			}
		}
	}
}

// sortInt32 sorts the few elements of s by insertion.
func sortInt32(s []int32) {
	for i := 1; i < len(s); i++ {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
}

// local returns the position in d.Index of the device that map or mask calls
// id, or −1.
func (d *Devices) local(id int32) int32 {
	if d.Constrained {
		job := d.Job
		if job == nil {
			job = d.Index
		}
		if int(id) >= len(job) {
			return -1
		}
		id = job[id]
	}
	for i, dev := range d.Index {
		if dev == id {
			return int32(i)
		}
	}
	return -1
}

// runAt returns which of the runs holds token k of the list, going round.
func runAt[T any](runs []T, times func(*T) int32, k int) *T {
	total := int64(0)
	for i := range runs {
		total += int64(times(&runs[i]))
	}
	if total == 0 {
		return nil
	}
	at := int64(k) % total
	for i := range runs {
		if at -= int64(times(&runs[i])); at < 0 {
			return &runs[i]
		}
	}
	return nil
}

func (r *Binder) mapped(dst *Bound, b *Binding, d *Devices, k int) {
	fault, pos := FaultID, int32(0)
	if run := runAt(b.Map, func(m *MapRun) int32 { return m.Times }, k); run != nil {
		if p := d.local(run.ID); p >= 0 {
			fault, pos = FaultNone, p
		}
	}
	dst.pos = append(dst.pos, pos)
	dst.close(fault)
}

func (r *Binder) masked(dst *Bound, b *Binding, d *Devices, k int) {
	before := len(dst.pos)
	if run := runAt(b.Masks, func(m *MaskRun) int32 { return m.Times }, k); run != nil {
		for w, word := range run.Bits {
			for ; word != 0; word &= word - 1 {
				if p := d.local(int32(w<<6 + bits.TrailingZeros64(word))); p >= 0 {
					dst.pos = append(dst.pos, p)
				}
			}
		}
	}
	if len(dst.pos) == before {
		dst.pos = append(dst.pos, 0)
		dst.close(FaultMask)
		return
	}
	dst.close(FaultNone)
}

// AppendGlobal appends the node's device numbers of the positions pos, such
// as SLURM_STEP_GPUS lists.
func (d *Devices) AppendGlobal(dst []int32, pos []int32) []int32 {
	for _, p := range pos {
		dst = append(dst, d.Index[p])
	}
	return dst
}

// AppendVisible appends the numbers under which a task that sees the
// positions pos knows its devices, such as CUDA_VISIBLE_DEVICES lists: the
// node's numbers, or under Constrained those counted from 0 among the devices
// that the task can open.
//
// Source: specification bind.md 3, index base.
func (d *Devices) AppendVisible(dst []int32, pos []int32) []int32 {
	for i, p := range pos {
		dst = append(dst, d.visible(i, p, true))
	}
	return dst
}

// visible returns the number of the i-th device that a process sees, which is
// at position p; task says that the fence is the task's, not the step's.
func (d *Devices) visible(i int, p int32, task bool) int32 {
	switch {
	case !d.Constrained:
		return d.Index[p]
	case task && !d.TaskSharing:
		return int32(i)
	}
	return p
}
