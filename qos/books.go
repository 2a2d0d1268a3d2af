package qos

import (
	"math"

	"github.com/berth-sched/berth/gres"
)

// row is the counters of one owner of limits: an association, a QOS, or a user
// or account within a QOS. Amounts stand in the columns of books.
type row struct {
	submitted, running, accruing int64
	hist                         int32 // its history, 1-based; 0: none yet
	refs                         int32 // its node counts, 1-based; 0: nodes are not counted uniquely
	flat                         bool  // NoDecay: history stands at scale 1
}

// books holds all counters, by row. Row 0 stands for an owner that was never
// charged and stays zero.
type books struct {
	k       int
	rows    []row
	use     []int64 // k per row: in use
	commit  []wide  // k per row: TRES seconds that running jobs may still take
	hist    []wide  // k+2 per history: TRES seconds, billing seconds, wall seconds, in units of 2^-20 · scale
	refs    []nodeCounts
	pairs   pairTable
	free    []int32
	scale   float64 // what one unit of decaying history is worth
	charges []charge
	holds   []int64    // k per charge
	idle    []uint64   // bit i: entry i is free
	lowIdle int        // no word of idle below has a bit
	dead    []ChargeID // uncharged since the last Forget
	log     []entry
	base    int // entries forgotten so far
	scratch struct {
		rows []int32
		need []int64
		step []wide
	}
}

func (b *books) init(k int) {
	b.k, b.scale = k, 1
	b.rows, b.use, b.commit = make([]row, 1), make([]int64, k), make([]wide, k)
	b.charges, b.holds = make([]charge, 1), make([]int64, k)
	b.scratch.need, b.scratch.step = make([]int64, k), make([]wide, k+2)
	b.scratch.rows = make([]int32, 0, 64)
	b.pairs.init(16)
}

// newRow returns a zero row.
func (b *books) newRow() int32 {
	if n := len(b.free); n > 0 {
		r := b.free[n-1]
		b.free = b.free[:n-1]
		return r
	}
	b.rows = append(b.rows, row{})
	for range b.k {
		b.use, b.commit = append(b.use, 0), append(b.commit, wide{})
	}
	return int32(len(b.rows) - 1)
}

// release frees an idle row. Its history and node counts stay with it for the
// next owner, emptied.
func (b *books) release(r int32) {
	if r == 0 {
		return
	}
	old := b.rows[r]
	b.rows[r] = row{hist: old.hist, refs: old.refs}
	clear(b.history(r))
	b.free = append(b.free, r)
}

func (b *books) quiet(r int32) bool {
	w := &b.rows[r]
	return w.submitted == 0 && w.running == 0 && w.accruing == 0
}

func (b *books) useOf(r int32) []int64   { return b.use[int(r)*b.k : int(r+1)*b.k] }
func (b *books) commitOf(r int32) []wide { return b.commit[int(r)*b.k : int(r+1)*b.k] }

// history returns the history of a row: k kinds, billing, wall; nil if there is none.
func (b *books) history(r int32) []wide {
	h := int(b.rows[r].hist)
	if h == 0 {
		return nil
	}
	return b.hist[(h-1)*(b.k+2) : h*(b.k+2)]
}

// needHistory is history, making one if there is none.
func (b *books) needHistory(r int32) []wide {
	if b.rows[r].hist == 0 {
		for range b.k + 2 {
			b.hist = append(b.hist, wide{})
		}
		b.rows[r].hist = int32(len(b.hist) / (b.k + 2))
	}
	return b.history(r)
}

// seconds returns history slot i of a row; k is billing and k+1 is wall.
func (b *books) seconds(r int32, i int) float64 {
	h := b.history(r)
	if h == nil {
		return 0
	}
	if b.rows[r].flat {
		return h[i].unfixed()
	}
	return float64(h[i].unfixed() * b.scale)
}

// minutes returns the whole minutes in a history slot.
func (b *books) minutes(r int32, i int) int64 {
	m := math.Floor(b.seconds(r, i) / 60)
	if m >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(m)
}

// move adds to row `to` all counters of row from, or takes them away. Nodes in
// use are left to retrack.
func (b *books) move(from, to int32, sign int64) {
	f, t := &b.rows[from], &b.rows[to]
	t.submitted += sign * f.submitted
	t.running += sign * f.running
	t.accruing += sign * f.accruing
	use, commit := b.useOf(to), b.commitOf(to)
	for k, n := range b.useOf(from) {
		use[k] += sign * n
	}
	for k, n := range b.commitOf(from) {
		commit[k] = commit[k].plus(n, sign)
	}
	b.moveHistory(from, to, sign)
}

// moveHistory is move for history alone, between two rows that decay.
func (b *books) moveHistory(from, to int32, sign int64) {
	if b.history(from) == nil {
		return
	}
	dst := b.needHistory(to)
	for i, n := range b.history(from) {
		dst[i] = dst[i].plus(n, sign)
	}
}

// plus returns a + sign·b.
func (a wide) plus(b wide, sign int64) wide {
	if sign < 0 {
		return a.sub(b)
	}
	return a.add(b)
}

