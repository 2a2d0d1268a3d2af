package schedtest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/scheduler"
)

// topologyLine adds a line about topology to c and reports whether it was one:
//
//	switch=s1 nodes=n[0-3] | switch=top switches=s[1-2] | block=b1 nodes=n[0-3] | domain=zone1/rack1 nodes=n[0-3]
//
// Blocks take their sizes from sizes=2,4 of the cluster's command, domains the
// names of their levels from levels=zone,rack.
func topologyLine(c *scheduler.Config, a, f fields) bool {
	if !f.has("switch") && !f.has("block") && !f.has("domain") {
		return false
	}
	if len(c.Topologies) == 0 {
		c.Topologies = []scheduler.TopologySpec{{Name: "default", Parameters: a["topoparam"], Levels: a.list("levels")}}
		for _, n := range a.list("sizes") {
			k, err := strconv.ParseInt(n, 10, 32)
			if err != nil {
				panic(err)
			}
			c.Topologies[0].BlockSizes = append(c.Topologies[0].BlockSizes, int32(k))
		}
	}
	t := &c.Topologies[0]
	switch {
	case f.has("switch"):
		t.Switches = append(t.Switches, scheduler.SwitchSpec{Name: f["switch"], Nodes: f["nodes"], Switches: f["switches"]})
	case f.has("block"):
		t.Blocks = append(t.Blocks, scheduler.UnitSpec{Name: f["block"], Nodes: f["nodes"]})
	default:
		t.Domains = append(t.Domains, scheduler.DomainSpec{Values: strings.Split(f["domain"], "/"), Nodes: f["nodes"]})
	}
	return true
}

// levelsOf reads a job's wishes: "rack!" is required, "rack" preferred, "rack:4"
// wants slices of four.
func levelsOf(list []string) (out []scheduler.LevelSpec) {
	for _, w := range list {
		l := scheduler.LevelSpec{Level: w}
		if name, ok := strings.CutSuffix(w, "!"); ok {
			l = scheduler.LevelSpec{Level: name, Required: true}
		} else if name, size, ok := strings.Cut(w, ":"); ok {
			k, err := strconv.ParseInt(size, 10, 32)
			if err != nil {
				panic(err)
			}
			l = scheduler.LevelSpec{Level: name, Slice: int32(k)}
		}
		out = append(out, l)
	}
	return out
}

// workloadLine adds a form of task that the placement policy of policy=FGD
// expects, and reports whether it was one:
//
//	task=3 cpumilli=4000 gpus=1 gpumilli=500
//
// says that three of them are expected.
func workloadLine(c *scheduler.Config, f fields) bool {
	if !f.has("task") {
		return false
	}
	c.Parameters.Select.Workload = append(c.Parameters.Select.Workload, scheduler.TaskSpec{
		CPUMilli: f.num("cpumilli"), GPUs: int32(f.num("gpus")), GPUMilli: f.num("gpumilli"), Count: f.num("task"),
	})
	return true
}

// step asks for steps of a job, or ends them.
func (e *env) step(cmd string, job scheduler.JobID, in []fields) (string, error) {
	var b strings.Builder
	for _, f := range in {
		ev := scheduler.Event{Kind: scheduler.EventStepStart, Job: job, Step: &scheduler.StepSpec{
			ID: uint32(f.num("id")), Tasks: int32(f.num("tasks")), CPUsPerTask: int32(f.num("cpus")), MinNodes: int32(f.num("nodes")),
			MemMiB: f.num("mem"), GRES: f["gres"], GPUs: f["gpus"], GPUsPerTask: f["gpus-per-task"],
			Exact: f.has("exact"), Overlap: f.has("overlap"), Immediate: f.has("immediate"),
		}}
		if cmd == "endstep" {
			ev.Kind = scheduler.EventStepEnd
		}
		if err := e.s.Apply(e.now, ev); err != nil {
			fmt.Fprintf(&b, "refused: %v\n", err)
		}
	}
	if b.Len() == 0 {
		return "ok\n", nil
	}
	return b.String(), nil
}

// steps lists the steps of a job.
func (e *env) steps(job scheduler.JobID) string {
	var b strings.Builder
	e.s.View(func(v scheduler.View) {
		for _, s := range v.AppendSteps(nil, job) {
			fmt.Fprintf(&b, "%d.%d", job, s.ID)
			if !s.Running {
				fmt.Fprintf(&b, " waits: %s\n", s.Reason)
				continue
			}
			for i, a := range s.Nodes {
				fmt.Fprintf(&b, " %s(tasks=%d cores=%v", a.Node, s.Tasks[i], a.Cores)
				for _, x := range a.Devices {
					fmt.Fprintf(&b, " %s%d", x.Name, x.Index)
				}
				b.WriteByte(')')
			}
			b.WriteByte('\n')
		}
	})
	return b.String()
}

// devicesOf makes the device records of a line of nodes: mig=MODEL:COUNT cuts
// GPUs as jobs need it, shares=NAME:COUNT:SCOPE says whose jobs may share a GPU,
// replicas=NAME:COUNT hands every GPU out several times, and near=0-3/4-7 gives the
// cores that each GPU of gres= is near, one list a GPU.
func devicesOf(f fields) (out []scheduler.DeviceSpec) {
	count := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	if model, n, ok := strings.Cut(f["mig"], ":"); ok {
		out = append(out, scheduler.DeviceSpec{Name: "gpu", Count: count(n), Model: model, Plain: f["plain"], Scope: f["scope"]})
	}
	if name, n, ok := strings.Cut(f["replicas"], ":"); ok {
		out = append(out, scheduler.DeviceSpec{Name: name, Replicas: int32(count(n)), Scope: f["scope"]})
	}
	if f.has("near") {
		_, typ, _ := strings.Cut(f["gres"], ":")
		if typ, _, _ = strings.Cut(typ, ":"); typ != "" && typ[0] <= '9' {
			typ = "" // a count
		}
		for i, cores := range strings.Split(f["near"], "/") {
			out = append(out, scheduler.DeviceSpec{Name: "gpu", Type: typ, File: fmt.Sprintf("/dev/nvidia%d", i), Cores: cores})
		}
	}
	if w := strings.Split(f["shares"], ":"); len(w) == 3 {
		out = append(out, scheduler.DeviceSpec{Name: w[0], Count: count(w[1]), Scope: w[2]})
	}
	return out
}
