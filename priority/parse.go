package priority

import (
	"math"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/gres"
)

// ParseWeights appends to dst the weights of text for the kinds of s, one for
// each kind, 0 where text has none: "CPU=1000,Mem=2000,GRES/gpu=3000". Names
// are read without regard to case; weights are decimal and may be negative.
// Of a kind named twice the last weight counts. Billing is no factor. It
// returns dst as it came with a [*ParseError].
//
// Source: slurm.conf(5), PriorityWeightTRES.
func ParseWeights(dst []float64, s *gres.Schema, text string) ([]float64, error) {
	return parseWeights(dst, s, text, false)
}

// parseWeights reads a list of weights; billing allows suffixes and passes over
// a weight of billing.
func parseWeights(dst []float64, s *gres.Schema, text string, billing bool) ([]float64, error) {
	start := len(dst)
	out := dst
	for range s.Len() {
		out = append(out, 0)
	}
	for at := 0; at < len(text); {
		item, _, _ := strings.Cut(text[at:], ",")
		name, number, found := strings.Cut(item, "=")
		if !found {
			return dst, &ParseError{text, at + len(item), gres.ErrSyntax}
		}
		k, ok := s.Kind(name)
		if !ok || !billing && k == gres.Billing {
			return dst, &ParseError{text, at, gres.ErrUnknownKind}
		}
		shift := 0
		if n := len(number); billing && n > 0 {
			if steps := suffixSteps(number[n-1]); steps > 0 {
				number = number[:n-1]
				shift = 10 * max(0, steps-baseSteps(s, k))
			}
		}
		w, err := parseNumber(number)
		if err != nil {
			return dst, &ParseError{text, at + len(name) + 1, err}
		}
		if k != gres.Billing {
			out[start+int(k)] = math.Ldexp(w, -shift)
		}
		if at += len(item); at < len(text) {
			if at++; at == len(text) {
				return dst, &ParseError{text, at, gres.ErrSyntax}
			}
		}
	}
	return out, nil
}

// suffixSteps is how often 1024 stands in a suffix; 0 is no suffix.
func suffixSteps(c byte) int {
	return 1 + strings.IndexByte("kmgtp", c|0x20)
}

// baseSteps is the same of the unit in which k is counted: MiB for memory and
// burst buffers, pieces for all else.
func baseSteps(s *gres.Schema, k gres.Kind) int {
	if k == gres.Mem || strings.HasPrefix(strings.ToLower(s.Name(k)), "bb/") {
		return 2
	}
	return 0
}

// parseNumber reads a decimal number.
func parseNumber(text string) (float64, error) {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, gres.ErrSyntax
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsInf(f, 0):
		return 0, gres.ErrRange
	case err != nil:
		return 0, gres.ErrSyntax
	}
	return f, nil
}

// AppendWeights appends weights, one for each kind of s, as [ParseWeights] and
// [ParseBilling] read them: those that are not 0, in the order of the schema.
func AppendWeights(dst []byte, s *gres.Schema, weights []float64) []byte {
	start := len(dst)
	for k, w := range weights {
		if w == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, s.Name(gres.Kind(k))...)
		dst = append(dst, '=')
		dst = strconv.AppendFloat(dst, w, 'g', -1, 64)
	}
	return dst
}
