package gres

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawLine draws a command line of the kind that the recorder submits.
func drawLine(t *rapid.T, shared bool) []string {
	num := func(lo, hi int, name string) string { return fmt.Sprint(rapid.IntRange(lo, hi).Draw(t, name)) }
	maybe := func(name string) bool { return rapid.IntRange(0, 3).Draw(t, name) == 0 }
	var w []string
	add := func(s ...string) { w = append(w, s...) }
	forms := []string{"none", "gres", "gpus", "node", "task", "socket", "pergpu", "job+node", "job+task"}
	if shared {
		forms = append(forms, "shard", "shardtask")
	}
	switch rapid.SampledFrom(forms).Draw(t, "form") {
	case "gres":
		add("--gres=gpu:" + num(1, 5, "n"))
	case "gpus":
		add("--gpus=" + num(1, 12, "n"))
	case "node":
		add("--gpus-per-node=" + num(1, 4, "n"))
	case "task":
		add("--gpus-per-task=" + num(1, 3, "n"))
	case "socket":
		add("--gpus-per-socket="+num(1, 2, "n"), "--sockets-per-node="+num(1, 2, "s"))
	case "pergpu":
		add("--ntasks-per-gpu="+num(1, 3, "g"), "--gpus="+num(1, 6, "n"))
	case "job+node":
		add("--gpus="+num(1, 8, "j"), "--gpus-per-node="+num(1, 4, "n"))
	case "job+task":
		add("--gpus="+num(1, 8, "j"), "--gpus-per-task="+num(1, 2, "t"))
	case "shard":
		add("--gres=shard:" + num(1, 6, "n"))
	case "shardtask":
		add("--tres-per-task=gres/shard:" + num(1, 4, "n"))
	}
	if maybe("nodes") {
		add("-N" + num(1, 3, "N"))
	}
	if maybe("range") {
		add("-N1-" + num(2, 3, "N"))
	}
	if rapid.Bool().Draw(t, "tasks") {
		add("-n" + num(1, 12, "n"))
	}
	if maybe("c") {
		add("-c" + num(1, 5, "c"))
	}
	if maybe("cpg") {
		add("--cpus-per-gpu=" + num(1, 4, "cpg"))
	}
	switch rapid.IntRange(0, 7).Draw(t, "memory") {
	case 0:
		add("--mem=" + num(0, 9000, "mem"))
	case 1:
		add("--mem-per-gpu=" + num(1, 9000, "mem"))
	case 2:
		add("--mem-per-cpu=" + num(1, 4000, "mem"))
	}
	for _, o := range []string{"--exclusive", "--gres-flags=enforce-binding", "--gres-flags=disable-binding", "-O", "-m", "--ntasks-per-node=2", "--ntasks-per-core=1", "--ntasks-per-socket=1", "--hint=nomultithread"} {
		if rapid.IntRange(0, 9).Draw(t, o) == 0 {
			add(o)
			if o == "-m" {
				add(rapid.SampledFrom([]string{"block:block", "plane=2", "block:cyclic"}).Draw(t, "dist"))
			}
		}
	}
	return w
}

