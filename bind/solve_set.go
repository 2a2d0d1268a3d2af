package bind

import (
	"math/bits"

	"github.com/berth-sched/berth/topology"
)

// A criterion is one field of a packed score.
type criterion uint8

const (
	byWorst criterion = iota
	byGBps
	byNUMA
	byFar
	byNIC
	byBroken
	criteria
)

// Widths of the fields in bits; 64 together. GBps holds what is missing to the
// most that MaxGPUs could have.
const (
	widthWorst  = 4
	widthGBps   = 24
	widthNUMA   = 7
	widthFar    = 13
	widthNIC    = 9
	widthBroken = 7
	mostGBps    = 1<<widthGBps - 1
	mostFar     = 1<<widthFar - 1
)

// A packing has the shift of each field under a policy.
type packing [criteria]uint8

func packingOf(p Policy) packing {
	width := [criteria]uint8{widthWorst, widthGBps, widthNUMA, widthFar, widthNIC, widthBroken}
	order := [criteria]criterion{byWorst, byGBps, byNUMA, byFar, byNIC, byBroken}
	switch p {
	case PolicyPack:
		order = [criteria]criterion{byBroken, byWorst, byGBps, byNUMA, byFar, byNIC}
	case PolicySpread:
		order = [criteria]criterion{byNUMA, byWorst, byGBps, byFar, byNIC, byBroken}
	}
	var shift packing
	at := uint8(64)
	for _, c := range order {
		at -= width[c]
		shift[c] = at
	}
	return shift
}

// A setState is a partly chosen set.
type setState struct {
	chosen, skipped uint64
	nodes           uint64 // NUMA nodes near
	count           int
	worst           uint8
	gbps            int64
	reach           int64 // sum of reach of the chosen
	nic             int
	broken          int
}

// A setSearch finds the best set of GPUs by branch and bound: GPUs in rising
// order, taken before left out, so that of equal sets the lowest comes first.
type setSearch struct {
	w      *Wiring
	s      *Solver
	shift  packing
	want   int
	near   bool // NUMA counts
	spread bool
	one    bool // one NUMA node required
	linked bool
	nics   uint64
	need   int                // CPUs wanted
	free   [64]int32          // free CPUs by NUMA node
	anyCPU int                // free CPUs of all
	reach  [MaxGPUs]int64     // best bandwidth to want−1 others, in sum
	maxOf  [MaxGPUs + 1]int64 // largest reach from this GPU on
	top    int64              // largest bandwidth of a pair
	cheap  [MaxGPUs]int       // class of the nearest free NIC
	lowNIC [MaxGPUs + 1]int   // least of cheap from this GPU on
	homes  [64]uint64         // free GPUs by NUMA node
	loose  uint64             // free GPUs without a NUMA node
	groups []uint64           // intact groups
	avail  uint64
	best   uint64
	set    uint64
	found  bool
	lack   Lack
	sorted []int64
}

func (q *setSearch) search(dst *Solution, w *Wiring, r *SolveRequest, free, nics uint64, tasks int, s *Solver) Lack {
	q.w, q.s, q.want, q.nics, q.avail = w, s, r.GPUs, nics, free
	q.shift = packingOf(r.Policy)
	q.near = r.NUMA != NeedNone || r.Policy == PolicySpread
	q.spread, q.one, q.linked = r.Policy == PolicySpread, r.NUMA == NeedRequire, r.Link == NeedRequire
	q.need = 0
	if r.NUMA != NeedNone && r.TaskCPUs == nil {
		q.need = tasks * r.CPUsPerTask
	}
	q.anyCPU = 0
	for n := range w.nodes {
		q.free[n] = s.deal.free(n)
		q.anyCPU += int(q.free[n])
	}
	q.prepare()
	q.found, q.lack, q.best = false, LackNothing, ^uint64(0)
	q.walk(0, setState{})
	if !q.found {
		if q.lack == LackNothing {
			q.lack = LackGPUs
		}
		return q.lack
	}
	dst.GPUs = q.set
	dst.Score = q.unpack(q.best)
	return LackNothing
}

