package priority

import (
	"testing"
	"time"
)

const day = 24 * time.Hour

// TestWorkedSums runs the worked cases of the specification's list.
func TestWorkedSums(t *testing.T) {
	one := Cluster{Nodes: 100, CPUs: 3200, PartitionFactor: []uint32{1}}
	half := func() Jobs {
		return Jobs{Partition: []int32{0}, Assoc: []int32{0}, Age: []time.Duration{2 * day}, Nodes: []int32{10}, CPUs: []int32{22}}
	}
	tests := []struct {
		name string
		cfg  Config
		c    Cluster
		j    func(j *Jobs)
		want uint32
	}{
		{"age, fair-share and size add up", Config{Weights: Weights{Age: 1000, FairShare: 2000, JobSize: 500}}, one, func(*Jobs) {}, 1812},
		{"nice is subtracted", Config{Weights: Weights{Age: 1000, FairShare: 2000, JobSize: 500}}, one, func(j *Jobs) { j.Nice = []int32{100} }, 1712},
		{"nobody gets below 1", Config{Weights: Weights{Age: 1000, FairShare: 2000, JobSize: 500}}, one, func(j *Jobs) { j.Nice = []int32{5000} }, 1},
		{"negative nice adds", Config{Weights: Weights{Age: 1000, FairShare: 2000, JobSize: 500}}, one, func(j *Jobs) { j.Nice = []int32{-100} }, 1912},
		{"no weights give 1", Config{}, one, func(*Jobs) {}, 1},
		{"the largest priority is the ceiling", Config{Weights: Weights{Age: Ceiling, FairShare: Ceiling}}, one, func(j *Jobs) { j.Age[0] = 9 * day }, Ceiling},
		{"a set priority stays", Config{Weights: Weights{Age: 1000}}, one, func(j *Jobs) {
			j.Standing, j.Prev, j.Nice = []Standing{Fixed}, []uint32{500}, []int32{1000}
		}, 500},
		{"a held job has none", Config{Weights: Weights{Age: 1000}}, one, func(j *Jobs) { j.Standing = []Standing{Held} }, 0},
		{"site is added", Config{}, one, func(j *Jobs) { j.Site = []int32{1500} }, 1500},
		{"site may be negative", Config{}, one, func(j *Jobs) { j.Site = []int32{-1500} }, 1},
		{"age stops at the most", Config{Weights: Weights{Age: 100}, MaxAge: 100 * time.Second}, one, func(j *Jobs) { j.Age[0] = 100 * time.Second }, 100},
		{"one second less", Config{Weights: Weights{Age: 100}, MaxAge: 100 * time.Second}, one, func(j *Jobs) { j.Age[0] = 100*time.Second - 1 }, 99},
		{"age in the future is none", Config{Weights: Weights{Age: 100}}, one, func(j *Jobs) { j.Age[0] = -day; j.Site = []int32{7} }, 7},
		{"incremental never lowers", Config{Flags: IncrOnly, Weights: Weights{Age: 7}}, one, func(j *Jobs) { j.Prev = []uint32{40} }, 40},
		{"no association, no share", Config{Weights: Weights{FairShare: 1000, Assoc: 10}}, one, func(j *Jobs) { j.Assoc[0] = -1 }, 1},
		{"partition factor", Config{Weights: Weights{Partition: 1000}}, Cluster{PartitionFactor: []uint32{10, 40}}, func(*Jobs) {}, 250},
		{"raw partition factor", Config{Weights: Weights{Partition: 1000}, Flags: NoNormalPart}, Cluster{PartitionFactor: []uint32{10, 40}}, func(*Jobs) {}, 10000},
		{"QOS factor", Config{Weights: Weights{QOS: 1000}}, Cluster{PartitionFactor: []uint32{1}, QOSPriority: []uint32{100, 25, 0}}, func(j *Jobs) { j.QOS = []int32{1} }, 250},
		{"all QOS 0", Config{Weights: Weights{QOS: 1000}, Flags: NoNormalAll}, Cluster{PartitionFactor: []uint32{1}, QOSPriority: []uint32{0, 0}}, func(j *Jobs) { j.QOS = []int32{1} }, 1},
		{"TRES", Config{Weights: Weights{TRES: []float64{1000, 0, 3000}}}, Cluster{PartitionFactor: []uint32{1}, Kinds: 3, PartitionTRES: []int64{512, 1, 64}},
			func(j *Jobs) { j.TRES = []int64{16, 1, 4} }, 218},
		{"TRES that the partition has not", Config{Weights: Weights{TRES: []float64{1000, 0, 3000}}}, Cluster{PartitionFactor: []uint32{1}, Kinds: 3, PartitionTRES: []int64{512, 1, 0}},
			func(j *Jobs) { j.TRES = []int64{16, 1, 4} }, 31},
		{"raw TRES, negative weight", Config{Weights: Weights{TRES: []float64{-1, 0, 3000}}, Flags: NoNormalTRES}, Cluster{PartitionFactor: []uint32{1}, Kinds: 3, PartitionTRES: []int64{512, 1, 0}},
			func(j *Jobs) { j.TRES = []int64{16, 1, 4} }, 11984},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := half()
			tt.j(&j)
			m := NewMultifactor(tt.cfg, &tt.c)
			share := []float64{.75}
			if tt.cfg.Age == Ceiling {
				share[0] = 1
			}
			var got [1]uint32
			m.Rank(got[:], &j, share)
			if got[0] != tt.want {
				t.Errorf("Rank = %d, want %d", got[0], tt.want)
			}
			var b Breakdown
			m.Breakdown(&b, &j, share, 0)
			if b.Priority != tt.want {
				t.Errorf("Breakdown.Priority = %d, want %d", b.Priority, tt.want)
			}
		})
	}
}

