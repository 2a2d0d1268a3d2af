package gres

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A naiveNode is the slow twin of a node: who holds each core and how much of
// each device is held.
type naiveNode struct {
	shape *Shape
	up    bool
	held  []Grant
}

// check fails if anything is held twice or more is held than there is, or if
// the row says otherwise.
func (n *naiveNode) check(t *rapid.T, row []uint64) {
	s := n.shape
	cores := make([]int, s.Cores())
	var mem, milli int64
	units := map[[2]int]int64{}
	for i := range n.held {
		g := &n.held[i]
		for w, x := range g.Cores {
			for ; x != 0; x &= x - 1 {
				cores[w<<6|bits.TrailingZeros64(x)]++
			}
		}
		mem += g.MemMiB
		milli += g.MilliCPU
		for _, d := range g.Devices {
			units[[2]int{int(d.Group), int(d.Device)}] += d.Units
		}
	}
	for c, k := range cores {
		if used := row[c>>6] >> (c & 63) & 1; k > 1 || uint64(k) != used {
			t.Fatalf("core %d is held %d times, row says %d", c, k, used)
		}
	}
	if s.FreeMem(row) != s.MemMiB()-mem || s.FreeMem(row) < 0 {
		t.Fatalf("memory held %d, free %d of %d", mem, s.FreeMem(row), s.MemMiB())
	}
	if s.Sockets() == 0 && (s.FreeMilliCPU(row) != s.MilliCPU()-milli || s.FreeMilliCPU(row) < 0) {
		t.Fatalf("milli-CPU held %d, free %d of %d", milli, s.FreeMilliCPU(row), s.MilliCPU())
	}
	for g := range s.NumGroups() {
		for d := range s.NumDevices(g) {
			if u := units[[2]int{g, d}]; u > s.DeviceUnits(g, d) || s.UsedUnits(row, g, d) != u {
				t.Fatalf("device %d: %d units held, row says %d", d, u, s.UsedUnits(row, g, d))
			}
		}
	}
}

