package topology_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/berth-sched/berth/topology"
)

// deep says that the large numbers of random cases are wanted.
var deep = os.Getenv("BERTH_DEEP") != ""

// cases returns the number of random cases of a comparison with a twin.
func cases() int {
	switch {
	case deep:
		return 100000
	case testing.Short():
		return 500
	}
	return 2000
}

// A twinWorld is a random topology with its twin.
type twinWorld struct {
	spec topology.Spec
	n    int
	text string
	try  func(j *twinJob, elig map[int]bool) (*twinTry, twinVerdict)
	// placed says that a job whose eligible nodes are none of the units' goes the
	// flat way.
	units map[int]bool
	twin  *twinTree
	flat  bool
}

func hosts(ids []int) string {
	names := make([]string, len(ids))
	for i, n := range ids {
		names[i] = name(n)
	}
	return string(topology.AppendHostlist(nil, names))
}

func name(n int) string { return fmt.Sprintf("n%d", n) }

// splitNodes deals some of n nodes to units of the given sizes; shuffled or in
// order, with a few nodes left out.
func splitNodes(r *rand.Rand, n int, size func() int) (units [][]int) {
	order := r.Perm(n)
	if r.IntN(3) > 0 {
		slices.Sort(order)
	}
	for len(order) > 0 {
		k := min(size(), len(order))
		units = append(units, slices.Clone(order[:k]))
		order = order[k:]
		if r.IntN(6) == 0 && len(order) > 0 {
			order = order[1:]
		}
	}
	return units
}

func randomTree(r *rand.Rand) *twinWorld {
	w := &twinWorld{n: 1 + r.IntN(24)}
	leaves := splitNodes(r, w.n, func() int { return r.IntN(6) })
	var sw []twinSwitch
	for _, l := range leaves {
		sw = append(sw, twinSwitch{parent: -1, nodes: l, leaf: true})
	}
	roots := make([]int, len(sw))
	for i := range roots {
		roots[i] = i
	}
	for depth := 1 + r.IntN(3); depth > 0 && len(roots) > 1; depth-- {
		var next []int
		for len(roots) > 0 {
			k := min(1+r.IntN(4), len(roots))
			if depth == 1 && r.IntN(4) > 0 {
				k = len(roots)
			}
			sw = append(sw, twinSwitch{parent: -1})
			for _, c := range roots[:k] {
				sw[c].parent = len(sw) - 1
			}
			roots = roots[k:]
			next = append(next, len(sw)-1)
		}
		roots = next
	}
	perm := r.Perm(len(sw)) // file order
	if r.IntN(2) == 0 {
		slices.Sort(perm)
	}
	mixed := make([]twinSwitch, len(sw))
	for i, s := range sw {
		if s.parent >= 0 {
			s.parent = perm[s.parent]
		}
		mixed[perm[i]] = s
	}
	spec := &topology.TreeSpec{}
	for i, s := range mixed {
		var children []string
		for c := range mixed {
			if mixed[c].parent == i {
				children = append(children, fmt.Sprintf("s%d", c))
			}
		}
		spec.Switches = append(spec.Switches, topology.SwitchSpec{Name: fmt.Sprintf("s%d", i), Nodes: hosts(s.nodes), Children: string(topology.AppendHostlist(nil, children))})
	}
	w.spec = topology.Spec{Name: "t", Tree: spec}
	w.text = fmt.Sprintf("%+v", spec.Switches)
	w.twin = newTwinTree(mixed)
	w.try = w.twin.try
	return w
}

func randomBlocks(r *rand.Rand) *twinWorld {
	w := &twinWorld{n: 4 + r.IntN(28), units: map[int]bool{}}
	base := 1 + r.IntN(4)
	b := &twinBlocks{base: base, levels: map[int]bool{0: true}}
	b.blocks = splitNodes(r, w.n, func() int {
		if r.IntN(3) == 0 {
			return r.IntN(2 * base)
		}
		return base
	})
	spec := &topology.BlockSpec{Sizes: []int64{int64(base)}}
	for k := 1; k < 5; k++ {
		if r.IntN(2) == 0 {
			b.levels[k] = true
			spec.Sizes = append(spec.Sizes, int64(base<<k))
		}
	}
	for i, l := range b.blocks {
		spec.Blocks = append(spec.Blocks, topology.UnitSpec{Name: fmt.Sprintf("b%d", i), Nodes: hosts(l)})
		for _, n := range l {
			w.units[n] = true
		}
	}
	w.spec = topology.Spec{Name: "t", Block: spec}
	w.text = fmt.Sprintf("%+v", *spec)
	w.try = b.try
	return w
}

