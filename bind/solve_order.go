package bind

import "math/bits"

// maxExact is the number of GPUs up to which the rank order is exact.
const maxExact = 16

// An orderSearch puts the chosen GPUs in rank order: at the least distance
// from tasks that are bound to CPUs, then at the least cost of the wires
// between neighbours, then lowest first. The first is an assignment problem;
// among its optima, told by potentials, a chain of least cost is sought: by a
// walk towards the lower bound, which machines wired in a hierarchy reach, else
// by branch and bound, and where that takes too long by dynamic programming over
// subsets.
type orderSearch struct {
	n     int
	gpu   [MaxGPUs]int32  // position in the machine
	link  []uint32        // n × n
	can   [MaxGPUs]uint64 // by place: GPUs allowed there
	step  [MaxGPUs]uint32 // least cost from place p−1 to p
	rest  [MaxGPUs]uint32 // least cost of all steps after place p
	seq   [MaxGPUs]int32
	tries int // left for the walk
	// The exact searches, for at most maxExact GPUs.
	branch chainSearch
	best   []uint32 // by subset and last GPU
}

// The walk may try so many GPUs in all, by GPU to place; past it the exact
// search takes over, or beyond maxExact a greedy one.
const (
	triesEach     = 3
	triesEachLong = 256
)

func (o *orderSearch) solve(dst *Solution, w *Wiring, r *SolveRequest, tasks int, m *matcher) {
	o.load(w, dst.GPUs)
	dst.off = dst.off[:0]
	for k := range tasks {
		lo, hi := share(k, tasks, o.n)
		dst.off = append(dst.off, int32(lo), int32(hi))
	}
	var bound bool
	dst.Score.Distance, bound = o.constrain(w, r, tasks, m)
	if o.uniform() {
		for p := range o.n {
			o.seq[p] = int32(p)
			if bound {
				o.seq[p] = int32(m.lowest(p))
			}
		}
		dst.Score.Chain = int64(o.cost())
	} else {
		dst.Score.Chain = o.chain()
	}
	dst.order = dst.order[:0]
	for p := range o.n {
		dst.order = append(dst.order, o.gpu[o.seq[p]])
	}
}

// share returns the places of the order that belong to task k.
func share(k, tasks, gpus int) (lo, hi int) {
	switch {
	case gpus == 0:
		return 0, 0
	case tasks <= gpus:
		return k * gpus / tasks, (k + 1) * gpus / tasks
	}
	lo = k * gpus / tasks
	return lo, lo + 1
}

func (o *orderSearch) load(w *Wiring, set uint64) {
	o.n = 0
	for rest := set; rest != 0; rest &= rest - 1 {
		o.gpu[o.n] = int32(bits.TrailingZeros64(rest))
		o.n++
	}
	o.link = o.link[:0]
	for a := range o.n {
		for b := range o.n {
			o.link = append(o.link, w.link[int(o.gpu[a])*w.gpus+int(o.gpu[b])])
		}
	}
	for p := range o.n {
		o.can[p] = all(o.n)
	}
}

// constrain limits each place to the GPUs of a least distance to its tasks
// and returns that distance in sum.
func (o *orderSearch) constrain(w *Wiring, r *SolveRequest, tasks int, m *matcher) (sum int64, bound bool) {
	if r.TaskCPUs == nil || o.n == 0 || w.nodes == 0 {
		return 0, false
	}
	m.begin(o.n, o.n)
	for range o.n * o.n {
		m.cost = append(m.cost, 0)
	}
	for k := range min(tasks, len(r.TaskCPUs)) {
		lo, hi := share(k, tasks, o.n)
		nodes := w.touched(r.TaskCPUs[k])
		for i := range o.n {
			d := w.taskDistance(int(o.gpu[i]), nodes)
			for p := lo; p < hi; p++ {
				m.cost[p*o.n+i] += d
			}
		}
	}
	sum = m.solve()
	for p := range o.n {
		o.can[p] = 0
		for i := range o.n {
			if m.tight(p, i) {
				o.can[p] |= 1 << i
			}
		}
	}
	return sum, true
}

// uniform reports whether all wires are alike, so that only tasks matter.
func (o *orderSearch) uniform() bool {
	for a := range o.n {
		for b := range a {
			if o.link[a*o.n+b] != o.link[o.n] {
				return false
			}
		}
	}
	return true
}

// taskDistance is that from a GPU to the nearest of a task's NUMA nodes.
func (w *Wiring) taskDistance(gpu int, nodes uint64) int32 {
	best := int32(-1)
	for ; nodes != 0; nodes &= nodes - 1 {
		if d := w.distance(gpu, bits.TrailingZeros64(nodes)); best < 0 || d < best {
			best = d
		}
	}
	return max(best, 0)
}

// chain fills seq and returns the cost of its steps.
func (o *orderSearch) chain() int64 {
	n := o.n
	if n == 0 {
		return 0
	}
	o.steps()
	o.tries = triesEach * n
	if n > maxExact {
		o.tries = triesEachLong * n
	}
	target := o.lower(0, 0, all(n))
	if o.walk(0, 0, all(n), target) {
		return int64(target)
	}
	if n <= maxExact {
		if o.branch.solve(o) {
			return int64(o.cost())
		}
		return int64(o.exact())
	}
	o.greedy()
	return int64(o.cost())
}

