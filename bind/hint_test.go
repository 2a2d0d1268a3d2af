package bind

import (
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestHints(t *testing.T) {
	m := testMachine(2, 1, 8, []int32{0, 0, 1, 1}, nvswitch(4), 0, nil)
	w := mustWiring(t, m)
	for _, c := range []struct {
		free uint64
		n    int
		want []Hint
	}{
		{0xf, 1, []Hint{{1, true}, {2, true}, {3, false}}},
		{0xf, 3, []Hint{{3, true}}},
		{0xe, 2, []Hint{{2, true}, {3, false}}},
		{0x5, 2, []Hint{{3, false}}},
		{0x1, 2, nil},
		{0xf, 0, nil},
	} {
		if got := w.AppendGPUHints(nil, c.free, c.n); cmp.Diff(got, c.want) != "" {
			t.Errorf("AppendGPUHints(%b, %d) = %v, want %v", c.free, c.n, got, c.want)
		}
	}
	if got, want := w.AppendCPUHints(nil, []uint64{0xff0f}, 5), []Hint{{2, true}, {3, false}}; cmp.Diff(got, want) != "" {
		t.Errorf("AppendCPUHints = %v, want %v", got, want)
	}
}

// TestMergeHints shows a container that wants two GPUs and six CPUs: the GPUs
// are on node 1, the CPUs on either, or on both only.
func TestMergeHints(t *testing.T) {
	gpus := []Hint{{2, true}, {3, false}}
	cpus := []Hint{{1, true}, {2, true}, {3, false}}
	far := []Hint{{1, true}, {3, false}}
	for _, c := range []struct {
		name   string
		policy HintPolicy
		in     [][]Hint
		want   Hint
		admit  bool
	}{
		{"aligned", HintSingleNode, [][]Hint{gpus, cpus}, Hint{2, true}, true},
		{"aligned, restricted", HintRestricted, [][]Hint{gpus, cpus}, Hint{2, true}, true},
		{"apart, best effort", HintBestEffort, [][]Hint{gpus, far}, Hint{1, false}, true},
		{"apart, restricted", HintRestricted, [][]Hint{gpus, far}, Hint{1, false}, false},
		{"apart, single node", HintSingleNode, [][]Hint{gpus, far}, Hint{0, false}, false},
		{"no hint possible", HintBestEffort, [][]Hint{gpus, {}}, Hint{2, false}, true},
		{"no hint possible, restricted", HintRestricted, [][]Hint{gpus, {}}, Hint{2, false}, false},
		{"nobody cares", HintSingleNode, [][]Hint{nil, nil}, Hint{0, true}, true},
		{"none", HintNone, [][]Hint{gpus, {}}, Hint{0, true}, true},
		{"all nodes preferred", HintRestricted, [][]Hint{{{3, true}}}, Hint{0, true}, true},
	} {
		got, admit := MergeHints(c.policy, 2, c.in)
		if got != c.want || admit != c.admit {
			t.Errorf("%s: %v %v, want %v %v", c.name, got, admit, c.want, c.admit)
		}
	}
}

// TestMergeHintsIsCrossProduct compares with the plain product of all choices.
func TestMergeHintsIsCrossProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		hint := rapid.Custom(func(t *rapid.T) Hint {
			return Hint{rapid.Uint64Range(1, 1<<nodes-1).Draw(t, "set"), rapid.Bool().Draw(t, "preferred")}
		})
		in := rapid.SliceOfN(rapid.SliceOfN(hint, 1, 4), 0, 3).Draw(t, "providers")
		best := Hint{Nodes: 1<<nodes - 1}
		found := false
		var rec func(i int, h Hint)
		rec = func(i int, h Hint) {
			if i < len(in) {
				for _, x := range in[i] {
					rec(i+1, Hint{h.Nodes & x.Nodes, h.Preferred && x.Preferred})
				}
				return
			}
			if h.Nodes == 0 {
				return
			}
			a, b := bits.OnesCount64(h.Nodes), bits.OnesCount64(best.Nodes)
			if !found || h.Preferred && !best.Preferred || h.Preferred == best.Preferred && (a < b || a == b && h.Nodes < best.Nodes) {
				best, found = h, true
			}
		}
		rec(0, Hint{1<<nodes - 1, true})
		if best.Nodes == 1<<nodes-1 {
			best.Nodes = 0
		}
		if got, _ := MergeHints(HintBestEffort, nodes, in); got != best {
			t.Fatalf("MergeHints(%v) = %v, want %v", in, got, best)
		}
	})
}

// TestSolveForContainer serves a container after its hints: two GPUs and six
// CPUs on the node that the merged hint names.
func TestSolveForContainer(t *testing.T) {
	m := testMachine(2, 1, 8, []int32{0, 0, 1, 1}, nvswitch(4), 0, nil)
	w := mustWiring(t, m)
	freeGPUs, freeCPUs := uint64(0xe), []uint64{0xff3f}
	h, ok := MergeHints(HintSingleNode, 2, [][]Hint{w.AppendGPUHints(nil, freeGPUs, 2), w.AppendCPUHints(nil, freeCPUs, 6)})
	if !ok || h.Nodes != 2 {
		t.Fatalf("MergeHints = %v %v, want node 1", h, ok)
	}
	var s Solver
	var sol Solution
	lack := s.Solve(&sol, w, &SolveRequest{GPUs: 2, Tasks: 1, CPUsPerTask: 6, FreeGPUs: freeGPUs, FreeCPUs: freeCPUs, Nodes: h.Nodes})
	if lack != LackNothing || sol.GPUs != 0xc || sol.CPUs(0)[0] != 0x3f00 || sol.MemoryNodes(0) != 2 {
		t.Errorf("Solve = %v: GPUs %b CPUs %x memory %b", lack, sol.GPUs, sol.CPUs(0), sol.MemoryNodes(0))
	}
}

// TestCommonRails is case 42 of specification bind.md, and what happens
// without a common set.
func TestCommonRails(t *testing.T) {
	w := mustWiring(t, benchMachine(8))
	node := func(free uint64) RailNode {
		return RailNode{w, SolveRequest{GPUs: 2, FreeGPUs: free, FreeNICs: 0xff}}
	}
	var s Solver
	dst := make([]Solution, 2)
	rails, common, lack := s.CommonRails(dst, []RailNode{node(1<<0 | 1<<1 | 1<<5), node(1<<1 | 1<<4 | 1<<5)})
	if lack != LackNothing || !common || rails != 1<<1|1<<5 || dst[0].GPUs != rails || dst[1].GPUs != rails {
		t.Errorf("CommonRails = %b %v %v, GPUs %b %b, want rails 1 and 5 on both", rails, common, lack, dst[0].GPUs, dst[1].GPUs)
	}
	rails, common, lack = s.CommonRails(dst, []RailNode{node(0x0f), node(0xf0)})
	if lack != LackNothing || common || dst[0].GPUs != 0x3 || dst[1].GPUs != 0x30 {
		t.Errorf("CommonRails = %b %v %v, GPUs %b %b, want none in common", rails, common, lack, dst[0].GPUs, dst[1].GPUs)
	}
	if _, _, lack = s.CommonRails(dst, []RailNode{node(0x0f), node(0x1)}); lack != LackGPUs {
		t.Errorf("CommonRails of one GPU = %v, want %v", lack, LackGPUs)
	}
}
