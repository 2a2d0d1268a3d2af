package topology_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/berth-sched/berth/topology"
)

// benchTopology builds a topology of n nodes: leaves of 32 under switches of 16
// leaves under a root; racks of 18 with every power of two enforced up to 1,152
// nodes; rings of 16; toruses of 8x8x16 with boxes of 64 and 512 nodes.
func benchTopology(tb testing.TB, kind string, n int) *topology.Topology {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("n%06d", i)
	}
	table, err := topology.NewNames(names)
	if err != nil {
		tb.Fatal(err)
	}
	list := func(lo, hi int) string { return fmt.Sprintf("n[%06d-%06d]", lo, min(hi, n)-1) }
	spec := topology.Spec{Name: kind}
	switch kind {
	case "flat":
		spec.Flat = &topology.FlatSpec{}
	case "tree":
		spec.Tree = &topology.TreeSpec{}
		leaves := (n + 31) / 32
		mids := (leaves + 15) / 16
		for l := range leaves {
			spec.Tree.Switches = append(spec.Tree.Switches, topology.SwitchSpec{Name: fmt.Sprintf("l%d", l), Nodes: list(32*l, 32*l+32)})
		}
		for m := range mids {
			spec.Tree.Switches = append(spec.Tree.Switches, topology.SwitchSpec{Name: fmt.Sprintf("m%d", m), Children: fmt.Sprintf("l[%d-%d]", 16*m, min(16*m+16, leaves)-1)})
		}
		spec.Tree.Switches = append(spec.Tree.Switches, topology.SwitchSpec{Name: "root", Children: fmt.Sprintf("m[0-%d]", mids-1)})
	case "block":
		spec.Block = &topology.BlockSpec{Sizes: []int64{18, 36, 72, 144, 288, 576, 1152}}
		for b := range (n + 17) / 18 {
			spec.Block.Blocks = append(spec.Block.Blocks, topology.UnitSpec{Name: fmt.Sprintf("b%d", b), Nodes: list(18*b, 18*b+18)})
		}
	case "ring":
		spec.Ring = &topology.RingSpec{}
		for b := range (n + 15) / 16 {
			spec.Ring.Rings = append(spec.Ring.Rings, topology.UnitSpec{Name: fmt.Sprintf("r%d", b), Nodes: list(16*b, 16*b+16)})
		}
	case "torus":
		spec.Torus = &topology.TorusSpec{}
		dims := topology.Coord{X: 8, Y: 8, Z: 16}
		if n < 1024 {
			dims.Z = 8
		}
		cells := int(dims.X * dims.Y * dims.Z)
		for t := range n / cells {
			spec.Torus.Toruses = append(spec.Torus.Toruses, topology.TorusUnitSpec{Name: fmt.Sprintf("t%d", t), Dims: dims, Nodes: list(t*cells, t*cells+cells),
				Placements: []topology.PlacementSpec{{Dims: topology.Coord{X: 1, Y: 1, Z: 1}}, {Dims: topology.Coord{X: 4, Y: 4, Z: 4}}, {Dims: topology.Coord{X: 8, Y: 8, Z: 8}}}})
		}
	}
	top, problems := topology.New(&spec, table)
	if top == nil {
		tb.Fatal(problems.Err())
	}
	return top
}

// benchRequest asks for want nodes of a cluster of which the share free is free:
// half of that in stretches of 1,152 nodes where the job could be whole, half
// scattered. If it is not to fit there are no stretches and the CPUs are too few.
func benchRequest(top *topology.Topology, want int, free float64, ok bool) *topology.Request {
	r := rand.New(rand.NewPCG(uint64(want), uint64(free*100)))
	n := top.Nodes()
	elig := new(topology.NodeSet)
	elig.Init(n)
	for lo := 0; lo < n; lo += 1152 {
		stretch := ok && (r.Float64() < free/2 || lo == n/1152/2*1152)
		for i := lo; i < min(lo+1152, n); i++ {
			if stretch || r.Float64() < free/2 {
				elig.Add(topology.NodeID(i))
			}
		}
	}
	cpus := make([]int32, n)
	for i := range cpus {
		cpus[i] = 64
	}
	req := &topology.Request{Eligible: elig, CPUs: cpus, Min: int32(want), Want: int32(want), Max: int32(want), MinCPUs: int64(want), Sifted: true}
	if !elig.Empty() {
		req.MostCPUs = 64 // as the filling of columns yields it
	}
	if !ok {
		req.MinCPUs = int64(want) * 65
	}
	if top.Kind() == topology.KindRing && want > 16 {
		req.Segment = 16
	}
	if top.Kind() == topology.KindTorus3D && want > 64 {
		req.Segment = 64
	}
	return req
}

