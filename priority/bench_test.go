package priority

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

// benchTree has the given number of users in about as many accounts as each has
// users, accounts two deep, in preorder, as the ledger gives its columns.
func benchTree(users int) (*Tree, []float64) {
	r := rand.New(rand.NewPCG(1, uint64(users)))
	accounts := max(2, int(math.Sqrt(float64(users))))
	groups := max(1, accounts/20)
	t := &Tree{Parent: []int32{-1}, User: []bool{false}, Shares: []uint32{1}}
	usage := []float64{0}
	add := func(parent int, user bool) int {
		t.Parent, t.User, t.Shares = append(t.Parent, int32(parent)), append(t.User, user), append(t.Shares, 1+r.Uint32N(100))
		usage = append(usage, 0)
		return len(usage) - 1
	}
	for g := range groups {
		group := add(0, false)
		for a := g; a < accounts; a += groups {
			account := add(group, false)
			for u := a; u < users; u += accounts {
				if row := add(account, true); r.IntN(10) > 0 {
					charge(t, usage, row, float64(r.Uint32N(1e7)))
				}
			}
		}
	}
	return t, usage
}

// scatter renumbers the rows of t at random: as columns that nobody ordered.
func scatter(t *Tree, usage []float64) (*Tree, []float64) {
	n := len(usage)
	at := rand.New(rand.NewPCG(8, 9)).Perm(n - 1)
	to := func(i int) int {
		if i == 0 {
			return 0
		}
		return at[i-1] + 1
	}
	out := &Tree{Parent: make([]int32, n), User: make([]bool, n), Shares: make([]uint32, n)}
	moved := make([]float64, n)
	for i, u := range usage {
		k := to(i)
		out.Parent[k], out.User[k], out.Shares[k], moved[k] = int32(to(max(int(t.Parent[i]), 0))), t.User[i], t.Shares[i], u
	}
	return out, moved
}

var treeSizes = []int{1000, 100000, 1000000}

func BenchmarkFairTree(b *testing.B) { benchRank(b, AsShipped, false) }

// BenchmarkFairTreeScattered has the rows in no order.
func BenchmarkFairTreeScattered(b *testing.B) { benchRank(b, AsShipped, true) }

func BenchmarkFairTreeDocumented(b *testing.B) { benchRank(b, Documented, false) }

func benchRank(b *testing.B, ties TieMode, scattered bool) {
	for _, n := range treeSizes {
		b.Run("users="+strconv.Itoa(n), func(b *testing.B) {
			t, usage := benchTree(n)
			if scattered {
				t, usage = scatter(t, usage)
			}
			f := NewFairTree(t, ties)
			dst := make([]float64, len(usage))
			b.ReportAllocs()
			for b.Loop() {
				f.Rank(dst, usage)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/user")
		})
	}
}

// BenchmarkFairTreeTwin sorts everything by comparison, level by level.
func BenchmarkFairTreeTwin(b *testing.B) {
	for _, n := range treeSizes {
		b.Run("users="+strconv.Itoa(n), func(b *testing.B) {
			t, usage := benchTree(n)
			dst := make([]float64, len(usage))
			b.ReportAllocs()
			for b.Loop() {
				sortEverything(dst, t, usage)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/user")
		})
	}
}

// sortEverything is Fair Tree with the arithmetic of doubles, as one would write
// it first: lists of children, and a sort of each.
func sortEverything(dst []float64, t *Tree, usage []float64) {
	children := make([][]int32, len(t.Parent))
	for r := 1; r < len(t.Parent); r++ {
		children[t.Parent[r]] = append(children[t.Parent[r]], int32(r))
	}
	fs := make([]float64, len(t.Parent))
	n := 0
	for r, c := range children {
		total := 0.0
		for _, k := range c {
			total += float64(t.Shares[k])
		}
		for _, k := range c {
			fs[k] = float64(t.Shares[k]) / total / (usage[k] / usage[r])
			if t.User[k] {
				n++
			}
		}
		slices.SortFunc(c, func(x, y int32) int {
			return cmp.Or(cmp.Compare(fs[y], fs[x]), cmp.Compare(x, y))
		})
	}
	next := n
	var walk func(r int32)
	walk = func(r int32) {
		for _, k := range children[r] {
			if t.User[k] {
				dst[k] = float64(next) / float64(n)
				next--
			} else {
				walk(k)
			}
		}
	}
	walk(0)
}

func BenchmarkFactorAfterUsage(b *testing.B) {
	for _, n := range treeSizes {
		b.Run("users="+strconv.Itoa(n), func(b *testing.B) {
			t, usage := benchTree(n)
			live := NewLiveTree(t, AsShipped, usage)
			r := rand.New(rand.NewPCG(2, 3))
			b.ReportAllocs()
			for b.Loop() {
				row := r.IntN(len(usage))
				for !t.User[row] {
					row = r.IntN(len(usage))
				}
				charge(t, usage, row, 3600)
				live.Update(usage, int32(row))
				live.Factor(int32(row))
			}
		})
	}
}

func benchJobs(n int) (Config, *Cluster, *Jobs, []float64) {
	const kinds, parts, assocs = 12, 20, 50000
	r := rand.New(rand.NewPCG(4, uint64(n)))
	cfg := Config{Weights: Weights{Age: 1000, Assoc: 500, FairShare: 100000, JobSize: 2000, Partition: 3000, QOS: 10000,
		TRES: []float64{0: 1000, 1: -200, 3: 300, 8: 3000}}}
	c := &Cluster{Nodes: 1000, CPUs: 128000, Kinds: kinds}
	for range parts {
		c.PartitionFactor = append(c.PartitionFactor, r.Uint32N(100))
		for range kinds {
			c.PartitionTRES = append(c.PartitionTRES, 1+r.Int64N(1e6))
		}
	}
	for range 10 {
		c.QOSPriority = append(c.QOSPriority, r.Uint32N(1000))
	}
	share := make([]float64, assocs)
	for i := range share {
		share[i] = r.Float64()
		c.AssocPriority = append(c.AssocPriority, r.Uint32N(100))
	}
	j := &Jobs{}
	for range n {
		j.Partition = append(j.Partition, r.Int32N(parts))
		j.QOS = append(j.QOS, r.Int32N(10))
		j.Assoc = append(j.Assoc, r.Int32N(assocs))
		j.Age = append(j.Age, time.Duration(r.Int64N(int64(10*day))))
		j.Nodes = append(j.Nodes, 1+r.Int32N(64))
		j.CPUs = append(j.CPUs, 1+r.Int32N(4096))
		j.Nice = append(j.Nice, r.Int32N(100))
		j.Site = append(j.Site, r.Int32N(100))
		for range kinds {
			j.TRES = append(j.TRES, r.Int64N(1000))
		}
	}
	return cfg, c, j, share
}

// BenchmarkMultifactor has all nine terms on, four of them TRES.
func BenchmarkMultifactor(b *testing.B) {
	for _, n := range []int{100000, 1000000} {
		b.Run("jobs="+strconv.Itoa(n), func(b *testing.B) {
			cfg, c, j, share := benchJobs(n)
			m := NewMultifactor(cfg, c)
			dst := make([]uint32, n)
			b.ReportAllocs()
			for b.Loop() {
				m.Rank(dst, j, share)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/job")
		})
	}
}
