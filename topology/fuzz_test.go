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

func FuzzHostExpr(f *testing.F) {
	for _, s := range []string{"block{b0},n[1-2]", "switchwith{n3}", "feature{x} n0", "ring{b[0-1]}x", "block{b0", "rack{b0}"} {
		f.Add(s)
	}
	ts := fuzzTopologies(f)
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := ts.AppendHostExpr(nil, text, nil)
		if err != nil && len(ids) > 0 {
			t.Fatalf("AppendHostExpr(%q) = %v, %v", text, ids, err)
		}
		for _, id := range ids {
			if int(id) >= ts.Names().Len() || id < 0 {
				t.Fatalf("AppendHostExpr(%q) has node %d", text, id)
			}
		}
	})
}

func FuzzMembership(f *testing.F) {
	for _, s := range []string{"t:top:m:s9,b:b1", "r:ra:0", "x:pod:1:0:0", "", "b:b0,b:b1", "t:s0:s1", "r:rz:0"} {
		f.Add(s, 2)
	}
	ts := fuzzTopologies(f)
	f.Fuzz(func(t *testing.T, attr string, node int) {
		id := NodeID(uint(node) % uint(ts.Names().Len()))
		next, _, err := ts.WithNode(id, attr)
		if err != nil {
			return
		}
		// Taking it out and putting it in again gives the same.
		out, _, err := next.WithNode(id, "")
		if err != nil {
			t.Fatalf("WithNode(%d, \"\"): %v", id, err)
		}
		for i := range out.Len() {
			if u := out.At(i).UnitOf(id); u != NoUnit {
				t.Fatalf("node %d is still in unit %d of topology %d", id, u, i)
			}
			for n := range ts.Names().Len() {
				if NodeID(n) != id && out.At(i).unitName(out.At(i).UnitOf(NodeID(n))) != ts.At(i).unitName(ts.At(i).UnitOf(NodeID(n))) {
					t.Fatalf("WithNode(%d, %q) moved node %d", id, attr, n)
				}
			}
		}
	})
}

func fuzzTopologies(f *testing.F) *Topologies {
	hosts, _ := ParseHostlist("n[0-11]")
	names, _ := NewNames(hosts)
	ts, problems := NewTopologies([]Spec{
		{Name: "b", Block: &BlockSpec{Sizes: []int64{2, 4}, Blocks: []UnitSpec{{Name: "b0", Nodes: "n[0-1]"}, {Name: "b1", Nodes: "n[2-3]"}, {Name: "b2"}}}},
		{Name: "t", Tree: &TreeSpec{Switches: []SwitchSpec{{Name: "s0", Nodes: "n[0-3]"}, {Name: "s1", Nodes: "n[4-7]"}, {Name: "top", Children: "s[0-1]"}}}},
		{Name: "r", Ring: &RingSpec{Rings: []UnitSpec{{Name: "ra", Nodes: "n[0-7]"}, {Name: "rb", Nodes: "n11,n[8-9]"}}}},
		{Name: "x", Torus: &TorusSpec{Toruses: []TorusUnitSpec{{Name: "pod", Dims: Coord{2, 2, 1}, Nodes: "n[0-2],-", Placements: []PlacementSpec{{Dims: Coord{2, 1, 1}}}}}}},
	}, names)
	if err := problems.Err(); err != nil {
		f.Fatal(err)
	}
	return ts
}

func FuzzSwitchWait(f *testing.F) {
	for _, s := range []string{"10", "0:09", "1:02:03", "2-03", "2-03:04", "2-03:04:05", "-", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseSwitchWait(text); err == nil && d < 0 {
			t.Fatalf("ParseSwitchWait(%q) = %v", text, d)
		}
	})
}