// drawCluster draws three nodes of one or two kinds and the settings of the
// cluster.
func drawCluster(t *rapid.T) (*cluster, bool) {
	c := &cluster{tab: NewDeviceTable()}
	c.params.ConsumeMem = true
	c.params.Cluster.PerCPU = 100
	c.params.Unit = rapid.SampledFrom([]CPUUnit{UnitCore, UnitCore, UnitCPU, UnitSocket}).Draw(t, "unit")
	c.params.OneTaskPerCore = c.params.Unit == UnitCore && rapid.IntRange(0, 5).Draw(t, "one task") == 0
	c.params.EnforceBinding = rapid.IntRange(0, 5).Draw(t, "enforce") == 0
	c.params.MultipleSharing = rapid.Bool().Draw(t, "multiple")
	c.params.Links = LinkPolicy(rapid.IntRange(0, 1).Draw(t, "links"))
	c.params.PackShared = rapid.IntRange(0, 3).Draw(t, "pack") == 0
	shared := rapid.Bool().Draw(t, "shared")
	for i := range 3 {
		n := ShapeConfig{Sockets: 2, CoresPerSocket: 4, Threads: rapid.IntRange(1, 2).Draw(t, "threads"), MemMiB: 16000}
		n.RestrictedPerGPU = rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "restricted")
		gpus := rapid.IntRange(1, 6).Draw(t, "gpus")
		g, sh := GroupConfig{Name: NameGPU, Flags: Tracked}, GroupConfig{Name: NameShard, Over: NameGPU, Flags: Tracked}
		if rapid.IntRange(0, 3).Draw(t, "tracked") == 0 && !shared {
			g.Flags = 0
		}
		cores := rapid.Bool().Draw(t, "cores") && g.Flags != 0
		links := rapid.Bool().Draw(t, "linked")
		for k := range gpus {
			d := DeviceConfig{}
			if cores {
				d.Cores = []uint64{0xf << (4 * (k * 2 / gpus))}
			}
			if links {
				d.Links = pairs(gpus + gpus%2)[k][:gpus]
			}
			g.Devices = append(g.Devices, d)
			sh.Devices = append(sh.Devices, DeviceConfig{Units: 4})
		}
		n.Groups = []GroupConfig{g}
		if shared {
			n.Groups = append(n.Groups, sh)
		}
		s, err := NewShape(n)
		if err != nil {
			t.Fatal(err)
		}
		c.names = append(c.names, fmt.Sprintf("n%d", i+1))
		c.shapes = append(c.shapes, s)
		c.rows = append(c.rows, make([]uint64, s.RowLen()))
		c.weight = append(c.weight, 1)
	}
	return c, shared
}

// Whatever is asked: nothing panics, what is given was free, is as much as was
// asked, and giving back restores the rows.
func propLines(t *rapid.T) {
	c, shared := drawCluster(t)
	var outs []outcome
	for range rapid.IntRange(1, 4).Draw(t, "jobs") {
		line := drawLine(t, shared)
		a, err := parseArgs(line)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Derive(&a.Options, &c.params, c.tab)
		if err != nil {
			if slurmText(err) == "" {
				t.Fatalf("%v: no text", line)
			}
			continue
		}
		got, out := c.run(&r, &a)
		switch {
		case strings.HasPrefix(got.state, "gres:"):
			t.Fatalf("%v: %s", line, got.state)
		case got.state == "RUN":
			checkAsked(t, c, &r, line, &out)
			outs = append(outs, out)
		}
	}
	for _, o := range outs {
		for x, i := range o.nodes {
			c.shapes[i].Give(c.rows[i], &o.grants[x])
		}
	}
	for i, s := range c.shapes {
		if !s.Idle(c.rows[i]) {
			t.Fatalf("node %d is not idle after all is given back: %v", i, c.rows[i])
		}
	}
}

// checkAsked tests that a job got at least what it asked.
func checkAsked(t *rapid.T, c *cluster, r *Request, line []string, o *outcome) {
	if n := len(o.nodes); n < int(r.MinNodes) || r.MaxNodes > 0 && n > int(r.MaxNodes) {
		t.Fatalf("%v: %d nodes of %d to %d", line, n, r.MinNodes, r.MaxNodes)
	}
	var cpus int64
	for i := range o.grants {
		cpus += o.grants[i].CPUs
	}
	if r.TasksKnown == Given && !r.Has(Overcommit) && cpus < int64(r.Tasks)*int64(r.perTask()) {
		t.Fatalf("%v: %d CPUs for %d tasks of %d", line, cpus, r.Tasks, r.perTask())
	}
	for k := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[k]
		var sum int64
		for x, i := range o.nodes {
			g := c.shapes[i].Group(d.Name)
			n := o.grants[x].Count(c.shapes[i], g, d.Type)
			if n < d.PerNode {
				t.Fatalf("%v: node %d gives %d of %d", line, i, n, d.PerNode)
			}
			sum += n
			tracked := c.shapes[i].GroupFlags(g)&Tracked != 0
			if n == 0 && d.PerJob > 0 && tracked && d.PerTask == 0 {
				t.Fatalf("%v: node %d gives nothing", line, i)
			}
		}
		// One-node jobs of Slurm may run with fewer untracked devices than
		// asked, because nodes tried before are counted (spec/cores.md 11).
		if d.PerTask == 0 && sum < d.PerJob && r.MaxNodes != 1 {
			t.Fatalf("%v: %d devices of %d", line, sum, d.PerJob)
		}
	}
}

func TestCommandLineLaws(t *testing.T) { rapid.Check(t, propLines) }

func FuzzCommandLines(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propLines)) }
