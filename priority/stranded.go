package priority

import (
	"math"
	"strings"

	"github.com/berth-sched/berth/gres"
)

// StrandedWeights appends to dst billing weights, one for each kind of s, under
// which a device costs what it strands: prices for CPUs, memory and whatever
// else has one, and for every GRES the share of its node's priced kinds that
// nobody can use once the device is gone, rounded up to a whole point. shapes
// are the counts of the kinds of nodes there are, each of schema length;
// prices are weights per base unit, of schema length.
//
// A device that some shapes strand more for is priced by the dearest. Typed and
// plain counts are billed both, so where the schema has gres/NAME beside
// gres/NAME:TYPE, the plain kind gets the least of its types and a type what
// it costs above that. A GRES that has a price keeps it.
//
// Billing a GPU so makes it indifferent whether a job takes all CPUs or all
// GPUs of a node. Use with the sum of weights, not with [MaxTRES].
func StrandedWeights(dst []float64, s *gres.Schema, shapes []gres.Vector, prices []float64) []float64 {
	start := len(dst)
	dst = append(dst, prices[:s.Len()]...)
	w := dst[start:]
	for k := range w {
		if w[k] == 0 && isGRES(s, k) {
			w[k] = stranded(s, shapes, prices, k)
		}
	}
	for k := range w {
		if least, ok := leastType(s, w, k); ok && prices[k] == 0 {
			w[k] = least
		}
	}
	for k := range w {
		if plain, ok := s.Untyped(gres.Kind(k)); ok && prices[k] == 0 {
			w[k] = max(w[k]-w[plain], 0)
		}
	}
	return dst
}

func isGRES(s *gres.Schema, k int) bool {
	return strings.HasPrefix(strings.ToLower(s.Name(gres.Kind(k))), "gres/")
}

// stranded is what one piece of kind k strands at most.
func stranded(s *gres.Schema, shapes []gres.Vector, prices []float64, k int) float64 {
	most := 0.0
	for _, shape := range shapes {
		if shape[k] <= 0 {
			continue
		}
		node := 0.0
		for i, p := range prices[:s.Len()] {
			if !isGRES(s, i) {
				node += float64(p * float64(shape[i]))
			}
		}
		most = max(most, node/float64(shape[k]))
	}
	return math.Ceil(most)
}

// leastType is the least weight above 0 of the types of plain kind k; ok is
// false if it has none.
func leastType(s *gres.Schema, w []float64, k int) (least float64, ok bool) {
	for i := range w {
		if plain, typed := s.Untyped(gres.Kind(i)); typed && int(plain) == k && w[i] > 0 && (!ok || w[i] < least) {
			least, ok = w[i], true
		}
	}
	return least, ok
}