func (o *orderSearch) wire(a, b int32) uint32 { return o.link[int(a)*o.n+int(b)] }

// steps finds the least cost between neighbouring places.
func (o *orderSearch) steps() {
	for p := 1; p < o.n; p++ {
		o.step[p] = ^uint32(0)
		for x := o.can[p-1]; x != 0; x &= x - 1 {
			a := bits.TrailingZeros64(x)
			for y := o.can[p] &^ (1 << a); y != 0; y &= y - 1 {
				o.step[p] = min(o.step[p], o.link[a*o.n+bits.TrailingZeros64(y)])
			}
		}
	}
	o.rest[o.n-1] = 0
	for p := o.n - 1; p > 0; p-- {
		o.rest[p-1] = o.rest[p] + o.step[p]
	}
}

// lower bounds the cost of the steps from place p on, with the GPUs in left
// yet to place and last at p−1 (or none yet, at p = 0): no less than a tree
// that spans them, and no less than the least steps.
func (o *orderSearch) lower(p int, last int32, left uint64) uint32 {
	if left == 0 {
		return 0
	}
	steps := o.rest[0]
	root := bits.TrailingZeros64(left)
	todo := left &^ (1 << root)
	if p > 0 {
		steps = o.step[p] + o.rest[p]
		root, todo = int(last), left
	}
	var near [MaxGPUs]uint32
	for x := todo; x != 0; x &= x - 1 {
		i := bits.TrailingZeros64(x)
		near[i] = o.link[root*o.n+i]
	}
	tree := uint32(0)
	for todo != 0 {
		at, least := 0, ^uint32(0)
		for x := todo; x != 0; x &= x - 1 {
			if i := bits.TrailingZeros64(x); near[i] < least {
				at, least = i, near[i]
			}
		}
		tree += least
		todo &^= 1 << at
		for x := todo; x != 0; x &= x - 1 {
			i := bits.TrailingZeros64(x)
			near[i] = min(near[i], o.link[at*o.n+i])
		}
	}
	return max(tree, steps)
}

// walk looks for the lowest sequence of cost target.
func (o *orderSearch) walk(p int, cost uint32, left uint64, target uint32) bool {
	if p == o.n {
		return cost == target
	}
	for x := o.can[p] & left; x != 0; x &= x - 1 {
		if o.tries--; o.tries < 0 {
			return false
		}
		i := int32(bits.TrailingZeros64(x))
		c := cost
		if p > 0 {
			c += o.wire(o.seq[p-1], i)
		}
		if c+o.lower(p+1, i, left&^(1<<i)) > target {
			continue
		}
		o.seq[p] = i
		if o.walk(p+1, c, left&^(1<<i), target) {
			return true
		}
	}
	return false
}

// exact fills best[left][last]: the least cost of placing the GPUs in left
// after last, for every subset, and reads the lowest best sequence off it.
func (o *orderSearch) exact() uint32 {
	n := o.n
	if need := n << n; cap(o.best) < need {
		o.best = make([]uint32, need)
	}
	o.best = o.best[:n<<n]
	for left := range uint64(1) << n {
		p := n - bits.OnesCount64(left) // the place to fill next
		for last := range n {
			least := ^uint32(0)
			if left == 0 {
				least = 0
			} else if left>>last&1 == 0 && p > 0 {
				for x := left & o.can[p]; x != 0; x &= x - 1 {
					i := bits.TrailingZeros64(x)
					if rest := o.best[int(left&^(1<<i))*n+i]; rest != ^uint32(0) {
						least = min(least, rest+o.link[last*n+i])
					}
				}
			}
			o.best[int(left)*n+last] = least
		}
	}
	left, total, spent := all(n), ^uint32(0), uint32(0)
	for x := o.can[0]; x != 0; x &= x - 1 {
		i := bits.TrailingZeros64(x)
		total = min(total, o.best[int(left&^(1<<i))*n+i])
	}
	for p := range n {
		for x := left & o.can[p]; x != 0; x &= x - 1 {
			i := bits.TrailingZeros64(x)
			c := spent
			if p > 0 {
				c += o.link[int(o.seq[p-1])*n+i]
			}
			if rest := o.best[int(left&^(1<<i))*n+i]; rest != ^uint32(0) && c+rest == total {
				o.seq[p], spent = int32(i), c
				left &^= 1 << i
				break
			}
		}
	}
	return total
}

// greedy orders many GPUs by nearest neighbour where tasks are not bound, and
// by rising position within what tasks allow.
func (o *orderSearch) greedy() {
	left := all(o.n)
	for p := range o.n {
		from := o.can[p] & left
		if from == 0 {
			from = left
		}
		pick, least := -1, ^uint32(0)
		for x := from; x != 0; x &= x - 1 {
			i := int32(bits.TrailingZeros64(x))
			c := uint32(0)
			if p > 0 {
				c = o.wire(o.seq[p-1], i)
			}
			if c < least {
				pick, least = int(i), c
			}
		}
		o.seq[p] = int32(pick)
		left &^= 1 << pick
	}
}

func (o *orderSearch) cost() (sum uint32) {
	for p := 1; p < o.n; p++ {
		sum += o.wire(o.seq[p-1], o.seq[p])
	}
	return sum
}
