package topology_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/topology"
)

// topOf builds the topology of a random world.
func topOf(t *testing.T, w *twinWorld) *topology.Topology {
	t.Helper()
	names := make([]string, w.n)
	for n := range names {
		names[n] = name(n)
	}
	table, err := topology.NewNames(names)
	if err != nil {
		t.Fatal(err)
	}
	top, problems := topology.New(&w.spec, table)
	if top == nil {
		t.Fatal(problems.Err())
	}
	return top
}

// promise fills in what a request promises of its columns.
func promise(req *topology.Request) {
	most := func(col []int32) (n int32) {
		for id := range req.Eligible.All() {
			if col != nil {
				n = max(n, col[id])
			}
		}
		return n
	}
	req.MostCPUs, req.MostGPUs = most(req.CPUs), most(req.NodeGPUs)
	req.MostRelaxedCPUs, req.MostRelaxedGPUs = most(req.RelaxedCPUs), most(req.RelaxedGPUs)
}

// A request that promises the largest entries of its columns has the same answer,
// refusals included, as one that says nothing.
func TestPromisesChangeNothing(t *testing.T) {
	t.Parallel()
	var ws topology.Scratch
	var plain, told topology.Result
	refused := 0
	for i := range cases() {
		r := rand.New(rand.NewPCG(61, uint64(i)))
		w := []func(*rand.Rand) *twinWorld{randomFlat, randomTree, randomBlocks, randomRings, randomTorus, randomCells}[i%6](r)
		top := topOf(t, w)
		f := top.Fitter(topology.Options{Profile: topology.Profile(r.IntN(2)), FirstNode: r.IntN(2) == 0})
		for range 4 {
			j := randomJob(r, w)
			if r.IntN(3) > 0 {
				j.min, j.want, j.max, j.segment = 1, 1, 1, 0
				j.need = j.need[:min(len(j.need), 1)]
				j.minCPUs = r.IntN(5)
			}
			req := j.request(r.IntN(2) == 0)
			if r.IntN(4) == 0 {
				req.Eligible.Clear()
			}
			if r.IntN(3) == 0 {
				req.RelaxedCPUs = slices.Clone(req.CPUs)
				for n := range req.RelaxedCPUs {
					req.RelaxedCPUs[n] += int32(r.IntN(2))
				}
				req.RelaxedGPUs = req.NodeGPUs
			}
			if r.IntN(4) == 0 {
				req.Required, req.List = nil, new(topology.NodeSet)
				req.List.Init(w.n)
				for range 1 + r.IntN(3) {
					req.List.Add(topology.NodeID(r.IntN(w.n)))
				}
			}
			if r.IntN(6) == 0 {
				req.MaxCPUs = int64(1 + r.IntN(3))
			}
			ok := f.Fit(&ws, req, &plain)
			promise(req)
			if got := f.Fit(&ws, req, &told); got != ok {
				t.Fatalf("case %d: told %v, plain %v\n%+v", i, got, ok, *j)
			}
			if d := cmp.Diff(plain.Refusal, told.Refusal); d != "" || !slices.Equal(plain.Nodes, told.Nodes) || !slices.Equal(plain.CPUs, told.CPUs) || plain.Relaxed != told.Relaxed || !slices.Equal(plain.Units, told.Units) {
				t.Fatalf("case %d: told %v, plain %v\nrefusal %s\n%+v", i, told.Nodes, plain.Nodes, d, *j)
			}
			if told.Steps > plain.Steps {
				t.Fatalf("case %d: %d steps when told, %d without", i, told.Steps, plain.Steps)
			}
			if !ok {
				refused++
			}
		}
	}
	t.Logf("%d refused", refused)
}

