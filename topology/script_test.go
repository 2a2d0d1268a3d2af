package topology_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/berth-sched/berth/topology"
)

// A world is what a golden script works on.
type world struct {
	m    *machine
	tops map[string]*topology.Topology
	cur  string
	opts topology.Options
	ws   *topology.Scratch
}

func TestScripts(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
			if strings.Contains(path, "fuzz/") || strings.Contains(path, "rapid/") || !strings.HasSuffix(path, ".txt") {
				return
			}
			w := &world{tops: map[string]*topology.Topology{}, ws: new(topology.Scratch)}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				if fresh { // answers must not depend on what a scratch has seen
					w.ws = new(topology.Scratch)
				}
				return w.run(t, d)
			})
		})
	}
}

func arg(d *datadriven.TestData, key string, def string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return strings.Join(a.Vals, ",")
		}
	}
	return def
}

func intArg(t *testing.T, d *datadriven.TestData, key string, def int) int {
	v, err := strconv.Atoi(arg(d, key, strconv.Itoa(def)))
	if err != nil {
		d.Fatalf(t, "%s: %v", key, err)
	}
	return v
}

func (w *world) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "cluster":
		names := make([]string, intArg(t, d, "nodes", 0))
		for i := range names {
			names[i] = "n" + strconv.Itoa(i)
		}
		m, err := newMachine(names, int32(intArg(t, d, "cpus", 4)), int32(intArg(t, d, "gpus", 0)))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		w.m = m
		w.tops["flat"] = topology.NewFlat("flat", len(names))
		w.cur = "flat"
		return fmt.Sprintf("%d nodes\n", len(names))
	case "nodes":
		return w.nodes(t, d)
	case "fit":
		return w.fit(t, d)
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

// nodes changes nodes: lines "n[0-3] cpus=2 gpus=1 weight=7" give what is free.
func (w *world) nodes(t *testing.T, d *datadriven.TestData) string {
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		ids, err := w.m.names.AppendIDs(nil, f[0])
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		for _, kv := range f[1:] {
			k, v, _ := strings.Cut(kv, "=")
			x, err := strconv.Atoi(v)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			for _, id := range ids {
				switch k {
				case "cpus":
					w.m.free[id] = int32(x)
				case "gpus":
					w.m.freeGPUs[id] = int32(x)
				case "weight":
					w.m.weight[id] = uint32(x)
				default:
					d.Fatalf(t, "unknown key %s", k)
				}
			}
		}
	}
	return "ok\n"
}

// fit fits each line "OPTIONS on NODES" and writes the chosen nodes after it.
func (w *world) fit(t *testing.T, d *datadriven.TestData) string {
	top := w.tops[arg(d, "in", w.cur)]
	if top == nil {
		d.Fatalf(t, "no topology %s", arg(d, "in", w.cur))
	}
	opts := w.opts
	if arg(d, "profile", "slurm") == "slurm" {
		opts.Profile = topology.ProfileSlurm
	}
	opts.Defects = d.HasArg("defects")
	f := top.Fitter(opts)
	var lines [][2]string
	width := 0
	for line := range strings.Lines(d.Input) {
		line = strings.TrimSpace(line)
		options, on, _ := strings.Cut(line, " on ")
		lines = append(lines, [2]string{line, w.fitLine(f, options, on)})
		width = max(width, len(line))
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%-*s  %s\n", width, l[0], l[1])
	}
	return b.String()
}

func (w *world) fitLine(f topology.Fitter, options, on string) string {
	a, err := parseAsk(strings.Fields(options))
	if err != nil {
		return err.Error()
	}
	if len(a.unknown) > 0 {
		return "unknown options " + strings.Join(a.unknown, " ")
	}
	var within topology.NodeSet
	within.Init(w.m.names.Len())
	if on == "" {
		within.AddAll()
	} else {
		ids, err := w.m.names.AppendIDs(nil, on)
		if err != nil {
			return err.Error()
		}
		for _, id := range ids {
			within.Add(id)
		}
	}
	q, err := w.m.request(a, &within)
	if err != nil {
		return err.Error()
	}
	var res topology.Result
	if !f.Fit(w.ws, &q.Request, &res) {
		return w.refusal(&res.Refusal)
	}
	return string(w.m.names.AppendNodes(nil, res.Nodes))
}

func (w *world) refusal(r *topology.Refusal) string {
	s := "no: " + r.Rule.String()
	if r.Lack != topology.LackNone {
		s += fmt.Sprintf(", %d of %d %s", r.Have, r.Need, r.Lack)
	}
	return s
}