// prepare fills the tables that bounds read.
func (q *setSearch) prepare() {
	w := q.w
	q.groups = q.groups[:0]
	for _, g := range w.groups {
		if g&^q.avail == 0 {
			q.groups = append(q.groups, g)
		}
	}
	q.top, q.loose = 0, 0
	clear(q.homes[:w.nodes])
	q.maxOf[w.gpus], q.lowNIC[w.gpus] = 0, int(topology.PathNone)
	for i := w.gpus - 1; i >= 0; i-- {
		q.maxOf[i], q.lowNIC[i] = q.maxOf[i+1], q.lowNIC[i+1]
		if q.avail>>i&1 == 0 {
			continue
		}
		if n := w.numa[i]; n >= 0 {
			q.homes[n] |= 1 << i
		} else {
			q.loose |= 1 << i
		}
		q.reach[i] = q.reachOf(i)
		q.maxOf[i] = max(q.maxOf[i], q.reach[i])
		q.cheap[i] = 0
		if q.nics != 0 {
			c := uint8(topology.PathNone)
			for rest := q.nics; rest != 0; rest &= rest - 1 {
				c = min(c, w.nic[i*w.nics+bits.TrailingZeros64(rest)])
			}
			q.cheap[i] = int(c)
		}
		q.lowNIC[i] = min(q.lowNIC[i], q.cheap[i])
	}
}

// reachOf sums the want−1 best bandwidths from GPU i to free others.
func (q *setSearch) reachOf(i int) int64 {
	q.sorted = q.sorted[:0]
	for rest := q.avail &^ (1 << i); rest != 0; rest &= rest - 1 {
		b := int64(q.w.gbps[i*q.w.gpus+bits.TrailingZeros64(rest)])
		q.top = max(q.top, b)
		at := len(q.sorted)
		q.sorted = append(q.sorted, b)
		for ; at > 0 && q.sorted[at-1] < b; at-- {
			q.sorted[at], q.sorted[at-1] = q.sorted[at-1], b
		}
	}
	sum := int64(0)
	for k := range min(max(q.want-1, 0), len(q.sorted)) {
		sum += q.sorted[k]
	}
	return sum
}

// walk decides about GPU i and all later ones.
func (q *setSearch) walk(i int, st setState) {
	if st.count == q.want {
		q.leaf(&st)
		return
	}
	for ; i < q.w.gpus; i++ {
		if q.avail>>i&1 == 0 {
			continue
		}
		if st.count+bits.OnesCount64(q.avail>>i) < q.want {
			return
		}
		next := st
		if q.take(&next, i) && q.bound(&next, i+1) < q.best {
			q.walk(i+1, next)
		}
		st.skipped |= 1 << i
		st.broken = q.brokenBy(st.chosen, st.skipped)
		if q.bound(&st, i+1) >= q.best {
			return
		}
	}
}

// take adds GPU i; false says that no set with it is wanted.
func (q *setSearch) take(st *setState, i int) bool {
	w := q.w
	// Of devices that could change places the lower are taken first.
	if lower := w.alike[i] & q.avail & (1<<i - 1); lower&st.skipped != 0 {
		return false
	}
	for rest := st.chosen; rest != 0; rest &= rest - 1 {
		at := i*w.gpus + bits.TrailingZeros64(rest)
		st.worst = max(st.worst, w.class[at])
		st.gbps += int64(w.gbps[at])
	}
	if q.linked && st.worst > uint8(topology.PathNVLink) {
		q.lack = LackLink
		return false
	}
	if n := w.numa[i]; n >= 0 {
		st.nodes |= 1 << n
	}
	if q.one && bits.OnesCount64(st.nodes) > 1 {
		q.lack = max(q.lack, LackNUMA)
		return false
	}
	st.chosen |= 1 << i
	st.count++
	st.reach += q.reach[i]
	st.nic += q.cheap[i]
	st.broken = q.brokenBy(st.chosen, st.skipped)
	return true
}

// brokenBy counts the intact groups of which some GPU is taken and some is not.
func (q *setSearch) brokenBy(chosen, skipped uint64) (n int) {
	for _, g := range q.groups {
		if g&chosen != 0 && g&skipped != 0 {
			n++
		}
	}
	return n
}

