package priority

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// slowSum is a job's priority as the specification writes it, one factor after
// the other, from the raw columns.
func slowSum(cfg *Config, c *Cluster, j *Jobs, share []float64, i int, part, qos int32) uint32 {
	if j.Standing[i] == Held {
		return 0
	}
	if j.Standing[i] == Fixed {
		return j.Prev[i]
	}
	has := func(f Flags) bool { return cfg.Flags&f != 0 }
	normal := func(all []uint32, k int32, plain bool) float64 {
		most := uint32(0)
		for _, v := range all {
			most = max(most, v)
		}
		if k < 0 || most == 0 {
			return 0
		}
		if plain {
			return float64(all[k])
		}
		return float64(all[k]) / float64(most)
	}
	p := 0.0
	if s, most := math.Floor(j.Age[i].Seconds()), cfg.MaxAge.Seconds(); s > 0 {
		p += float64(cfg.Age) * math.Min(1, s/math.Trunc(most))
	}
	p += float64(cfg.Assoc) * normal(c.AssocPriority, j.Assoc[i], has(NoNormalAssoc))
	if j.Assoc[i] >= 0 {
		p += float64(cfg.FairShare) * share[j.Assoc[i]]
	}
	p += float64(cfg.JobSize) * slowSize(cfg, c, j, i)
	p += float64(cfg.Partition) * normal(c.PartitionFactor, part, has(NoNormalPart))
	p += float64(cfg.QOS) * normal(c.QOSPriority, qos, has(NoNormalQOS))
	tres := 0.0
	for k, w := range cfg.TRES {
		n, total := float64(j.TRES[i*c.Kinds+k]), float64(c.PartitionTRES[int(part)*c.Kinds+k])
		if has(NoNormalTRES) {
			tres += w * n
		} else if total > 0 {
			tres += w * (n / total)
		}
	}
	p += tres
	p += float64(j.Site[i])
	p -= float64(j.Nice[i])
	r := uint32(math.Max(1, math.Min(p, 4294967295)))
	if has(IncrOnly) && j.Prev[i] > r {
		r = j.Prev[i]
	}
	return r
}

func slowSize(cfg *Config, c *Cluster, j *Jobs, i int) float64 {
	n, cpus := float64(j.Nodes[i]), float64(j.CPUs[i])
	bigN, bigC := float64(c.Nodes), float64(c.CPUs)
	if bigN == 0 || bigC == 0 {
		return 0
	}
	var f float64
	if cfg.Flags&SmallRelativeToTime != 0 {
		limit := 4294967295.0
		if j.TimeLimit[i] != NoLimit {
			limit = math.Floor(j.TimeLimit[i].Minutes())
		}
		f = math.Max(n*bigC/bigN, cpus) / limit / bigC
		if cfg.FavorSmall {
			f = 1 - f
		}
	} else {
		s, t := n/bigN, cpus/bigC
		if cfg.FavorSmall {
			s, t = math.Max(0, bigN-n)/bigN, math.Max(0, bigC-cpus)/bigC
		}
		f = s
		if cpus != 0 {
			f = (s + t) / 2
		}
	}
	return math.Max(0, math.Min(1, f))
}

// TestMultifactorEqualsTwin: whole batches, single rows and pairs give what the
// formula gives, bit for bit.
func TestMultifactorEqualsTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg, c, j, share := drawJobs(rt)
		m := NewMultifactor(cfg, c)
		n := j.Len()
		got := make([]uint32, n)
		m.Rank(got, j, share)
		rows, again := make([]int32, n), make([]uint32, n)
		pairs := &Pairs{Job: rows, Partition: make([]int32, n), QOS: make([]int32, n)}
		for i := range rows {
			rows[i] = int32(n - 1 - i)
			pairs.Partition[i] = rapid.Int32Range(0, int32(len(c.PartitionFactor)-1)).Draw(rt, "pair")
			pairs.QOS[i] = rapid.Int32Range(-1, int32(len(c.QOSPriority)-1)).Draw(rt, "pair")
		}
		m.RankRows(again, j, share, rows)
		paired := make([]uint32, n)
		m.RankPairs(paired, j, share, pairs)
		var b Breakdown
		for i := range n {
			if want := slowSum(&cfg, c, j, share, i, j.Partition[i], j.QOS[i]); got[i] != want || again[n-1-i] != want {
				rt.Fatalf("row %d: Rank %d, RankRows %d, want %d", i, got[i], again[n-1-i], want)
			}
			if m.Breakdown(&b, j, share, i); b.Priority != got[i] {
				rt.Fatalf("row %d: Breakdown %d, Rank %d", i, b.Priority, got[i])
			}
			q := pairs.QOS[i]
			if q >= 0 && c.QOSPriority[q] == 0 && !cfg.OwnZeroQOS {
				q = j.QOS[rows[i]]
			}
			if want := slowSum(&cfg, c, j, share, int(rows[i]), pairs.Partition[i], q); paired[i] != want {
				rt.Fatalf("pair %d: %d, want %d", i, paired[i], want)
			}
		}
		m.Rank(j.Prev, j, share)
		for i := range n {
			if j.Prev[i] != got[i] {
				rt.Fatalf("row %d: in place %d, want %d", i, j.Prev[i], got[i])
			}
		}
	})
}

