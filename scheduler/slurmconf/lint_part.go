package slurmconf

import (
	"slices"
	"strings"
	"time"
)

// lintPartGPU: gres-mixed-pool, gpu-defmem, gpu-defcpu, gpu-in-cpu-part,
// gpu-cpu-cap.
func (s *site) lintPartGPU() {
	for i := range s.parts {
		q := &s.parts[i]
		lines := s.gpuLines(q)
		if len(lines) == 0 {
			continue
		}
		s.lintMixed(q, lines)
		s.lintDefaults(q, lines)
		s.lintOpen(q, lines)
		s.lintCap(q, lines)
	}
}

// fractional reports whether a line's nodes share or slice their GPUs.
func (s *site) fractional(line int) bool {
	for _, g := range s.items[line] {
		if slices.Contains(sharedNames, g.name) || g.name == "gpu" && isMIG(g.typ) {
			return true
		}
	}
	return false
}

// isMIG reports whether a type names a slice, such as a100_3g.20gb.
func isMIG(typ string) bool {
	i := strings.Index(typ, "g.")
	return i > 0 && typ[i-1] >= '1' && typ[i-1] <= '9' && strings.Contains(typ[i:], "gb")
}

func (s *site) lintMixed(q *sitePart, lines []int) {
	whole, part := -1, -1
	for _, l := range lines {
		if s.fractional(l) {
			part = l
		} else {
			whole = l
		}
	}
	if whole >= 0 && part >= 0 {
		s.info("gres-mixed-pool", q.p.Name.At, "jobs for whole GPUs may wait behind fractional ones",
			"partition %s holds %s with %s and %s with %s; give the shared ones a partition of their own",
			q.p.Name.V, s.f.Nodes[whole].Names.V, s.f.Nodes[whole].Gres.V, s.f.Nodes[part].Names.V, s.f.Nodes[part].Gres.V)
	}
}

func (s *site) lintDefaults(q *sitePart, lines []int) {
	p, c := q.p, &s.f.Params
	_, _, _, mem := s.shape(lines[0])
	gpus := s.amount(lines[0], "gpu")
	set := p.DefMemPerGPU.IsSet() || p.DefMemPerCPU.IsSet() || p.DefMemPerNode.IsSet() || c.DefMemPerGPU.IsSet() || c.DefMemPerCPU.IsSet() || c.DefMemPerNode.IsSet()
	switch {
	case !s.memoryUsed() || set:
	case mem <= 1:
		s.warn("gpu-defmem", p.Name.At, "a one-GPU job takes all memory of its node and strands the other GPUs",
			"partition %s has GPUs and no DefMemPerGPU, DefMemPerCPU or DefMemPerNode, and %s has no RealMemory", p.Name.V, s.f.Nodes[lines[0]].Names.V)
	default:
		s.warn("gpu-defmem", p.Name.At, "a one-GPU job takes all memory of its node and strands the other GPUs",
			"partition %s has GPUs and no DefMemPerGPU, DefMemPerCPU or DefMemPerNode: --gpus=1 gets %d MiB; set DefMemPerGPU=%d", p.Name.V, mem, mem/max(gpus, 1))
	}
	if !p.DefCPUPerGPU.IsSet() && !c.DefCPUPerGPU.IsSet() {
		s.info("gpu-defcpu", p.Name.At, "one-GPU jobs get one CPU", "partition %s has GPUs and no DefCpuPerGPU", p.Name.V)
	}
}