// rescale turns a row's history into one that does not decay, or back.
func (b *books) rescale(r int32, flat bool) {
	if r == 0 {
		return
	}
	for i, n := range b.history(r) {
		x := n.unfixed() * b.scale
		if !flat {
			x = n.unfixed() / b.scale
		}
		b.history(r)[i] = fixed(x)
	}
	b.rows[r].flat = flat
}

// renormalise brings scale back to near 1 by a power of two. Shifting rounds
// down, so that a sum stays at least the sum of its parts.
func (b *books) renormalise() {
	_, e := math.Frexp(b.scale)
	shift := uint(-e)
	for r := range b.rows {
		if b.rows[r].flat {
			continue
		}
		for i, n := range b.history(int32(r)) {
			b.history(int32(r))[i] = n.shiftRight(shift)
		}
	}
	b.scale = math.Ldexp(b.scale, -e)
}

// shiftRight returns ⌊a / 2^s⌋ for s < 64.
func (a wide) shiftRight(s uint) wide {
	return wide{a.hi >> s, a.lo>>s | uint64(a.hi)<<(64-s)}
}

// pairTable finds the row of a user or an account within a QOS.
type pairTable struct {
	keys []uint64 // 0: empty
	rows []int32
	n    int
}

// pairKey is never 0, as QOS are numbered from 1.
func pairKey(q QOSID, of int32, account bool) uint64 {
	key := uint64(q)<<33 | uint64(of)<<1
	if account {
		key |= 1
	}
	return key
}

func (t *pairTable) init(size int) {
	t.keys, t.rows, t.n = make([]uint64, size), make([]int32, size), 0
}

// find returns the slot of key, or the empty one where it would stand.
func (t *pairTable) find(key uint64) int {
	mask := len(t.keys) - 1
	i := int(key*0x9e3779b97f4a7c15>>32) & mask
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

func (t *pairTable) get(key uint64) int32 { return t.rows[t.find(key)] }

func (t *pairTable) put(key uint64, r int32) {
	if 2*(t.n+1) > len(t.keys) {
		old := *t
		t.init(2 * len(old.keys))
		for i, k := range old.keys {
			if k != 0 {
				j := t.find(k)
				t.keys[j], t.rows[j] = k, old.rows[i]
			}
		}
		t.n = old.n
	}
	i := t.find(key)
	t.keys[i], t.rows[i] = key, r
	t.n++
}

// nodeCounts counts the running jobs of one owner on each of its nodes.
type nodeCounts struct {
	node  []int32 // -1: empty
	count []int32
	n     int // nodes with a job
}

func (t *nodeCounts) reset() {
	if t.node == nil {
		t.node, t.count = make([]int32, 16), make([]int32, 16)
	}
	for i := range t.node {
		t.node[i] = -1
	}
	t.n = 0
}

func (t *nodeCounts) home(node int32) int {
	return int(uint32(node)*0x9e3779b9>>8) & (len(t.node) - 1)
}

func (t *nodeCounts) find(node int32) int {
	i := t.home(node)
	for t.node[i] >= 0 && t.node[i] != node {
		i = (i + 1) & (len(t.node) - 1)
	}
	return i
}

func (t *nodeCounts) has(node int32) bool { return t.node[t.find(node)] >= 0 }

func (t *nodeCounts) add(node int32) {
	i := t.find(node)
	if t.node[i] >= 0 {
		t.count[i]++
		return
	}
	if 2*(t.n+1) > len(t.node) {
		old := *t
		t.node, t.count = make([]int32, 2*len(old.node)), make([]int32, 2*len(old.node))
		t.reset()
		t.n = old.n
		for j, m := range old.node {
			if m >= 0 {
				p := t.find(m)
				t.node[p], t.count[p] = m, old.count[j]
			}
		}
		i = t.find(node)
	}
	t.node[i], t.count[i] = node, 1
	t.n++
}

// remove takes one job off a node that has one. A hole is closed by moving
// back what probed over it.
func (t *nodeCounts) remove(node int32) {
	i := t.find(node)
	if t.count[i]--; t.count[i] > 0 {
		return
	}
	t.n--
	mask := len(t.node) - 1
	for j := (i + 1) & mask; t.node[j] >= 0; j = (j + 1) & mask {
		// What stands in j may fill i unless its home is in (i, j].
		if (j-t.home(t.node[j]))&mask >= (j-i)&mask {
			t.node[i], t.count[i] = t.node[j], t.count[j]
			i = j
		}
	}
	t.node[i] = -1
}

// fresh returns how many of nodes have no job of the owner.
func (t *nodeCounts) fresh(nodes []int32) int64 {
	n := int64(0)
	for _, id := range nodes {
		if !t.has(id) {
			n++
		}
	}
	return n
}

// addNodes books or unbooks the nodes of a charge in a row.
func (b *books) addNodes(r int32, nodes []int32, count, sign int64) {
	use := &b.use[int(r)*b.k+int(gres.Node)]
	if b.rows[r].refs == 0 {
		*use += sign * count
		return
	}
	t := &b.refs[b.rows[r].refs-1]
	for _, id := range nodes {
		if sign > 0 {
			t.add(id)
		} else {
			t.remove(id)
		}
	}
	*use = int64(t.n)
}
