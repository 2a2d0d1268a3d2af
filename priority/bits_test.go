package priority

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestBits hashes the bits of thousands of results and compares them with a
// file: they must be the same on every architecture.
func TestBits(t *testing.T) {
	datadriven.RunTest(t, "testdata/bits/hashes.txt", func(t *testing.T, d *datadriven.TestData) string {
		f, ok := bitSources[d.Cmd]
		if !ok {
			t.Fatalf("unknown source %q", d.Cmd)
		}
		h := fnv.New64a()
		n := 0
		f(rand.New(rand.NewPCG(7, 7)), func(v float64) {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
			h.Write(b[:])
			n++
		})
		return fmt.Sprintf("%016x of %d\n", h.Sum64(), n)
	})
}

var bitSources = map[string]func(r *rand.Rand, put func(float64)){
	"exp2": func(r *rand.Rand, put func(float64)) {
		for range 10000 {
			put(exp2((r.Float64() - .5) * 100))
		}
	},
	"log": func(r *rand.Rand, put func(float64)) {
		for range 10000 {
			put(log(math.Ldexp(1+r.Float64(), r.IntN(200)-100)))
		}
	},
	"decay": func(r *rand.Rand, put func(float64)) {
		for range 5000 {
			d := Decay{HalfLife: time.Duration(r.Int64N(int64(30 * day))), Exact: r.IntN(2) == 0}
			for range 2 {
				after := time.Duration(r.Int64N(int64(day)))
				put(d.Keep(after))
				put(d.Charge(r.Float64()*1000, after))
			}
		}
	},
	"books": func(r *rand.Rand, put func(float64)) {
		tree, usage := benchTree(500)
		d := Decay{HalfLife: DefaultHalfLife, Exact: true}
		c := &Charges{Assoc: make([]int32, 9), Points: make([]float64, 9), Factor: make([]float64, 9), For: make([]time.Duration, 9)}
		for range 50 {
			for i := range c.Assoc {
				c.Assoc[i], c.Points[i], c.Factor[i] = r.Int32N(int32(len(usage))), r.Float64()*100, r.Float64()*2
				c.For[i] = time.Duration(r.Int64N(3600e9))
			}
			d.Fade(usage, time.Duration(r.Int64N(3600e9)))
			d.Add(usage, tree.Parent, c)
		}
		putAll(put, usage)
	},
	"fairtree": func(_ *rand.Rand, put func(float64)) {
		tree, usage := benchTree(5000)
		dst := make([]float64, len(usage))
		for _, ties := range []TieMode{AsShipped, Documented} {
			f := NewFairTree(tree, ties)
			f.Rank(dst, usage)
			putAll(put, dst)
			f.LevelFS(dst, usage)
			putAll(put, dst)
		}
	},
	"classic": func(_ *rand.Rand, put func(float64)) {
		tree, usage := benchTree(5000)
		dst := make([]float64, len(usage))
		for _, oblivious := range []bool{false, true} {
			NewClassic(tree, 3, oblivious).Rank(dst, usage)
			putAll(put, dst)
		}
	},
	"sums": func(r *rand.Rand, put func(float64)) {
		cfg, c, j, share := benchJobs(5000)
		j.TimeLimit = make([]time.Duration, j.Len())
		for i := range j.TimeLimit {
			j.TimeLimit[i] = time.Duration(1+r.Int64N(9999)) * time.Minute
		}
		for _, flags := range []Flags{0, NoNormalAll, SmallRelativeToTime} {
			cfg.Flags, cfg.FavorSmall = flags, !cfg.FavorSmall
			m := NewMultifactor(cfg, c)
			var b Breakdown
			for i := range j.Len() {
				m.Breakdown(&b, j, share, i)
				put(b.Sum)
				for _, f := range b.TRES {
					put(f.Points)
				}
			}
		}
	},
}

func putAll(put func(float64), all []float64) {
	for _, v := range all {
		put(v)
	}
}