func drawJobs(rt *rapid.T) (Config, *Cluster, *Jobs, []float64) {
	const kinds = 4
	weight := rapid.SampledFrom([]uint32{0, 1, 1000, 99999, math.MaxUint32})
	cfg := Config{
		Weights: Weights{Age: weight.Draw(rt, "age"), Assoc: weight.Draw(rt, "assoc"), FairShare: weight.Draw(rt, "share"),
			JobSize: weight.Draw(rt, "size"), Partition: weight.Draw(rt, "part"), QOS: weight.Draw(rt, "qos"),
			TRES: rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, -3.5, 1000}), 0, kinds).Draw(rt, "tres")},
		MaxAge: time.Duration(rapid.IntRange(1, 1e6).Draw(rt, "max age")) * time.Second, FavorSmall: rapid.Bool().Draw(rt, "small"),
		Flags: Flags(rapid.Uint32Range(0, uint32(SmallRelativeToTime)<<1-1).Draw(rt, "flags")), OwnZeroQOS: rapid.Bool().Draw(rt, "own"),
	}
	small := func(name string, n int) []uint32 {
		return rapid.SliceOfN(rapid.Uint32Range(0, 5), n, n).Draw(rt, name)
	}
	c := &Cluster{Nodes: rapid.Int64Range(0, 100).Draw(rt, "nodes"), CPUs: rapid.Int64Range(0, 5000).Draw(rt, "cpus"), Kinds: kinds,
		PartitionFactor: small("factors", 3), QOSPriority: small("qos", 4), AssocPriority: small("assocs", 5),
		PartitionTRES: rapid.SliceOfN(rapid.Int64Range(0, 1000), 3*kinds, 3*kinds).Draw(rt, "totals")}
	n := rapid.IntRange(1, 4).Draw(rt, "jobs")
	if rapid.IntRange(0, 19).Draw(rt, "many") == 0 {
		n = blockRows + 3
	}
	share := rapid.SliceOfN(rapid.Float64Range(0, 1), 5, 5).Draw(rt, "shares")
	j := &Jobs{}
	for range n {
		j.Partition = append(j.Partition, rapid.Int32Range(0, 2).Draw(rt, "partition"))
		j.QOS = append(j.QOS, rapid.Int32Range(-1, 3).Draw(rt, "qos"))
		j.Assoc = append(j.Assoc, rapid.Int32Range(-1, 4).Draw(rt, "assoc"))
		j.Age = append(j.Age, time.Duration(rapid.Int64Range(-1e12, 1e15).Draw(rt, "age")))
		j.Nodes = append(j.Nodes, rapid.Int32Range(0, 120).Draw(rt, "nodes"))
		j.CPUs = append(j.CPUs, rapid.Int32Range(0, 6000).Draw(rt, "cpus"))
		j.TimeLimit = append(j.TimeLimit, rapid.SampledFrom([]time.Duration{NoLimit, time.Minute, time.Hour, day + 1}).Draw(rt, "limit"))
		j.TRES = append(j.TRES, rapid.SliceOfN(rapid.Int64Range(0, 1000), kinds, kinds).Draw(rt, "tres")...)
		j.Nice = append(j.Nice, rapid.Int32Range(-2147483645, 2147483645).Draw(rt, "nice"))
		j.Site = append(j.Site, rapid.Int32Range(-5000, 5000).Draw(rt, "site"))
		j.Standing = append(j.Standing, Standing(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(rt, "standing")))
		j.Prev = append(j.Prev, rapid.Uint32().Draw(rt, "prev"))
	}
	return cfg, c, j, share
}