func randomRings(r *rand.Rand) *twinWorld {
	w := &twinWorld{n: 1 + r.IntN(40), units: map[int]bool{}}
	rings := splitNodes(r, w.n, func() int { return r.IntN(17) })
	spec := &topology.RingSpec{}
	for i, l := range rings {
		if r.IntN(3) == 0 && len(l) > 0 { // start elsewhere
			at := r.IntN(len(l))
			rings[i] = append(slices.Clone(l[at:]), l[:at]...)
		}
		spec.Rings = append(spec.Rings, topology.UnitSpec{Name: fmt.Sprintf("r%d", i), Nodes: hosts(rings[i])})
		for _, n := range l {
			w.units[n] = true
		}
	}
	w.spec = topology.Spec{Name: "t", Ring: spec}
	w.text = fmt.Sprintf("%+v", *spec)
	w.try = func(j *twinJob, elig map[int]bool) (*twinTry, twinVerdict) { return twinRing(rings, j, elig) }
	return w
}

func randomTorus(r *rand.Rand) *twinWorld {
	w := &twinWorld{units: map[int]bool{}}
	var toruses []twinTorus
	spec := &topology.TorusSpec{}
	for i := range 1 + r.IntN(2) {
		dims := [3]int{1 + r.IntN(4), 1 + r.IntN(3), 1 + r.IntN(3)}
		volume := dims[0] * dims[1] * dims[2]
		cells := make([]int, volume)
		var list []string
		for c := range cells {
			if r.IntN(12) == 0 {
				cells[c] = -1
				list = append(list, topology.EmptyCell)
				continue
			}
			cells[c] = w.n
			list = append(list, name(w.n))
			w.n++
		}
		u := topology.TorusUnitSpec{Name: fmt.Sprintf("t%d", i), Dims: coord(dims), Nodes: string(topology.AppendHostlist(nil, list))}
		var placements [][3][3]int
		for range 1 + r.IntN(4) {
			var p [3][3]int
			for a := range 3 {
				p[0][a] = 1 + r.IntN(dims[a])
				if r.IntN(3) == 0 {
					p[1][a] = r.IntN(dims[a])
				}
				if r.IntN(3) == 0 {
					p[2][a] = 1 + r.IntN(dims[a])
				}
			}
			placements = append(placements, p)
			u.Placements = append(u.Placements, topology.PlacementSpec{Dims: coord(p[0]), Seed: coord(p[1]), Spacing: coord(p[2])})
		}
		spec.Toruses = append(spec.Toruses, u)
		toruses = append(toruses, newTwinTorus(dims, cells, placements))
		for _, n := range cells {
			if n >= 0 {
				w.units[n] = true
			}
		}
	}
	w.n += 1 + r.IntN(4)
	w.spec = topology.Spec{Name: "t", Torus: spec}
	w.text = fmt.Sprintf("%+v", *spec)
	w.try = func(j *twinJob, elig map[int]bool) (*twinTry, twinVerdict) { return twinTorusTry(toruses, j, elig) }
	return w
}

func coord(v [3]int) topology.Coord {
	return topology.Coord{X: int32(v[0]), Y: int32(v[1]), Z: int32(v[2])}
}

func randomFlat(r *rand.Rand) *twinWorld {
	return &twinWorld{n: 1 + r.IntN(24), spec: topology.Spec{Name: "t", Flat: &topology.FlatSpec{}}, flat: true}
}

// randomJob draws a job that has a fair chance on w.
func randomJob(r *rand.Rand, w *twinWorld) *twinJob {
	j := &twinJob{elig: make([]bool, w.n), cpus: make([]int, w.n), weight: make([]int, w.n)}
	full, equal, heavy := r.IntN(4), r.IntN(2), r.IntN(3) == 0
	count := 0
	for n := range w.n {
		j.elig[n] = r.IntN(4) < 1+full
		j.cpus[n] = 2
		if equal == 0 {
			j.cpus[n] = r.IntN(4)
		}
		if heavy {
			j.weight[n] = r.IntN(3)
		}
		if j.elig[n] {
			count++
		}
	}
	j.min = 1 + r.IntN(max(count, 1))
	if r.IntN(2) == 0 {
		j.min = 1 + r.IntN(min(6, max(count, 1)))
	}
	j.want, j.max = j.min, j.min
	switch r.IntN(4) {
	case 0:
		j.max += r.IntN(6)
		j.want = j.max
	case 1:
		j.max += r.IntN(6)
	}
	j.max = max(j.max, 2) // one node is another path
	j.minCPUs = j.min
	switch r.IntN(4) {
	case 0:
		j.minCPUs = r.IntN(3*j.min + 1)
	case 1:
		j.minCPUs = j.max
	}
	j.whole = r.IntN(4) == 0
	if r.IntN(4) == 0 {
		for range 1 + r.IntN(2) {
			n := r.IntN(w.n)
			if (j.elig[n] || r.IntN(8) == 0) && !slices.Contains(j.need, n) && len(j.need) < j.min {
				j.need = append(j.need, n)
			}
		}
		if r.IntN(4) == 0 {
			j.need = nil
			for n := range w.n {
				if len(j.need) < j.min && j.elig[n] {
					j.need = append(j.need, n)
				}
			}
		}
		slices.Sort(j.need)
	}
	if r.IntN(5) == 0 {
		j.jobGPUs = 1 + r.IntN(3*j.min)
		j.gpus = make([]int, w.n)
		for n := range j.gpus {
			j.gpus[n] = 1 + r.IntN(4)
		}
	}
	switch {
	case w.flat:
		j.contiguous = r.IntN(4) == 0
	case w.units != nil && r.IntN(2) == 0:
		k := 1 + r.IntN(3)
		j.segment = 1 + r.IntN(4)
		if r.IntN(8) > 0 {
			j.min = j.segment * k
			j.want, j.max = j.min, max(j.min+r.IntN(3), 2)
			if len(j.need) > j.min {
				j.need = j.need[:j.min]
			}
		}
		j.spread, j.cons = r.IntN(3) == 0, r.IntN(3) == 0
	case w.units == nil:
		j.dragonfly = r.IntN(3) == 0
	}
	j.defects = r.IntN(2) == 0
	j.best = r.IntN(4) == 0 && w.flat
	return j
}