// bound packs the least score that a completion of st could have.
func (q *setSearch) bound(st *setState, from int) uint64 {
	left := int64(q.want - st.count)
	pairs := int64(q.want*(q.want-1))/2 - int64(st.count*(st.count-1))/2
	gbps := min(st.gbps+pairs*q.top, (st.reach+left*q.maxOf[from])/2)
	nodes := bits.OnesCount64(st.nodes)
	if q.spread {
		nodes = 64 - min(nodes+int(left), q.w.nodes)
	} else if q.near && left > 0 && int(left) > bits.OnesCount64(q.atHome(st)>>from) {
		nodes++
	}
	return q.pack(st.worst, gbps, nodes, q.need-q.anyCPU, st.nic+int(left)*q.lowNIC[from], st.broken)
}

// atHome returns the free GPUs that add no NUMA node to st.
func (q *setSearch) atHome(st *setState) uint64 {
	home := q.loose
	for rest := st.nodes; rest != 0; rest &= rest - 1 {
		home |= q.homes[bits.TrailingZeros64(rest)]
	}
	return home
}

func (q *setSearch) pack(worst uint8, gbps int64, nodes, far, nic, broken int) uint64 {
	sh := &q.shift
	sum := uint64(worst)<<sh[byWorst] | uint64(max(mostGBps-gbps, 0))<<sh[byGBps] |
		uint64(nic)<<sh[byNIC] | uint64(broken)<<sh[byBroken]
	if q.near {
		sum |= uint64(nodes) << sh[byNUMA]
		sum |= uint64(min(max(far, 0), mostFar)) << sh[byFar]
	}
	return sum
}

// leaf scores a complete set.
func (q *setSearch) leaf(st *setState) {
	broken := q.brokenBy(st.chosen, ^st.chosen)
	nodes := bits.OnesCount64(st.nodes)
	if q.spread {
		nodes = 64 - nodes
	}
	far := q.far(st)
	if q.one && far > 0 {
		q.lack = LackNUMA
		return
	}
	if q.pack(st.worst, st.gbps, nodes, far, st.nic, broken) >= q.best {
		return
	}
	nic := st.nic
	if q.nics != 0 && !q.distinct(st.chosen) {
		nic = q.s.nicMatch(q.w, st.chosen, q.nics)
	}
	if score := q.pack(st.worst, st.gbps, nodes, far, nic, broken); score < q.best || !q.found {
		q.best, q.set, q.found = score, st.chosen, true
	}
}

// far counts the CPUs wanted beyond those near the GPUs. GPUs without a NUMA
// node are near to all.
func (q *setSearch) far(st *setState) int {
	if q.need == 0 {
		return 0
	}
	have := 0
	if st.nodes == 0 {
		have = q.anyCPU
	}
	for rest := st.nodes; rest != 0; rest &= rest - 1 {
		have += int(q.free[bits.TrailingZeros64(rest)])
	}
	return max(q.need-have, 0)
}

// distinct reports whether every GPU can have a nearest NIC of its own, taken
// greedily; then the matching's cost is the bound.
func (q *setSearch) distinct(chosen uint64) bool {
	w, left := q.w, q.nics
	for rest := chosen; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		got := false
		for n := left; n != 0 && !got; n &= n - 1 {
			r := bits.TrailingZeros64(n)
			if int(w.nic[i*w.nics+r]) == q.cheap[i] {
				left &^= 1 << r
				got = true
			}
		}
		if !got {
			return false
		}
	}
	return true
}

func (q *setSearch) unpack(score uint64) Score {
	field := func(c criterion, width int) int64 {
		return int64(score >> q.shift[c] & (1<<width - 1))
	}
	sc := Score{
		Worst:  topology.PathClass(field(byWorst, widthWorst)),
		GBps:   mostGBps - field(byGBps, widthGBps),
		NICs:   int(field(byNIC, widthNIC)),
		Broken: int(field(byBroken, widthBroken)),
	}
	for rest := q.set; rest != 0; rest &= rest - 1 {
		if n := q.w.numa[bits.TrailingZeros64(rest)]; n >= 0 {
			sc.NUMANodes |= 1 << n
		}
	}
	sc.NUMANodes = bits.OnesCount64(uint64(sc.NUMANodes))
	sc.CPUsFar = int(field(byFar, widthFar))
	return sc
}
