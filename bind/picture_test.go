package bind_test

import (
	"errors"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/berth-sched/berth/bind"
	"github.com/berth-sched/berth/bind/wiring"
	"github.com/berth-sched/berth/topology"
)

// TestSolveGolden shows what the solver does on recorded machines, as
// pictures. Commands:
//
//	machine file=NAME            a recorded output of nvidia-smi topo -m
//	machine                      the same as input lines
//	solve gpus= tasks= cpus= busy= nic=none|nearest numa= link= policy= bound=cyclic
func TestSolveGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/solve", func(t *testing.T, path string) {
		var m *topology.Machine
		var w *bind.Wiring
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "machine":
				text := d.Input
				if d.HasArg("file") {
					var name string
					d.ScanArgs(t, "file", &name)
					data, err := os.ReadFile(filepath.Join("../../shared/data/configs/outputs", name))
					if errors.Is(err, fs.ErrNotExist) {
						t.Skipf("no recorded output %s", name)
					}
					text = string(data)
				}
				var err error
				if m, err = wiring.Topo(strings.ReplaceAll(text, "|", "\t")); err != nil {
					d.Fatalf(t, "%v", err)
				}
				if w, err = bind.NewWiring(m); err != nil {
					d.Fatalf(t, "%v", err)
				}
				return string(bind.AppendPicture(nil, w, 1<<len(m.GPUs)-1, nil))
			case "solve":
				return solveGolden(t, d, m, w)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func solveGolden(t *testing.T, d *datadriven.TestData, m *topology.Machine, w *bind.Wiring) string {
	r := bind.SolveRequest{FreeGPUs: 1<<len(m.GPUs) - 1, FreeNICs: 1<<len(m.NICs) - 1}
	for _, mem := range m.Memory {
		for i, word := range mem.CPUs {
			for i >= len(r.FreeCPUs) {
				r.FreeCPUs = append(r.FreeCPUs, 0)
			}
			r.FreeCPUs[i] |= word
		}
	}
	d.MaybeScanArgs(t, "gpus", &r.GPUs)
	d.MaybeScanArgs(t, "tasks", &r.Tasks)
	d.MaybeScanArgs(t, "cpus", &r.CPUsPerTask)
	var busy, word string
	if d.MaybeScanArgs(t, "busy", &busy) {
		words, err := wiring.ParseCPUList(strings.ReplaceAll(busy, "+", ","))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		r.FreeGPUs &^= words[0]
	}
	need := func(key string, to *bind.Need) {
		word = ""
		d.MaybeScanArgs(t, key, &word)
		*to = map[string]bind.Need{"": bind.NeedPrefer, "none": bind.NeedNone, "require": bind.NeedRequire}[word]
	}
	need("numa", &r.NUMA)
	need("link", &r.Link)
	word = ""
	d.MaybeScanArgs(t, "nic", &word)
	if word == "nearest" {
		r.NICs = bind.NICNearest
	}
	word = ""
	d.MaybeScanArgs(t, "policy", &word)
	r.Policy = map[string]bind.Policy{"pack": bind.PolicyPack, "spread": bind.PolicySpread}[word]
	if d.HasArg("bound") { // tasks on one CPU each, NUMA node after NUMA node
		for k := range r.Tasks {
			set := make([]uint64, len(r.FreeCPUs))
			for i, word := range m.Memory[k%len(m.Memory)].CPUs {
				if word != 0 {
					set[i] = 1 << bits.TrailingZeros64(word)
					break
				}
			}
			r.TaskCPUs = append(r.TaskCPUs, set)
		}
	}
	var s bind.Solver
	var sol bind.Solution
	if lack := s.Solve(&sol, w, &r); lack != bind.LackNothing {
		return lack.String() + "\n"
	}
	picture := string(bind.AppendPicture(nil, w, r.FreeGPUs, &sol))
	rows, _, _ := strings.Cut(picture, "        GPU0")
	return rows + string(bind.AppendWhy(nil, w, &sol))
}
