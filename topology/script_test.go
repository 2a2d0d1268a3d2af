package topology_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/berth-sched/berth/topology"
)

// A world is what a golden script works on.
type world struct {
	m     *machine
	specs []topology.Spec
	ts    *topology.Topologies
	cur   string
	excl  []exclusiveJob
	busy  topology.NodeSet
	ws    *topology.Scratch
	lv    *topology.Levels
	held  []topology.Holder
	who   []string
}

func TestScripts(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
			if strings.Contains(path, "fuzz/") || strings.Contains(path, "rapid/") || !strings.HasSuffix(path, ".txt") {
				return
			}
			w := &world{ws: new(topology.Scratch)}
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
		w.m, w.specs, w.excl = m, nil, nil
		w.busy.Init(len(names))
		w.ts, _ = topology.NewTopologies(nil, m.names)
		w.cur = "default"
		return fmt.Sprintf("%d nodes\n", len(names))
	case "nodes":
		return w.nodes(t, d)
	case "conf", "yaml":
		return w.config(t, d)
	case "units":
		return w.units(t, d)
	case "running":
		return w.running(t, d)
	case "member", "hosts", "address", "ranks", "diff", "fabric", "order":
		return w.edge(t, d)
	case "fit":
		return w.fit(t, d)
	case "holders", "room", "suggest", "score":
		return w.room(t, d)
	case "levels", "place":
		return w.placeLevels(t, d)
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
	top, ok := w.ts.Find(arg(d, "in", w.cur))
	if !ok {
		d.Fatalf(t, "no topology %s", arg(d, "in", w.cur))
	}
	opts := topology.Options{Profile: topology.ProfileSlurm}
	if arg(d, "profile", "slurm") == "best" {
		opts.Profile = topology.ProfileBest
	}
	opts.Defects, opts.Dragonfly, opts.TopoOptional = d.HasArg("defects"), d.HasArg("dragonfly"), d.HasArg("optional")
	f := top.Fitter(opts)
	w.m.unroll = intArg(t, d, "unroll", 0)
	waited := time.Duration(intArg(t, d, "waited", 0)) * time.Second
	longest := time.Duration(intArg(t, d, "max-wait", 0)) * time.Second
	soft := int32(intArg(t, d, "soft", 0))
	var lines [][2]string
	width := 0
	for line := range strings.Lines(d.Input) {
		line = strings.TrimSpace(line)
		options, on, _ := strings.Cut(line, " on ")
		a, err := parseAsk(strings.Fields(options))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		if len(a.unknown) > 0 {
			d.Fatalf(t, "unknown options %s", a.unknown)
		}
		answer := w.fitLine(a, top, f, on, opts.Profile, func(r *topology.Request) {
			r.Waited, r.MaxSwitchWait, r.SoftUnits = waited, longest, soft
		})
		lines = append(lines, [2]string{line, answer})
		width = max(width, len(line))
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%-*s  %s\n", width, l[0], l[1])
	}
	return b.String()
}

func (w *world) fitLine(a *ask, top *topology.Topology, f topology.Fitter, on string, p topology.Profile, more func(*topology.Request)) string {
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
	var no topology.NodeSet
	no.Init(within.Len())
	for _, e := range w.excl {
		w.ts.AddBlocked(&no, e.top, &e.nodes, p)
	}
	if a.topo {
		w.ts.AddForbidden(&no, top, &w.busy, p)
	}
	within.AndNot(&no)
	q, err := w.m.request(a, &within)
	if err != nil {
		return err.Error()
	}
	more(&q.Request)
	var res topology.Result
	if !f.Fit(w.ws, &q.Request, &res) {
		return w.refusal(top, &res.Refusal)
	}
	s := string(w.m.names.AppendNodes(nil, res.Nodes))
	if a.gpus > 0 {
		s += fmt.Sprintf(" gpus %v", res.GPUs)
	}
	return s
}

func (w *world) refusal(top *topology.Topology, r *topology.Refusal) string {
	s := "no: " + r.Rule.String()
	if r.Rule.Permanent() {
		s = "never: " + r.Rule.String()
	}
	if r.Unit != topology.NoUnit {
		s += ", " + top.Unit(r.Unit).Name
	}
	if r.Lack != topology.LackNone {
		s += fmt.Sprintf(", %d of %d %s", r.Have, r.Need, r.Lack)
	}
	return s
}

// config adds the topologies of topology.conf or topology.yaml, and makes the
// first of them the one that fit uses.
func (w *world) config(t *testing.T, d *datadriven.TestData) string {
	var specs []topology.Spec
	var err error
	if d.Cmd == "conf" {
		specs, err = confSpecs("topology/"+arg(d, "plugin", "tree"), d.Input)
		if err == nil {
			specs[0].Name = arg(d, "name", "default")
			if d.HasArg("merge") {
				specs[0].Tree.Merge = true
			}
		}
	} else {
		specs, err = yamlSpecs(d.Input)
	}
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	ts, problems := topology.NewTopologies(append(slices.Clone(w.specs), specs...), w.m.names)
	for i := range problems {
		if problems[i].Topology != specs[0].Name {
			continue
		}
		fmt.Fprintf(&b, "%s: %v", problems[i].Severity, &problems[i])
		if l := problems[i].Line; l > 0 {
			fmt.Fprintf(&b, " (line %d)", l)
		}
		b.WriteByte('\n')
	}
	if ts == nil {
		return b.String()
	}
	w.ts, w.specs = ts, append(w.specs, specs...)
	w.cur = specs[0].Name
	if b.Len() == 0 {
		return "ok\n"
	}
	return b.String()
}

// units lists the units of a topology.
func (w *world) units(t *testing.T, d *datadriven.TestData) string {
	top, ok := w.ts.Find(arg(d, "in", w.cur))
	if !ok {
		d.Fatalf(t, "no topology")
	}
	var b strings.Builder
	for i := range top.Units() {
		u := top.Unit(topology.UnitID(i))
		var set topology.NodeSet
		set.Init(top.Nodes())
		top.AddUnit(&set, topology.UnitID(i))
		parent := "-"
		if u.Parent != topology.NoUnit {
			parent = top.Unit(u.Parent).Name
		}
		fmt.Fprintf(&b, "%-8s level %d in %-8s %2d nodes %s\n", u.Name, u.Level, parent, u.Size, w.m.names.AppendSet(nil, &set))
	}
	return b.String()
}

// running sets the running jobs: lines "NODES [exclusive] [in TOPOLOGY]".
func (w *world) running(t *testing.T, d *datadriven.TestData) string {
	w.busy.Clear()
	w.excl = nil
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "nothing" {
			continue
		}
		ids, err := w.m.names.AppendIDs(nil, f[0])
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		e := exclusiveJob{}
		e.nodes.Init(w.m.names.Len())
		for _, id := range ids {
			w.busy.Add(id)
			e.nodes.Add(id)
		}
		in := w.cur
		if i := slices.Index(f, "in"); i > 0 {
			in = f[i+1]
		}
		e.top, _ = w.ts.Find(in)
		if slices.Contains(f, "exclusive") {
			w.excl = append(w.excl, e)
		}
	}
	return "ok\n"
}