// lintOpen looks for a partition in which jobs without GPUs may take GPU nodes.
func (s *site) lintOpen(q *sitePart, lines []int) {
	p := q.p
	if restricted := len(q.spec.AllowQOS) > 0 || len(q.spec.AllowAccounts) > 0 || len(q.spec.AllowGroups) > 0 || q.spec.RootOnly; restricted && !p.Default.V {
		return
	}
	if len(q.spec.AllowQOS) > 0 && s.allPreemptible(q.spec.AllowQOS) {
		return
	}
	if qos := s.quality(p.QOS.V); qos != nil {
		if v, ok := limitValue(qos.Limits, "MinTRESPerJob"); ok && strings.Contains(strings.ToLower(v), "gres/gpu") {
			return // the partition's QOS demands a GPU
		}
	}
	if len(s.f.Params.JobSubmitPlugins.V) > 0 && !p.Default.V {
		return // a plug-in may demand it
	}
	s.warn("gpu-in-cpu-part", p.Name.At, "CPU jobs strand GPUs",
		"partition %s has GPU nodes %s and takes jobs without GPUs of every QOS; give it a QOS with MinTRES=gres/gpu=1, or AllowQos of preemptible ones", p.Name.V, s.f.Nodes[lines[0]].Names.V)
}

// allPreemptible reports whether others may preempt every one of the QOS.
func (s *site) allPreemptible(names []string) bool {
	for _, n := range names {
		ok := false
		for _, v := range s.preemptible() {
			ok = ok || strings.EqualFold(v.Name, n)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (s *site) lintCap(q *sitePart, lines []int) {
	if q.p.MaxCPUsPerNode.IsSet() && q.p.MaxCPUsPerNode.V != Unlimited {
		return
	}
	if qos := s.quality(q.p.QOS.V); qos != nil {
		if v, ok := limitValue(qos.Limits, "MaxTRESPerNode"); ok && strings.Contains(strings.ToLower(v), "cpu=") {
			return
		}
	}
	for _, l := range lines {
		if s.f.Nodes[l].RestrictedCoresPerGPU.V > 0 {
			return
		}
	}
	_, _, cpus, _ := s.shape(lines[0])
	s.info("gpu-cpu-cap", q.p.Name.At, "a one-GPU job may take all cores of its node",
		"partition %s has %d CPUs for %d GPUs on a node and neither MaxCPUsPerNode, MaxTRESPerNode nor RestrictedCoresPerGPU", q.p.Name.V, cpus, s.amount(lines[0], "gpu"))
}

// lintTime: time-none, bf-window, decay-zero, maxage-minutes.
func (s *site) lintTime() {
	p := &s.f.Params
	longest, at, name := time.Duration(0), Origin{}, ""
	for i := range s.f.Partitions {
		q := &s.f.Partitions[i]
		if q.MaxTime.Or(Forever) == Forever {
			if !q.DefaultTime.IsSet() && p.SchedulerType.V != "sched/builtin" {
				s.warn("time-none", q.Name.At, "jobs without -t count as one year and backfill is blind",
					"partition %s has MaxTime UNLIMITED and no DefaultTime; set either", q.Name.V)
			}
			continue
		}
		if q.MaxTime.V > longest {
			longest, at, name = q.MaxTime.V, q.MaxTime.At, q.Name.V
		}
	}
	window := 1440 * time.Minute
	if it, ok := findItem(p.SchedulerParameters.V, "bf_window"); ok {
		if n, err := parseCount(1, 43200, false)(it.Value); err == nil {
			window, at = time.Duration(n)*time.Minute, p.SchedulerParameters.At
		}
	}
	if longest > window && p.SchedulerType.V != "sched/builtin" {
		s.warn("bf-window", at, "longer jobs get no reservation and may starve",
			"bf_window is %d min, partition %s allows %d min; set bf_window=%d", window/time.Minute, name, longest/time.Minute, min(longest/time.Minute, 43200))
	}
	if h := p.PriorityDecayHalfLife; h.IsSet() && h.V == 0 && p.PriorityUsageResetPeriod.Or("none") == "none" {
		s.bad("decay-zero", h.At, "usage never ages; the controller refuses to start",
			"PriorityDecayHalfLife=0 with PriorityUsageResetPeriod=NONE; set a reset period")
	}
	if a := p.PriorityMaxAge; a.V%time.Minute != 0 && a.V != Forever {
		s.info("maxage-minutes", a.At, "the age is rounded up to minutes", "PriorityMaxAge=%v; write whole minutes", a.V)
	}
}
