package gres

import (
	"fmt"
	"strings"
	"testing"
)

// forms are the ways of asking that benchmarks and allocation tests go
// through, as command lines for a node of 2×8 cores with 8 linked GPUs.
var forms = []struct{ name, args string }{
	{"cpus", "-N1 -n4"},
	{"node", "-N1 -n4 --gres=gpu:4"},
	{"job", "-N1 -n4 --gpus=4"},
	{"task", "-N1 -n4 --gpus-per-task=1"},
	{"socket", "-N1 -n4 --gpus-per-socket=2 --sockets-per-node=2"},
	{"enforce", "-N1 -n4 --gres=gpu:4 --gres-flags=enforce-binding"},
	{"cpus-per-gpu", "-N1 --gpus=4 --cpus-per-gpu=2"},
	{"shard", "-N1 -n1 --gres=shard:6"},
	{"whole", "-N1 --exclusive"},
}

// formNode returns a node for the forms and the request of one.
func formNode(t testing.TB, line string, links LinkPolicy) (NodeRow, *Request) {
	t.Helper()
	tab := NewDeviceTable()
	n := oracleNode{name: "n", sock: []int{0, 0, 0, 0, 1, 1, 1, 1}, links: cube(), shards: []int64{8, 8, 8, 8, 8, 8, 8, 8}}
	s := n.shape(t, tab)
	a, err := parseArgs(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	p := Params{ConsumeMem: true, Links: links}
	p.Cluster.PerCPU = 100
	r, err := Derive(&a.Options, &p, tab)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]uint64, s.RowLen())
	g := Grant{Cores: []uint64{3}, Devices: []DeviceGrant{{Device: 0, Units: 1}}}
	if !r.Has(WholeNode) {
		s.Take(row, &g)
	}
	return NodeRow{Shape: s, Row: row}, &r
}

func TestEvaluateAndSelectDoNotAllocate(t *testing.T) {
	if checking {
		t.Skip("self-checks allocate")
	}
	for _, f := range forms {
		for _, links := range []LinkPolicy{LinkCompat, LinkBest} {
			n, r := formNode(t, f.args, links)
			var s Scratch
			grants, chosen := make([]Grant, 1), make([]Chosen, 1)
			run := func() {
				fit := Evaluate(n, r, PassNear, 1, &s)
				if fit.Refusal != RefuseNone {
					t.Fatalf("%s: refused: %v", f.name, fit.Refusal)
				}
				var tk Taking
				tk.Start(r)
				chosen[0] = Chosen{Node: n, Fit: fit}
				chosen[0].CPUs, chosen[0].Devices = tk.Take(n.Shape, r, &fit)
				if why := Select(grants, chosen, r, PassNear, 1, &s); why != RefuseNone {
					t.Fatalf("%s: not selected: %v", f.name, why)
				}
			}
			if got := testing.AllocsPerRun(50, run); got != 0 {
				t.Errorf("Evaluate and Select of form %s, links %d: %v allocs per run, want 0", f.name, links, got)
			}
		}
	}
}

func TestGrantTextDoesNotAllocate(t *testing.T) {
	if checking {
		t.Skip("self-checks allocate")
	}
	tab, s := hgx(t)
	g := Grant{Cores: make([]uint64, s.CoreWords())}
	devs, buf := make([]DeviceGrant, 0, 16), make([]byte, 0, 256)
	got := testing.AllocsPerRun(50, func() {
		var err error
		if err = s.ParseCPUIDs(g.Cores, "0-3,8"); err != nil {
			t.Fatal(err)
		}
		if g.Devices, err = s.ParseGRES(devs, tab, "gpu:h100:3(IDX:0-1,4),lic(CNT:2)"); err != nil {
			t.Fatal(err)
		}
		buf = s.AppendGRES(s.AppendCPUIDs(buf[:0], g.Cores), tab, &g)
	})
	if got != 0 {
		t.Errorf("reading and writing a grant: %v allocs per run, want 0", got)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	for _, f := range forms {
		b.Run("form="+f.name, func(b *testing.B) {
			n, r := formNode(b, f.args, LinkCompat)
			var s Scratch
			b.ReportAllocs()
			for b.Loop() {
				if fit := Evaluate(n, r, PassNear, 1, &s); fit.Refusal != RefuseNone {
					b.Fatal(fit.Refusal)
				}
			}
		})
	}
}

func BenchmarkSelect(b *testing.B) {
	for _, links := range []LinkPolicy{LinkCompat, LinkBest} {
		for _, f := range forms {
			b.Run(fmt.Sprintf("links=%s/form=%s", [...]string{"compat", "best"}[links], f.name), func(b *testing.B) {
				n, r := formNode(b, f.args, links)
				var s Scratch
				fit := Evaluate(n, r, PassNear, 1, &s)
				var tk Taking
				tk.Start(r)
				c := Chosen{Node: n, Fit: fit}
				c.CPUs, c.Devices = tk.Take(n.Shape, r, &fit)
				grants, chosen := make([]Grant, 1), []Chosen{c}
				b.ReportAllocs()
				for b.Loop() {
					if why := Select(grants, chosen, r, PassNear, 1, &s); why != RefuseNone {
						b.Fatal(why)
					}
				}
			})
		}
	}
}