// TestJobSize runs the size cases of the specification's list.
func TestJobSize(t *testing.T) {
	big, eight := sizeRule{nodes: 100, cpus: 3200}, sizeRule{nodes: 8, cpus: 32}
	with := func(r sizeRule, small, timed bool) sizeRule { r.small, r.timed = small, timed; return r }
	tests := []struct {
		r     sizeRule
		n, c  int32
		limit time.Duration
		want  float64
	}{
		{big, 1, 8, 0, .00625},
		{with(big, true, false), 1, 8, 0, .99375},
		{big, 10, 320, 0, .1},
		{with(big, true, false), 10, 320, 0, .9},
		{big, 100, 3200, 0, 1},
		{with(big, true, false), 100, 3200, 0, 0},
		{big, 50, 0, 0, .5},
		{with(big, true, false), 50, 4000, 0, .25},
		{with(big, false, true), 10, 64, 600 * time.Minute, .000166667},
		{with(big, true, true), 10, 64, 600 * time.Minute, .999833333},
		{eight, 2, 8, 0, .25},
		{with(eight, true, false), 2, 8, 0, .75},
		{with(eight, false, true), 2, 8, time.Hour, .004166667},
		{with(eight, true, true), 2, 8, time.Hour, .995833333},
		{with(big, false, true), 100, 3200, NoLimit, 0},
		{with(big, true, true), 100, 3200, NoLimit, 1},
		{with(big, false, true), 100, 3200, 0, 1},
		{sizeRule{}, 1, 1, 0, 0},
	}
	for _, tt := range tests {
		if got := tt.r.factor(tt.n, tt.c, tt.limit); got < tt.want-1e-9 || got > tt.want+1e-9 {
			t.Errorf("%+v.factor(%d, %d, %v) = %v, want %v", tt.r, tt.n, tt.c, tt.limit, got, tt.want)
		}
	}
}

// TestPairs: one priority a pair; a QOS of priority 0 takes the headline's.
func TestPairs(t *testing.T) {
	c := Cluster{PartitionFactor: []uint32{10, 40}, QOSPriority: []uint32{0, 100, 50}}
	j := Jobs{Partition: []int32{1, 0}, QOS: []int32{0, 1}}
	p := Pairs{Job: []int32{1, 1, 1, 1}, Partition: []int32{0, 0, 1, 1}, QOS: []int32{0, 2, 1, -1}}
	cfg := Config{Weights: Weights{Partition: 1000, QOS: 1000}}
	for _, own := range []bool{false, true} {
		cfg.OwnZeroQOS = own
		want := [4]uint32{1250, 750, 2000, 1000}
		if own {
			want[0] = 250
		}
		m := NewMultifactor(cfg, &c)
		var got [4]uint32
		m.RankPairs(got[:], &j, nil, &p)
		if got != want {
			t.Errorf("RankPairs(own %v) = %v, want %v", own, got, want)
		}
		var b Breakdown
		for i := range p.Job {
			if m.PairBreakdown(&b, &j, nil, &p, i); b.Priority != want[i] {
				t.Errorf("PairBreakdown(own %v, %d).Priority = %d, want %d", own, i, b.Priority, want[i])
			}
		}
	}
}