// benchProfile is the profile of BenchmarkFit; BERTH_PROFILE=best changes it.
var benchProfile = map[bool]topology.Profile{true: topology.ProfileBest, false: topology.ProfileSlurm}[os.Getenv("BERTH_PROFILE") == "best"]

func BenchmarkFit(b *testing.B) {
	for _, kind := range []string{"flat", "tree", "block", "ring", "torus"} {
		for _, n := range []int{1000, 10000, 100000} {
			if n == 100000 && testing.Short() {
				continue
			}
			top := benchTopology(b, kind, n)
			f := top.Fitter(topology.Options{Profile: benchProfile})
			for _, want := range []int{1, 64, 1024} {
				for _, free := range []float64{0.05, 0.5} {
					for _, ok := range []bool{true, false} {
						req := benchRequest(top, want, free, ok)
						var ws topology.Scratch
						var res topology.Result
						if f.Fit(&ws, req, &res) != ok {
							continue // cannot be met, or cannot fail
						}
						b.Run(fmt.Sprintf("kind=%s/nodes=%d/want=%d/free=%v/ok=%v", kind, n, want, free, ok), func(b *testing.B) {
							b.ReportAllocs()
							best := time.Hour
							for b.Loop() {
								start := time.Now()
								f.Fit(&ws, req, &res)
								best = min(best, time.Since(start))
							}
							b.ReportMetric(float64(best), "min-ns/op")
							b.ReportMetric(float64(res.Steps), "steps/op")
							b.ReportMetric(float64(res.Fits), "fits/op")
						})
					}
				}
			}
		}
	}
	fitLevels(b)
}

// benchLevels are zones of 16 racks of 32 nodes, with room for 8 members on each
// free node: as one number, or as a column.
func benchLevels(tb testing.TB, n, want int, free float64, ok, column bool) (*topology.Levels, *topology.LevelRequest) {
	lv := benchTopology(tb, "tree", n).Levels()
	r := rand.New(rand.NewPCG(uint64(want), uint64(free*100)))
	req := &topology.LevelRequest{Count: int32(want), Want: 2, Must: 1, Exclusive: topology.NoLevel, Each: 8, Eligible: new(topology.NodeSet)}
	req.Eligible.Init(n)
	for i := range n {
		if r.Float64() < free {
			req.Eligible.Add(topology.NodeID(i))
		}
	}
	if column {
		req.Capacity = make([]int32, n)
		for id := range req.Eligible.All() {
			req.Capacity[id] = req.Each
		}
		req.Eligible, req.Each = nil, 0
	}
	if !ok {
		req.Must, req.Want = 2, 2
		req.Count = 8*32 + int32(want)
	}
	return lv, req
}

// fitLevels runs the part of BenchmarkFit for levels: kind=levels where all free
// nodes take the same, kind=levels-column where each node has its own number.
func fitLevels(b *testing.B) {
	for _, column := range []bool{false, true} {
		kind := map[bool]string{false: "levels", true: "levels-column"}[column]
		for _, n := range []int{1000, 10000, 100000} {
			if n == 100000 && testing.Short() {
				continue
			}
			for _, want := range []int{1, 64, 1024} {
				for _, free := range []float64{0.05, 0.5} {
					for _, ok := range []bool{true, false} {
						lv, req := benchLevels(b, n, want, free, ok, column)
						var ws topology.LevelScratch
						var res topology.LevelResult
						if lv.Fit(&ws, req, &res) != ok {
							continue // cannot be met
						}
						b.Run(fmt.Sprintf("kind=%s/nodes=%d/want=%d/free=%v/ok=%v", kind, n, want, free, ok), func(b *testing.B) {
							b.ReportAllocs()
							best := time.Hour
							for b.Loop() {
								start := time.Now()
								lv.Fit(&ws, req, &res)
								best = min(best, time.Since(start))
							}
							b.ReportMetric(float64(best), "min-ns/op")
							b.ReportMetric(float64(res.Steps), "steps/op")
						})
					}
				}
			}
		}
	}
}

func BenchmarkHostlist(b *testing.B) {
	const text = "n[000001-050000],n[050001-100000]"
	names, err := topology.ParseHostlist(text)
	if err != nil {
		b.Fatal(err)
	}
	table, err := topology.NewNames(names)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("op=expand/names=100000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			names, _ = topology.AppendHosts(names[:0], text)
		}
	})
	buf := topology.AppendHostlist(nil, names)
	b.Run("op=fold/names=100000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = topology.AppendHostlist(buf[:0], names)
		}
	})
	ids, _ := table.AppendIDs(nil, text)
	b.Run("op=resolve/names=100000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ids, _ = table.AppendIDs(ids[:0], text)
		}
	})
}
