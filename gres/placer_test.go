package gres

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMaxTreeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 63, 64, 65, 4097}).Draw(t, "nodes")
		tree := newMaxTree(n)
		model := slices.Repeat([]int32{unfit}, n)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.Int32Range(0, int32(n-1)).Draw(t, "node")
			v := rapid.SampledFrom([]int32{unfit, -1, 0, 1, 50, 100}).Draw(t, "score")
			tree.put(i, v)
			model[i] = v
			want := int32(-1)
			for k, m := range model {
				if m != unfit && (want < 0 || m > model[want]) {
					want = int32(k)
				}
			}
			if got := tree.best(); got != want {
				t.Fatalf("best() = %d, want %d", got, want)
			}
		}
	})
}

// drawNode draws a state as the metric sees it.
func drawNode(t *rapid.T) *fragNode {
	n := &fragNode{cpu: rapid.Int64Range(0, 12).Draw(t, "cpu") * 1000, size: rapid.IntRange(0, 4).Draw(t, "devices")}
	typ := TypeID(rapid.IntRange(1, 2).Draw(t, "type"))
	for range n.size {
		n.left = append(n.left, rapid.Int64Range(0, 10).Draw(t, "left")*100)
		n.types = append(n.types, typ)
		n.total += n.left[len(n.left)-1]
	}
	return n
}

func drawWorkload(t *rapid.T) *Workload {
	var shapes []TaskShape
	for range rapid.IntRange(1, 6).Draw(t, "shapes") {
		s := TaskShape{MilliCPU: rapid.Int64Range(0, 8).Draw(t, "cpu") * 1000, Count: rapid.Int64Range(1, 9).Draw(t, "count")}
		if s.GPUs = rapid.Int32Range(0, 3).Draw(t, "gpus"); s.GPUs > 0 {
			s.MilliGPU = 1000
			if s.GPUs == 1 {
				s.MilliGPU = rapid.Int64Range(1, 10).Draw(t, "milli") * 100
			}
			if rapid.Bool().Draw(t, "typed") {
				s.Types = []TypeID{TypeID(rapid.IntRange(1, 2).Draw(t, "want"))}
			}
		}
		shapes = append(shapes, s)
	}
	return NewWorkload(shapes, 100)
}

// naiveFragment is the definition of spec/fragmentation.md 2.2 and 2.3.
func naiveFragment(w *Workload, n *fragNode) float64 {
	var sum float64
	for i := range w.shapes {
		s := &w.shapes[i]
		compatible := n.size > 0 && (len(s.Types) == 0 || slices.Contains(s.Types, n.types[0]))
		enough, scraps := int32(0), int64(0)
		for _, u := range n.left {
			if u >= s.MilliGPU {
				enough++
			} else {
				scraps += u
			}
		}
		f := n.total
		if s.GPUs > 0 && compatible && enough >= s.GPUs && n.cpu >= s.MilliCPU {
			f = scraps
		}
		sum += float64(s.Count) / float64(w.total) * float64(f)
	}
	return sum
}

func TestFragmentIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, n := drawWorkload(t), drawNode(t)
		want := naiveFragment(w, n)
		if got := float64(w.fragment(n)) / float64(w.total); math.Abs(got-want) > 1e-6 {
			t.Fatalf("fragment = %v, want %v", got, want)
		}
		if got := w.fragmentExact(n, make([]formUse, len(w.forms))); math.Abs(got-want) > 1e-6 {
			t.Fatalf("fragmentExact = %v, want %v", got, want)
		}
		if u := w.unfilled(n); u < 0 || u > n.total*w.weight {
			t.Fatalf("unfilled = %d of %d·%d", u, n.total, w.weight)
		}
	})
}

func TestScoreIsTheSigmoid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := NewWorkload([]TaskShape{{MilliCPU: 1, Count: rapid.Int64Range(1, 10_000).Draw(t, "total")}}, 100)
		gain := rapid.Int64Range(-8000, 8000).Draw(t, "gain")
		if got, want := w.score(gain*w.total), int32(100/(1+math.Exp(-float64(gain)/1000))); got != want {
			t.Fatalf("score(%d) = %d, want %d", gain, got, want)
		}
	})
}

