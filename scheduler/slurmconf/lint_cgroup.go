package slurmconf

import (
	"slices"
	"strings"
)

// lintCgroup: the cgroup-… rules.
func (s *site) lintCgroup() {
	c, p := &s.f.Cgroup, &s.f.Params
	if c.Plugin.V == "cgroup/v1" {
		s.warn("cgroup-v1", c.Plugin.At, "deprecated, no new features", "CgroupPlugin=cgroup/v1; use autodetect or cgroup/v2")
	}
	task := slices.Contains(p.TaskPlugin.V, "task/cgroup") || slices.Contains(p.TaskPlugin.V, "cgroup")
	if l := s.anyGPU(); l >= 0 && !c.ConstrainDevices.V {
		at := c.ConstrainDevices.At
		if at.IsZero() {
			at = s.f.Nodes[l].Gres.At
		}
		s.warn("cgroup-devices-off", at, "any job can open every GPU of its node",
			"nodes %s have GPUs and ConstrainDevices is not yes in cgroup.conf", s.f.Nodes[l].Names.V)
	}
	if c.ConstrainDevices.V && !task {
		s.warn("cgroup-task-missing", c.ConstrainDevices.At, "nothing is constrained",
			"ConstrainDevices=yes, TaskPlugin=%s lacks task/cgroup", strings.Join(p.TaskPlugin.V, ","))
	}
	if t := p.ProctrackType; task && t.IsSet() && t.V != "proctrack/cgroup" {
		s.warn("cgroup-proctrack", t.At, "processes can escape tracking", "TaskPlugin has task/cgroup, ProctrackType is %s; use proctrack/cgroup", t.V)
	}
	if c.ConstrainRAMSpace.V && !s.memoryUsed() {
		s.warn("cgroup-mem-untracked", c.ConstrainRAMSpace.At, "no limit is written",
			"ConstrainRAMSpace=yes, SelectTypeParameters=%s does not consume memory; use a *_Memory value", strings.ToUpper(strings.Join(p.SelectTypeParameters.V, ",")))
	}
	if c.ConstrainDevices.V && !slices.Contains(p.PrologFlags.V, "contain") {
		at := p.PrologFlags.At
		if at.IsZero() {
			at = c.ConstrainDevices.At
		}
		s.info("cgroup-contain", at, "ssh logins are not adopted into the job",
			"ConstrainDevices=yes, PrologFlags=%s lacks Contain", strings.Join(p.PrologFlags.V, ","))
	}
	if c.JobIDPaths.V {
		return
	}
	for _, script := range s.inv.Scripts {
		if i := strings.Index(script.Text, "job_"); i >= 0 && jobPath(script.Text) {
			line := 1 + strings.Count(script.Text[:i], "\n")
			s.info("cgroup-path", Origin{script.Name, line}, "directories are keyed by SLUID since 26.05",
				"the script looks for job_<id> and CgroupJobIdPaths is not yes; set it, or match the new key")
			return
		}
	}
}

// jobPath reports whether a script builds a job_<id> path: job_ before a
// variable, a pattern or a number.
func jobPath(text string) bool {
	for rest := text; ; {
		i := strings.Index(rest, "job_")
		if i < 0 {
			return false
		}
		rest = rest[i+4:]
		if rest != "" && strings.ContainsRune("$*{%<[?(\\\"'0123456789", rune(rest[0])) {
			return true
		}
	}
}