// randomCells is a world of toruses with a placement of single cells, most of them
// large enough that their cells fill several words.
func randomCells(r *rand.Rand) *twinWorld {
	w := &twinWorld{units: map[int]bool{}}
	var toruses []twinTorus
	spec := &topology.TorusSpec{}
	w.n = r.IntN(3) * 5 // toruses begin within a word
	for i := range 1 + r.IntN(3) {
		dims := [3]int{1 + r.IntN(4), 1 + r.IntN(4), 1 + r.IntN(6)}
		cells := make([]int, dims[0]*dims[1]*dims[2])
		for c := range cells {
			if cells[c] = -1; r.IntN(16) > 0 {
				cells[c] = w.n
				w.n++
			}
		}
		if r.IntN(3) == 0 { // nodes in no order
			r.Shuffle(len(cells), func(a, b int) { cells[a], cells[b] = cells[b], cells[a] })
		}
		var list []string
		for _, n := range cells {
			if n < 0 {
				list = append(list, topology.EmptyCell)
				continue
			}
			list = append(list, name(n))
			w.units[n] = true
		}
		if r.IntN(6) == 0 {
			w.n += r.IntN(3) // nodes in no torus
		}
		placements := [][3][3]int{{{1, 1, 1}, {r.IntN(dims[0]), 0, 0}, {0, 0, 1 + r.IntN(dims[2])}}}
		if r.IntN(2) == 0 {
			placements[0] = [3][3]int{{1, 1, 1}}
		}
		for range r.IntN(3) {
			var p [3][3]int
			for a := range 3 {
				p[0][a] = 1 + r.IntN(dims[a])
				if r.IntN(4) == 0 {
					p[2][a] = 1 + r.IntN(dims[a]) // boxes overlap
				}
			}
			placements = append(placements, p)
		}
		u := topology.TorusUnitSpec{Name: "t" + name(i), Dims: coord(dims), Nodes: string(topology.AppendHostlist(nil, list))}
		for _, p := range placements {
			u.Placements = append(u.Placements, topology.PlacementSpec{Dims: coord(p[0]), Seed: coord(p[1]), Spacing: coord(p[2])})
		}
		spec.Toruses = append(spec.Toruses, u)
		toruses = append(toruses, newTwinTorus(dims, cells, placements))
	}
	w.n++
	w.spec = topology.Spec{Name: "t", Torus: spec}
	w.try = func(j *twinJob, elig map[int]bool) (*twinTry, twinVerdict) { return twinTorusTry(toruses, j, elig) }
	return w
}

// One node of a torus is found as the twin finds it, by words or not.
func TestTorusCellEqualsTwin(t *testing.T) {
	t.Parallel()
	var ws topology.Scratch
	var res topology.Result
	placed := 0
	for i := range cases() {
		r := rand.New(rand.NewPCG(62, uint64(i)))
		w := randomCells(r)
		top := topOf(t, w)
		f := top.Fitter(topology.Options{Profile: topology.ProfileSlurm})
		for range 2 {
			j := randomJob(r, w)
			j.min, j.want, j.max, j.segment, j.need, j.jobGPUs, j.gpus = 1, 1, 1, 0, nil, 0, nil
			j.minCPUs = r.IntN(4)
			if r.IntN(3) > 0 { // large boxes are free only where most is
				for n := range j.elig {
					j.elig[n] = j.elig[n] || r.IntN(12) > 0
				}
			}
			if r.IntN(4) > 0 {
				clear(j.weight)
			}
			flat := true
			for n, in := range j.elig {
				flat = flat && !(in && w.units[n] && j.cpus[n] > 0)
			}
			if flat {
				continue
			}
			want, verdict := twinPlace(j, func(elig map[int]bool) (*twinTry, twinVerdict) { return w.try(j, elig) })
			req := j.request(true)
			if r.IntN(2) == 0 {
				promise(req)
			}
			ok := f.Fit(&ws, req, &res)
			if ok != (verdict == twinFits) || ok && int(res.Nodes[0]) != want[0] {
				t.Fatalf("case %d: got %v (%+v), want %v (%d)\n%+v\n%+v", i, res.Nodes, res.Refusal, want, verdict, *j, *w.spec.Torus)
			}
			if ok {
				placed++
			}
			checkRefusal(t, &res)
		}
	}
	t.Logf("%d placed", placed)
}
