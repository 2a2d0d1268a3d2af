package priority

import (
	"errors"
	"slices"
	"testing"
)

// FuzzParseWeights: no text panics, an error says where, and what was read is
// read again from what is written.
func FuzzParseWeights(f *testing.F) {
	for _, text := range []string{"", "CPU=1.0,Mem=0.25G,GRES/gpu=32", "billing=1,cpu=-1e-3P", "cpu=1,", "cpu", "=,=", "License/lic=.5k", "1001=2"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	s := testSchema(f)
	f.Fuzz(func(t *testing.T, text string, billing bool) {
		w, err := parseWeights(nil, s, text, billing)
		if err != nil {
			p, ok := errors.AsType[*ParseError](err)
			if !ok || p.Offset < 0 || p.Offset > len(text) || p.Text != text {
				t.Fatalf("parseWeights(%q): %#v", text, err)
			}
			return
		}
		again, err := parseWeights(nil, s, string(AppendWeights(nil, s, w)), false)
		if err != nil || !slices.Equal(w, again) {
			t.Fatalf("parseWeights(%q) = %v, again %v, %v", text, w, again, err)
		}
	})
}
