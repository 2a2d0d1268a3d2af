package gres

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// shareJob places a job of n tasks on a node of a FORCE partition: on idle
// cores if it fits, else in the first row where it does.
func shareJob(t *testing.T, s *Shape, row []uint64, rows *CoreRows, n int32) string {
	t.Helper()
	var sc Scratch
	r := Request{Tasks: n, TasksKnown: Given, CPUsPerTask: 1, MinCPUs: n, NodeCPUs: 1, MinNodes: 1, MaxNodes: 1,
		Mem: MemPerNode, MemMiB: 1, Flags: ConsumeMem | SharesCores}
	try := func(cores []uint64, place int) bool {
		g := &Grant{}
		if why, sel := give(NodeRow{Shape: s, Row: row, Cores: cores}, &r, &sc, g); why != RefuseNone || sel != RefuseNone {
			return false
		}
		s.Take(row, g)
		for place < 0 {
			for i := range rows.Len() {
				if !slices.ContainsFunc(setBits(g.Cores), func(k int) bool { return hasBit(rows.Cores(i, 0), k) }) {
					place = i
					break
				}
			}
		}
		rows.Add(place, 0, g.Cores)
		s.SetUsedCores(row, rows.UnionTo(nil, 0))
		t.Log(place, string(s.AppendCPUIDs(nil, g.Cores)))
		return true
	}
	before := slices.Clone(s.UsedCores(row))
	if try(nil, -1) {
		return diffIDs(s, before, row)
	}
	for _, i := range slices.Clone(rows.Order()) {
		held := slices.Clone(rows.Cores(i, 0))
		if try(rows.Cores(i, 0), i) {
			now := rows.Cores(i, 0)
			for w := range held {
				held[w] = now[w] &^ held[w]
			}
			return string(s.AppendCPUIDs(nil, held))
		}
	}
	return "waits"
}

func diffIDs(s *Shape, before, row []uint64) string {
	d := slices.Clone(s.UsedCores(row))
	for w := range d {
		d[w] &^= before[w]
	}
	return string(s.AppendCPUIDs(nil, d))
}

// spec/cores.md, case 36, without the job that needs a second node.
func TestForcedSharingFillsIdleCoresThenRows(t *testing.T) {
	s, err := NewShape(ShapeConfig{Sockets: 2, CoresPerSocket: 2, MemMiB: 100})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]uint64, s.RowLen())
	rows := NewCoreRows(2, []int{s.CoreWords()})
	var got []string
	for _, n := range []int32{2, 1, 1, 1, 1, 2, 1} {
		got = append(got, shareJob(t, s, row, rows, n))
	}
	if d := cmp.Diff("0,2 1 3 0 1 2-3 waits", strings.Join(got, " ")); d != "" {
		t.Errorf("mismatch (-want +got):\n%s", d)
	}
}

func TestRepackLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "rows")
		r := NewCoreRows(n, []int{1, 1})
		var jobs []RowJob
		for range rapid.IntRange(0, 12).Draw(t, "jobs") {
			row := rapid.IntRange(0, n-1).Draw(t, "row")
			j := RowJob{Row: row}
			for node := range 2 {
				if c := rapid.Uint64Range(0, 255).Draw(t, "cores") &^ r.Cores(row, node)[0]; c != 0 {
					j.Nodes, j.Cores = append(j.Nodes, node), append(j.Cores, []uint64{c})
					r.Add(row, node, []uint64{c})
				}
			}
			if len(j.Nodes) > 0 {
				jobs = append(jobs, j)
			}
		}
		union := [2]uint64{r.UnionTo(nil, 0)[0], r.UnionTo(nil, 1)[0]}
		if len(jobs) > 0 && rapid.Bool().Draw(t, "end one") {
			j := jobs[len(jobs)-1]
			for k, node := range j.Nodes {
				r.Remove(j.Row, node, j.Cores[k])
			}
			jobs = jobs[:len(jobs)-1]
			union = [2]uint64{r.UnionTo(nil, 0)[0], r.UnionTo(nil, 1)[0]}
		}
		r.Repack(jobs)
		for node := range 2 {
			if got := r.UnionTo(nil, node)[0]; got != union[node] {
				t.Fatalf("node %d: union %b, want %b", node, got, union[node])
			}
		}
		for i := range jobs {
			for k, node := range jobs[i].Nodes {
				c := jobs[i].Cores[k][0]
				if r.Cores(jobs[i].Row, node)[0]&c != c {
					t.Fatalf("job %d is not in its row", i)
				}
				for o := range jobs[:i] {
					if x := slices.Index(jobs[o].Nodes, node); x >= 0 && jobs[o].Row == jobs[i].Row && jobs[o].Cores[x][0]&c != 0 {
						t.Fatalf("jobs %d and %d share cores in a row", o, i)
					}
				}
			}
		}
	})
}

func TestPackedSharesKeepDevicesWhole(t *testing.T) {
	c := oracleCluster(t, "ps")
	c.params.PackShared = true
	var got []string
	for _, n := range []string{"1", "3", "2", "1"} {
		a, _ := c.submit(strings.Fields("-N1 -n1 --gres=shard:" + n))
		got = append(got, a.nodes["s"])
	}
	for i, g := range got {
		got[i] = g[strings.LastIndex(g, "(")+1 : len(g)-1]
	}
	if d := cmp.Diff("1/5,0/5,0/5,0/5 0/5,0/5,3/5,0/5 2/5,0/5,0/5,0/5 0/5,0/5,1/5,0/5", strings.Join(got, " ")); d != "" {
		t.Errorf("mismatch (-want +got):\n%s", d)
	}
}

func TestExplainGivesNumbers(t *testing.T) {
	for _, k := range []struct{ line, want string }{
		{"-N1 --gres=gpu:5", "NotEnough devices 5 of 4"},
		{"-N1 -n17", "Cores CPUs 17 of 16"},
		{"-N1 --mem=20000", "Memory MiB 20000 of 16000"},
		{"-N1 --gres=gpu:x:1", "WrongType devices 1 of 0"},
		{"-N1 --gres=gpu:1 --cpus-per-gpu=17", "CPUPerGPU CPUs 17 of 16"},
	} {
		c := oracleCluster(t, "pc")
		a, err := parseArgs(strings.Fields(k.line))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Derive(&a.Options, &c.params, c.tab)
		if err != nil {
			t.Fatal(err)
		}
		var s Scratch
		n := c.view(0, c.rows)
		f := Evaluate(n, &r, PassAny, 1, &s)
		e := Explain(n, &r, f.Refusal, &s)
		unit := [...]string{"", "devices", "CPUs", "MiB", "sockets"}[e.Unit]
		got := f.Refusal.String() + " " + unit + " " + fmt.Sprint(e.Asked, " of ", e.Found)
		if got != k.want {
			t.Errorf("%s: %s, want %s", k.line, got, k.want)
		}
	}
}
