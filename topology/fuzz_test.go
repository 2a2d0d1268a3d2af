package topology

import (
	"slices"
	"testing"
)

func FuzzHostlist(f *testing.F) {
	for _, s := range []string{"n[008-11],n[9-11] login", "a[1-2]b[3-4]c[5-6]", "n[1-3]-ib,]x", "n[11-9]", "n[1", "[0-3]", "x[00000000000000000001]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := ParseHostlist(text)
		if err != nil {
			return
		}
		folded := string(AppendHostlist(nil, names))
		again, err := ParseHostlist(folded)
		if err != nil || !slices.Equal(names, again) {
			t.Fatalf("ParseHostlist(%q) folds to %q, which expands to other names, %v", text, folded, err)
		}
	})
}

func FuzzNodeCount(f *testing.F) {
	for _, s := range []string{"4", "4-8", "2k", "1-15:4", "2,4,8", "5-5:1", "1-3,8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseNodeCount(text)
		if err != nil {
			return
		}
		again, err := ParseNodeCount(string(AppendNodeCount(nil, c)))
		if err != nil || c.Min != again.Min || c.Max != again.Max || !slices.Equal(c.Sizes, again.Sizes) {
			t.Fatalf("ParseNodeCount(%q) = %v, appended and read again %v, %v", text, c, again, err)
		}
	})
}
