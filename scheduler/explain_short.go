package scheduler

import (
	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// A NodeShort counts nodes that lack the same.
type NodeShort struct {
	// Why in a few words.
	Why string
	// Nodes is their number.
	Nodes int32
}

// shortWords says what a node lacks, by gres's refusals.
var shortWords = [...]string{
	gres.RefuseSpecification: "not the sockets, cores or threads asked", gres.RefuseBusy: "something runs there, and the whole node is asked",
	gres.RefuseWrongType: "no such device", gres.RefuseNotEnough: "too few devices free",
	gres.RefuseBusyShared: "devices shared out in another way", gres.RefuseScope: "devices belong to another account, user or job",
	gres.RefuseUnits: "more than one replica of a device asked", gres.RefuseCores: "too few cores free",
	gres.RefuseSocketsPerNode: "too few sockets with cores free", gres.RefuseMaxCPUsNode: "MaxCPUsPerNode reached",
	gres.RefuseMaxCPUsSocket: "MaxCPUsPerSocket reached", gres.RefuseMinCPUs: "fewer CPUs than each node must give",
	gres.RefuseTasksPerNode: "the tasks per node do not fit", gres.RefuseMemory: "too little memory free",
	gres.RefuseNoNearCores: "no cores free near the devices", gres.RefuseCPUPerGPU: "too few cores for the CPUs per GPU",
	gres.RefuseMemPerGPU: "too little memory for the memory per GPU", gres.RefuseTasks: "tasks and devices do not divide as asked",
	gres.RefuseSpread: "the tasks do not fit", gres.RefuseHold: "the cores cannot be laid out",
}

// shortages counts, over the nodes that could take the request if idle and
// cannot now, what they lack: most nodes first.
func (e *engine) shortages(c *class, capable, free *topology.NodeSet) []NodeShort {
	var counts [len(shortWords)]int32
	for n := range capable.All() {
		if free.Has(n) {
			continue
		}
		if f := e.pool.FitOf(c.pool, gres.PassAny, c.min, int32(n)); int(f.Refusal) < len(counts) {
			counts[f.Refusal]++
		}
	}
	var out []NodeShort
	for {
		most := gres.RefuseNone
		for r := gres.RefuseSpecification; int(r) < len(counts); r++ {
			if counts[r] > counts[most] {
				most = r
			}
		}
		if most == gres.RefuseNone {
			return out
		}
		out = append(out, NodeShort{shortWords[most], counts[most]})
		counts[most] = 0
	}
}
