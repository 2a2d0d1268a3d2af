package gres

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// filledPool returns a pool of nodes with 8 GPUs and 128 cores, one view of
// all nodes, and a class for ask GPUs. fill is the share of nodes taken by
// 8-GPU jobs, or "last": all but the last node.
func filledPool(b testing.TB, nodes int, fill string, ask int64) (*Pool, ClassID, []ViewID) {
	p := uniformPool(b, nodes, gpuShape(b, 128, 8, 0, 1<<20))
	views := []ViewID{p.AddView(allWords(nodes))}
	full, c := p.AddClass(gpuRequest(8)), p.AddClass(gpuRequest(ask))
	rnd := rand.New(rand.NewPCG(1, 2))
	var g Grant
	if p.PlaceOne(full, PassNear, views, nil, &g) != 0 && fill != "0" {
		b.Fatal("no idle node")
	}
	for n := range nodes {
		switch fill {
		case "0.95":
			if rnd.IntN(100) < 95 && n != nodes-1 {
				p.Take(int32(n), &g)
			}
		case "last":
			if n != nodes-1 {
				p.Take(int32(n), &g)
			}
		}
	}
	p.Forget()
	return p, c, views
}

// BenchmarkPlace places a job on one node, books it, and gives it back.
func BenchmarkPlace(b *testing.B) {
	for _, nodes := range []int{1000, 10_000, 125_000} {
		for _, fill := range []string{"0", "0.95", "last"} {
			for _, ask := range []int64{1, 8} {
				b.Run(fmt.Sprintf("nodes=%d/fill=%s/ask=%d", nodes, fill, ask), func(b *testing.B) {
					p, c, views := filledPool(b, nodes, fill, ask)
					var g Grant
					b.ReportAllocs()
					for b.Loop() {
						n := p.PlaceOne(c, PassNear, views, nil, &g)
						if n < 0 {
							b.Fatal("does not fit")
						}
						p.Take(n, &g)
						p.Forget()
						p.Give(n, &g)
						p.Forget()
					}
				})
			}
		}
	}
}

// BenchmarkColumn fills a capacity column over a cluster of so many different
// states.
func BenchmarkColumn(b *testing.B) {
	for _, nodes := range []int{10_000, 125_000} {
		for _, states := range []int{100, 5000} {
			b.Run(fmt.Sprintf("nodes=%d/states=%d", nodes, states), func(b *testing.B) {
				p := uniformPool(b, nodes, gpuShape(b, 128, 8, 0, 1<<20))
				rnd := rand.New(rand.NewPCG(3, 4))
				for n := range nodes {
					g := Grant{Cores: make([]uint64, 2), MemMiB: int64(rnd.IntN(states))}
					p.Take(int32(n), &g)
					p.Forget()
				}
				c := p.AddClass(gpuRequest(2))
				var cols Columns
				cols.Size(nodes)
				b.ReportAllocs()
				for b.Loop() {
					p.Fill(&cols, c, PassAny, 4, nil)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
			})
		}
	}
}

// BenchmarkChurn ends a random job and places another, of one to eight GPUs,
// on a cluster that is nearly full: what a memory of states is worth when
// nodes are used in many ways.
func BenchmarkChurn(b *testing.B) {
	for _, nodes := range []int{1000, 10_000, 125_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			p := uniformPool(b, nodes, gpuShape(b, 128, 8, 0, 1<<20))
			views := []ViewID{p.AddView(allWords(nodes))}
			var classes []ClassID
			for _, ask := range []int64{1, 1, 1, 2, 4, 8} {
				classes = append(classes, p.AddClass(gpuRequest(ask)))
			}
			type job struct {
				node int32
				g    Grant
			}
			var jobs []job
			rnd := rand.New(rand.NewPCG(7, 8))
			for {
				var j job
				if j.node = p.PlaceOne(classes[rnd.IntN(len(classes))], PassNear, views, nil, &j.g); j.node < 0 {
					break
				}
				p.Take(j.node, &j.g)
				p.Forget()
				jobs = append(jobs, j)
			}
			b.ReportAllocs()
			placed := 0
			for b.Loop() {
				j := &jobs[rnd.IntN(len(jobs))]
				if j.node >= 0 {
					p.Give(j.node, &j.g)
				}
				j.node = p.PlaceOne(classes[rnd.IntN(len(classes))], PassNear, views, nil, &j.g)
				if j.node >= 0 {
					p.Take(j.node, &j.g)
					placed++
				}
				p.Forget()
			}
			b.ReportMetric(float64(placed)/float64(b.N), "placed/op")
		})
	}
}