func TestPackingValues(t *testing.T) {
	v := packingValue([]int64{810, 470, 650, 320}, []int64{100, 100, 30, 30})
	// 810 and pairs of 470 fill a device as well as anything; what they leave
	// is worth nothing.
	for u, want := range map[int]int32{1000: 1000, 810: 810, 190: 0, 530: 500, 60: 0} {
		if v[u] != want {
			t.Errorf("value of %d left is %d, want %d", u, v[u], want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var sizes, counts []int64
		for range rapid.IntRange(0, 8).Draw(t, "sizes") {
			if s := rapid.Int64Range(1, 999).Draw(t, "size"); !slices.Contains(sizes, s) {
				sizes, counts = append(sizes, s), append(counts, rapid.Int64Range(1, 100).Draw(t, "count"))
			}
		}
		v := packingValue(sizes, counts)
		for u := 1; u <= 1000; u++ {
			if v[u] < v[u-1] || int(v[u]) > u {
				t.Fatalf("value of %d left is %d, of %d it is %d", u, v[u], u-1, v[u-1])
			}
		}
	})
}

func TestLearner(t *testing.T) {
	l := Learner{HalfLife: time.Hour}
	a, b := TaskShape{MilliCPU: 1000}, TaskShape{MilliCPU: 2000, GPUs: 1, MilliGPU: 500}
	for range 8 {
		l.Observe(a)
	}
	l.Observe(b)
	if w := l.Workload(80); w.Len() != 1 || w.Shape(0).MilliCPU != 1000 {
		t.Errorf("80 %% of 8:1 are %d shapes", w.Len())
	}
	half := l
	half.shapes = slices.Clone(l.shapes)
	half.Advance(time.Hour)
	if got := float64(half.shapes[0].Count) / float64(l.shapes[0].Count); math.Abs(got-0.5) > 0.01 {
		t.Errorf("after a half-life %v is left", got)
	}
	steps := l
	steps.shapes = slices.Clone(l.shapes)
	for range 3600 {
		steps.Advance(time.Second)
	}
	if steps.shapes[0].Count != half.shapes[0].Count {
		t.Errorf("%d after many short times, %d after a long one", steps.shapes[0].Count, half.shapes[0].Count)
	}
	l.Advance(1000 * time.Hour)
	if len(l.shapes) != 0 {
		t.Error("an old shape is not forgotten")
	}
}

// TestPlacerAgainstScan places and ends tasks and compares every choice with a
// scan of all nodes by a placer that knows nothing from before.
func TestPlacerAgainstScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := &testing.T{}
		policy := Policy(rapid.IntRange(int(BestFit), int(numPolicies-1)).Draw(t, "policy"))
		if policy == RandomFit {
			policy = FGD
		}
		n := rapid.IntRange(1, 70).Draw(t, "nodes")
		p := NewPool(n)
		ids := []ShapeID{p.AddShape(countShape(tb, 8000, 8192, 2)), p.AddShape(countShape(tb, 16000, 8192, 4)), p.AddShape(countShape(tb, 4000, 8192, 0))}
		for i := range n {
			p.SetNode(int32(i), ids[i%3])
		}
		views := []ViewID{p.AddView(allWords(n))}
		var classes []ClassID
		for _, r := range []struct{ cpu, gpus, milli int64 }{{500, 0, 0}, {1000, 1, 300}, {2000, 1, 700}, {3000, 1, 0}, {4000, 2, 0}} {
			q := Request{CPUsPerTask: 1, MinNodes: 1, MaxNodes: 1, MilliCPU: r.cpu, Mem: MemPerNode, MemMiB: 64, Flags: ConsumeMem}
			if r.gpus > 0 {
				q.SetNeeds(Need{Name: NameGPU, PerNode: r.gpus, Milli: r.milli})
			}
			classes = append(classes, p.AddClass(&q))
		}
		work := drawWorkload(t)
		pl := NewPlacer(p, policy, work, 1)
		type job struct {
			node int32
			c    ClassID
			g    Grant
		}
		var jobs []job
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(jobs) > 0 && rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				k := rapid.IntRange(0, len(jobs)-1).Draw(t, "job")
				p.Give(jobs[k].node, &jobs[k].g)
				pl.Ended(jobs[k].c, jobs[k].node)
				jobs = slices.Delete(jobs, k, k+1)
			}
			c := rapid.SampledFrom(classes).Draw(t, "class")
			var g, g2 Grant
			got := pl.Place(c, PassAny, views, nil, &g)
			scan := NewPlacer(p, policy, work, 1)
			scan.follow()
			copy(scan.kinds, pl.kinds)
			want, best := int32(-1), int32(unfit)
			s := scan.slot(c, views[0], PassAny)
			for i := range int32(n) {
				if v := scan.score(s, &p.views[views[0]], i); v > best {
					want, best = i, v
				}
			}
			if got != want {
				t.Fatalf("%v places class %d on %d, a scan on %d", policy, c, got, want)
			}
			var sum, free float64
			for i := range int32(n) {
				r := p.NodeRow(i)
				var f fragNode
				f.load(r.Shape, r.Row)
				f.types = append(f.types, 0) // no types: drawn ones do not match
				sum += naiveFragment(work, &f)
				free += float64(f.total)
			}
			if frag, fr := pl.Fragmented(); math.Abs(frag-sum) > 1e-4 || float64(fr) != free {
				t.Fatalf("Fragmented = %v of %d, want %v of %v", frag, fr, sum, free)
			}
			if got < 0 {
				continue
			}
			if again := scan.Place(c, PassAny, views, nil, &g2); again != got || !slices.Equal(g.Devices, g2.Devices) {
				t.Fatalf("%v gives %v on %d, a fresh placer %v on %d", policy, g.Devices, got, g2.Devices, again)
			}
			p.Take(got, &g)
			pl.Started(c, got)
			jobs = append(jobs, job{got, c, g})
			p.Check()
		}
	})
}