// propPool drives a pool and its twin through the same life.
func propPool(t *rapid.T) {
	tb := &testing.T{}
	shapes := []*Shape{gpuShape(tb, 8, 4, 1, 8192), gpuShape(tb, 8, 2, 2, 8192), gpuShape(tb, 4, 0, 0, 4096), countShape(tb, 8000, 8192, 2)}
	requests := []*Request{gpuRequest(0), gpuRequest(1), gpuRequest(2), gpuRequest(4), {CPUsPerTask: 1, Tasks: 1, TasksKnown: Given, MinCPUs: 1, MinNodes: 1, MaxNodes: 1, Mem: MemPerNode, MemMiB: 512, MilliCPU: 700, Flags: ConsumeMem}}
	requests[2].Needs[0].Type = 2
	requests[4].SetNeeds(Need{Name: NameGPU, PerNode: 1, Milli: 300})
	n := rapid.SampledFrom([]int{1, 3, 12, 67}).Draw(t, "nodes")
	p := NewPool(n)
	nodes := make([]naiveNode, n)
	set := func(i int, s *Shape) {
		p.SetNode(int32(i), p.AddShape(s))
		nodes[i] = naiveNode{shape: s, up: true}
	}
	for i := range n {
		set(i, shapes[i%len(shapes)])
	}
	var classes []ClassID
	for _, r := range requests {
		classes = append(classes, p.AddClass(r))
	}
	words := allWords(n)
	odd := slices.Clone(words)
	for w := range odd {
		odd[w] &= 0xaaaaaaaaaaaaaaaa
	}
	views := []ViewID{p.AddView(odd), p.AddView(words)}
	node := rapid.IntRange(0, n-1)
	naive := func(r *Request, pass Pass, within []uint64) (int32, Grant) {
		var sc Scratch
		var g [1]Grant
		for _, view := range [][]uint64{odd, words} {
			for i := range nodes {
				if view[i>>6]&within[i>>6]>>(i&63)&1 == 0 || nodes[i].shape == nil || !nodes[i].up {
					continue
				}
				row := make([]uint64, nodes[i].shape.RowLen())
				for k := range nodes[i].held {
					nodes[i].shape.Take(row, &nodes[i].held[k])
				}
				nr := NodeRow{Shape: nodes[i].shape, Row: row}
				fit := Evaluate(nr, r, pass, 1, &sc)
				if fit.Refusal != RefuseNone {
					continue
				}
				var taking Taking
				taking.Start(r)
				ch := Chosen{Node: nr, Fit: fit}
				ch.CPUs, ch.Devices = taking.Take(nr.Shape, r, &fit)
				if taking.Enough(r) && Select(g[:], []Chosen{ch}, r, pass, 1, &sc) == RefuseNone {
					return int32(i), g[0]
				}
			}
		}
		return -1, g[0]
	}
	var g Grant
	place := func(t *rapid.T) int32 {
		k := rapid.IntRange(0, len(requests)-1).Draw(t, "class")
		pass := Pass(rapid.IntRange(0, 1).Draw(t, "pass"))
		within := words
		if rapid.Bool().Draw(t, "filtered") {
			within = odd
		}
		got := p.PlaceOne(classes[k], pass, views, within, &g)
		want, wg := naive(requests[k], pass, within)
		if got != want {
			t.Fatalf("PlaceOne(class %d) = %d, want %d", k, got, want)
		}
		if got >= 0 && (!slices.Equal(g.Cores, wg.Cores) || !slices.Equal(g.Devices, wg.Devices)) {
			t.Fatalf("PlaceOne gives %+v, want %+v", g, wg)
		}
		return got
	}
	keep := func(i int32) {
		p.Take(i, &g)
		var c Grant
		c.CopyFrom(&g)
		nodes[i].held = append(nodes[i].held, c)
	}
	t.Repeat(map[string]func(*rapid.T){
		"place": func(t *rapid.T) {
			if i := place(t); i >= 0 {
				keep(i)
			}
		},
		"end": func(t *rapid.T) {
			nd := &nodes[node.Draw(t, "node")]
			if len(nd.held) == 0 {
				return
			}
			k := rapid.IntRange(0, len(nd.held)-1).Draw(t, "job")
			p.Give(int32(slices.IndexFunc(nodes, func(x naiveNode) bool { return len(x.held) > 0 && &x.held[0] == &nd.held[0] })), &nd.held[k])
			nd.held = slices.Delete(nd.held, k, k+1)
		},
		"try and take back": func(t *rapid.T) {
			before, m := p.Hash(), p.Mark()
			for range rapid.IntRange(1, 5).Draw(t, "tries") {
				inner := p.Mark()
				h := p.Hash()
				k := rapid.IntRange(0, len(requests)-1).Draw(t, "class")
				if i := p.PlaceOne(classes[k], PassAny, views, nil, &g); i >= 0 {
					p.Take(i, &g)
					if rapid.Bool().Draw(t, "drain") {
						p.SetAvailable(i, false)
					}
				}
				if rapid.Bool().Draw(t, "inner") {
					p.Rollback(inner)
					if p.Hash() != h {
						t.Fatalf("hash %x after an inner rollback, was %x", p.Hash(), h)
					}
				}
			}
			p.Rollback(m)
			if p.Hash() != before {
				t.Fatalf("hash %x after a rollback, was %x", p.Hash(), before)
			}
		},
		"forget": func(*rapid.T) { p.Forget() },
		"drain": func(t *rapid.T) {
			i := node.Draw(t, "node")
			nodes[i].up = rapid.Bool().Draw(t, "up") && nodes[i].shape != nil
			p.SetAvailable(int32(i), nodes[i].up)
		},
		"replace": func(t *rapid.T) {
			i := node.Draw(t, "node")
			if rapid.Bool().Draw(t, "remove") {
				p.RemoveNode(int32(i))
				nodes[i] = naiveNode{}
				return
			}
			set(i, rapid.SampledFrom(shapes).Draw(t, "shape"))
		},
		"column": func(t *rapid.T) {
			k := rapid.IntRange(0, len(requests)-1).Draw(t, "class")
			var cols Columns
			cols.Size(n)
			count := p.Fill(&cols, classes[k], PassAny, 1, odd)
			var sc Scratch
			most, least := [2]int32{}, [2]int32{math.MaxInt32, math.MaxInt32}
			for i := range nodes {
				want := NodeFit{Refusal: RefuseBusy}
				if nodes[i].up && odd[i>>6]>>(i&63)&1 != 0 {
					want = Evaluate(NodeRow{Shape: nodes[i].shape, Row: p.Row(int32(i))}, requests[k], PassAny, 1, &sc)
				}
				fit := cols.Fit[i>>6]>>(i&63)&1 != 0
				if fit != (want.Refusal == RefuseNone) || fit && int64(cols.CPUs[i]) != int64(want.CPUs) {
					t.Fatalf("column of class %d at node %d: fit %v, %d CPUs; want %+v", k, i, fit, cols.CPUs[i], want)
				}
				if fit {
					count--
					for k, x := range []int32{cols.CPUs[i], cols.Devices[i]} {
						most[k], least[k] = max(most[k], x), min(least[k], x)
					}
				}
			}
			if count != 0 {
				t.Fatalf("Fill counts %d too many", count)
			}
			if least[0] == math.MaxInt32 {
				least = [2]int32{}
			}
			if got := [2]int32{cols.MostCPUs, cols.MostDevices}; got != most {
				t.Fatalf("Fill finds %v CPUs and devices the most, want %v", got, most)
			}
			if got := [2]int32{cols.LeastCPUs, cols.LeastDevices}; got != least {
				t.Fatalf("Fill finds %v CPUs and devices the least, want %v", got, least)
			}
		},
		"": func(t *rapid.T) {
			p.Check()
			for i := range nodes {
				if nodes[i].shape != nil {
					nodes[i].check(t, p.Row(int32(i)))
				}
			}
		},
	})
}

func TestPoolModel(t *testing.T) { rapid.Check(t, propPool) }
func FuzzPool(f *testing.F)      { f.Fuzz(rapid.MakeFuzz(propPool)) }
