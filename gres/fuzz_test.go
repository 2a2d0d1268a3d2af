package gres

import (
	"errors"
	"slices"
	"testing"
)

// FuzzParseTRES: what is read can be written and read again, and an error
// points into the text.
func FuzzParseTRES(f *testing.F) {
	for _, s := range []string{"", "cpu=16,mem=32G,gres/gpu=2", "mem-=8G,gres/gpu+=2", "cpu=-1", "1=4,1001=2", "cpu=4,", "gres/gpu:h100=18446744073709551600", "mem=2048K"} {
		f.Add(s)
	}
	s, err := NewSchema("gres/gpu", "gres/gpu:h100", "license/matlab", "bb/cray")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, w := s.NewVector(), s.NewVector()
		if err := ParseTRES(s, v, text); err != nil {
			pe, ok := errors.AsType[*ParseError](err)
			if !ok || pe.Offset < 0 || pe.Offset > len(text) || pe.Text != text || !v.IsZero() {
				t.Fatalf("ParseTRES(%q) = %#v with %v", text, err, v)
			}
			return
		}
		out := string(AppendTRES(nil, s, v))
		if err := ParseTRES(s, w, out); err != nil || !slices.Equal(v, w) {
			t.Fatalf("ParseTRES(%q) = %v; written %q, read %v, %v", text, v, out, w, err)
		}
	})
}

// FuzzParseCount: a count shown and read again is the same count.
func FuzzParseCount(f *testing.F) {
	for _, s := range []string{"4K", "4kb", "1kib", "10g", "x", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseCount(text)
		if err != nil {
			pe, ok := errors.AsType[*ParseError](err)
			if !ok || pe.Offset < 0 || pe.Offset > len(text) {
				t.Fatalf("ParseCount(%q) = %#v", text, err)
			}
			return
		}
		out := string(AppendCount(nil, n))
		if m, err := ParseCount(out); err != nil || m != n {
			t.Fatalf("ParseCount(%q) = %d; shown %q, read %d, %v", text, n, out, m, err)
		}
	})
}
