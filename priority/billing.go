package priority

import (
	"math"
	"strings"

	"github.com/berth-sched/berth/gres"
)

// Billing turns an allocation into points a second. Weights belong to a
// partition: a job is billed by those of the partition it runs in. Make it
// with [NewBilling] or [ParseBilling].
//
// Source: spec priority 5.1; slurm.conf(5), TRESBillingWeights.
type Billing struct {
	weights []float64
	class   []billClass
	flags   Flags
}

// billClass is how a kind enters the maximum.
type billClass uint8

const (
	billRest billClass = iota // always summed: licences, burst buffers, energy
	billNode                  // CPUs, memory, nodes
	billGRES                  // gres/NAME, typed or not
)

// NewBilling returns a Billing with one weight for each kind of s, per base
// unit (MiB for memory and burst buffers); nil is CPU=1, as in a partition that
// sets no weights. Of flags, [MaxTRES] and [MaxTRESGRES] count. weights is
// copied.
func NewBilling(s *gres.Schema, weights []float64, flags Flags) *Billing {
	b := &Billing{weights: make([]float64, s.Len()), class: make([]billClass, s.Len()), flags: flags}
	copy(b.weights, weights)
	if weights == nil {
		b.weights[gres.CPU] = 1
	}
	for k := range b.class {
		switch kind := gres.Kind(k); {
		case kind == gres.CPU || kind == gres.Mem || kind == gres.Node:
			b.class[k] = billNode
		case strings.HasPrefix(strings.ToLower(s.Name(kind)), "gres/"):
			b.class[k] = billGRES
		}
	}
	return b
}

// ParseBilling returns the Billing of text, "CPU=1.0,Mem=0.25G,GRES/gpu=32":
// a suffix K, M, G, T or P makes the weight one for so many base units. An
// empty text is CPU=1. A weight of billing itself is ignored. The error is a
// [*ParseError].
func ParseBilling(s *gres.Schema, text string, flags Flags) (*Billing, error) {
	if text == "" {
		return NewBilling(s, nil, flags), nil
	}
	w, err := parseWeights(make([]float64, 0, s.Len()), s, text, true)
	if err != nil {
		return nil, err
	}
	return NewBilling(s, w, flags), nil
}

// Weights are the weights, one for each kind. The slice is b's own and must not
// be changed.
func (b *Billing) Weights() []float64 { return b.weights }

// Points is what an allocation of counts, in the order of the schema, costs a
// second. A typed device counts under its type and under its plain name, so
// both weights apply. It panics if counts has more kinds than the schema.
func (b *Billing) Points(counts []int64) float64 {
	var sum, most float64
	for k, n := range counts {
		p := float64(float64(n) * b.weights[k])
		switch c := b.class[k]; {
		case c == billNode && b.flags&(MaxTRES|MaxTRESGRES) != 0,
			c == billGRES && b.flags&(MaxTRES|MaxTRESGRES) == MaxTRES:
			most = max(most, p)
		default:
			sum += p
		}
	}
	return sum + most
}

// WholePoints is points as limits and job records count them: cut to a whole
// number. Source: spec priority 5.1.
func WholePoints(points float64) int64 {
	switch {
	case points >= math.MaxInt64:
		return math.MaxInt64
	case points > 0:
		return int64(points)
	}
	return 0
}