func TestPlacerAllocs(t *testing.T) {
	if checking {
		t.Skip("self-checks allocate")
	}
	p, classes, views := studyPool(t, 300)
	pl := NewPlacer(p, FillUp, studyWorkload(), 1)
	var g Grant
	step := func() {
		for _, c := range classes {
			if n := pl.Place(c, PassAny, views, nil, &g); n >= 0 {
				p.Take(n, &g)
				pl.Fragmented()
				p.Give(n, &g)
				p.Forget()
			}
		}
	}
	step()
	if got := testing.AllocsPerRun(100, step); got != 0 {
		t.Errorf("Place and Fragmented: %v allocs per run, want 0", got)
	}
}

// studyPool returns a pool like openb's in proportion, and classes of tasks.
func studyPool(t testing.TB, n int) (*Pool, []ClassID, []ViewID) {
	p := NewPool(n)
	ids := []ShapeID{p.AddShape(countShape(t, 96_000, 393_216, 8)), p.AddShape(countShape(t, 104_000, 524_288, 2)), p.AddShape(countShape(t, 16_000, 122_880, 2))}
	for i := range n {
		p.SetNode(int32(i), ids[[]int{0, 1, 0, 1, 0, 1, 0, 1, 0, 2}[i%10]])
	}
	var classes []ClassID
	for i := range studyWorkload().Len() {
		s := studyWorkload().Shape(i)
		r := Request{CPUsPerTask: 1, MinNodes: 1, MaxNodes: 1, MilliCPU: s.MilliCPU, Mem: MemPerNode, MemMiB: 1024, Flags: ConsumeMem}
		if s.GPUs > 0 {
			need := Need{Name: NameGPU, PerNode: int64(s.GPUs)}
			if s.MilliGPU < 1000 {
				need.Milli = s.MilliGPU
			}
			r.SetNeeds(need)
		}
		classes = append(classes, p.AddClass(&r))
	}
	return p, classes, []ViewID{p.AddView(allWords(n))}
}

func studyWorkload() *Workload {
	return NewWorkload([]TaskShape{
		{MilliCPU: 3152, GPUs: 1, MilliGPU: 810, Count: 1047}, {MilliCPU: 11300, GPUs: 1, MilliGPU: 1000, Count: 874},
		{MilliCPU: 11400, GPUs: 1, MilliGPU: 1000, Count: 599}, {MilliCPU: 3152, GPUs: 1, MilliGPU: 1000, Count: 470},
		{MilliCPU: 11908, GPUs: 1, MilliGPU: 470, Count: 388}, {MilliCPU: 12500, Count: 366},
		{MilliCPU: 8000, GPUs: 1, MilliGPU: 470, Count: 360}, {MilliCPU: 32000, Count: 290},
		{MilliCPU: 11908, GPUs: 1, MilliGPU: 650, Count: 237}, {MilliCPU: 4000, GPUs: 1, MilliGPU: 320, Count: 232},
		{MilliCPU: 88000, GPUs: 8, MilliGPU: 1000, Count: 44},
	}, 100)
}

// BenchmarkFGD runs a cluster in steady state near full: each step ends the
// oldest task and places the next.
func BenchmarkFGD(b *testing.B) {
	for _, policy := range []Policy{FGD, FillUp} {
		for _, nodes := range []int{1213, 10_000} {
			b.Run(fmt.Sprintf("policy=%v/nodes=%d", policy, nodes), func(b *testing.B) {
				p, classes, views := studyPool(b, nodes)
				w := studyWorkload()
				pl := NewPlacer(p, policy, w, 1)
				rnd := rand.New(rand.NewPCG(5, 6))
				draw := func() ClassID {
					k := rnd.Int64N(w.total)
					for i := range w.shapes {
						if k -= w.shapes[i].Count; k < 0 {
							return classes[i]
						}
					}
					return classes[0]
				}
				type job struct {
					node int32
					g    Grant
				}
				jobs := make([]job, nodes*5)
				at := 0
				step := func() {
					j := &jobs[at]
					at = (at + 1) % len(jobs)
					if len(j.g.Devices) > 0 || j.g.MilliCPU > 0 {
						p.Give(j.node, &j.g)
					}
					if j.node = pl.Place(draw(), PassAny, views, nil, &j.g); j.node >= 0 {
						p.Take(j.node, &j.g)
					} else {
						j.g.Reset(0)
					}
					p.Forget()
				}
				for range len(jobs) * 3 / 2 {
					step()
				}
				b.ReportAllocs()
				for b.Loop() {
					step()
				}
				_, free := pl.Fragmented()
				b.ReportMetric(float64(free)/1000, "free-GPUs")
			})
		}
	}
}