// request makes the real request of a twin's job.
func (j *twinJob) request(sifted bool) *topology.Request {
	n := len(j.elig)
	var elig, need topology.NodeSet
	elig.Init(n)
	need.Init(n)
	req := &topology.Request{Eligible: &elig, Min: int32(j.min), Want: int32(j.want), Max: int32(j.max), MinCPUs: int64(j.minCPUs), CPUs: make([]int32, n), GPUs: int64(j.jobGPUs), WholeNode: j.whole, Contiguous: j.contiguous, Segment: int32(j.segment), SpreadSegments: j.spread, Consolidate: j.cons}
	weighted := false
	for i := range n {
		req.CPUs[i] = int32(j.cpus[i])
		if j.elig[i] && (!sifted || j.cpus[i] > 0) {
			elig.Add(topology.NodeID(i))
		}
		weighted = weighted || j.weight[i] != 0
	}
	req.Sifted = sifted
	if weighted {
		req.Weights = make([]int64, n)
		for i, w := range j.weight {
			req.Weights[i] = int64(w)
		}
	}
	if j.gpus != nil {
		req.NodeGPUs = make([]int32, n)
		for i, g := range j.gpus {
			req.NodeGPUs[i] = int32(g)
		}
	}
	if len(j.need) > 0 {
		for _, i := range j.need {
			need.Add(topology.NodeID(i))
		}
		req.Required = &need
	}
	return req
}

func testTwin(t *testing.T, seed uint64, world func(*rand.Rand) *twinWorld) {
	t.Parallel()
	var ws topology.Scratch
	var res topology.Result
	fit, retried := 0, 0
	for i := range cases() {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		w := world(r)
		top := topOf(t, w)
		for range 4 {
			j := randomJob(r, w)
			sifted := r.IntN(2) == 0
			flat := w.flat
			if w.units != nil {
				flat = true
				for n, in := range j.elig {
					flat = flat && !(in && w.units[n] && (!sifted || j.cpus[n] > 0))
				}
			}
			if flat && !w.flat && j.segment > 0 {
				continue // the flat way knows no segments, the twin's normal form does not matter
			}
			try := w.try
			if flat {
				try = func(j *twinJob, elig map[int]bool) (*twinTry, twinVerdict) { return twinFlat(j, elig) }
			}
			tries := 0
			want, verdict := twinPlace(j, func(elig map[int]bool) (*twinTry, twinVerdict) {
				tries++
				return try(j, elig)
			})
			opts := topology.Options{Profile: topology.ProfileSlurm, Defects: j.defects, Dragonfly: j.dragonfly}
			if j.best {
				opts.Profile = topology.ProfileBest
			}
			ok := top.Fitter(opts).Fit(&ws, j.request(sifted), &res)
			var got []int
			for _, id := range res.Nodes {
				got = append(got, int(id))
			}
			if ok != (verdict == twinFits) || ok && !slices.Equal(got, want) || (verdict == twinPermanent) != res.Refusal.Rule.Permanent() {
				t.Fatalf("case %d: got %v (%v), want %v (%d)\njob %+v\ntopology %s", i, got, res.Refusal, want, verdict, *j, w.text)
			}
			if ok {
				fit++
			}
			if tries > 1 {
				retried++
			}
			checkRefusal(t, &res)
		}
	}
	t.Logf("%d placed, %d with retries", fit, retried)
}

// checkRefusal holds a refusal to its promise.
func checkRefusal(t *testing.T, res *topology.Result) {
	t.Helper()
	if r := res.Refusal; r.Rule != topology.RuleNone && r.Lack != topology.LackNone && r.Have >= r.Need && r.Rule != topology.RuleConfig {
		t.Fatalf("refusal %v has %d of %d %v", r.Rule, r.Have, r.Need, r.Lack)
	}
}

func TestFlatEqualsTwin(t *testing.T)  { testTwin(t, 1, randomFlat) }
func TestTreeEqualsTwin(t *testing.T)  { testTwin(t, 2, randomTree) }
func TestBlockEqualsTwin(t *testing.T) { testTwin(t, 3, randomBlocks) }
func TestRingEqualsTwin(t *testing.T)  { testTwin(t, 4, randomRings) }
func TestTorusEqualsTwin(t *testing.T) { testTwin(t, 5, randomTorus) }

func seeded(i int) *rand.Rand { return rand.New(rand.NewPCG(51, uint64(i))) }
