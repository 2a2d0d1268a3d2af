package slurmconf

import (
	"slices"
	"strings"

	"github.com/berth-sched/berth/scheduler"
)

// lintPriority: qos-prio-no-weight, prio-weight-no-dbd.
func (s *site) lintPriority() {
	p := &s.f.Params
	if p.PriorityWeightQOS.V == 0 {
		for _, q := range s.b.cfg.QOS {
			if q.Priority > 0 {
				s.warn("qos-prio-no-weight", s.qosAt(q.Name, "Priority"), "the QOS's priority has no effect",
					"QOS %s has Priority=%d, PriorityWeightQOS is 0 or not set; set it above 0", q.Name, q.Priority)
			}
		}
	}
	db := p.AccountingStorageType.V == "accounting_storage/slurmdbd" || p.AccountingStorageType.V == "slurmdbd"
	for _, w := range []struct {
		name string
		v    Value[int64]
	}{{"PriorityWeightFairshare", p.PriorityWeightFairshare}, {"PriorityWeightAge", p.PriorityWeightAge}} {
		if w.v.V > 0 && !db {
			s.warn("prio-weight-no-dbd", w.v.At, "the weight is forced to 0",
				"%s=%d needs a database, AccountingStorageType is %q; set accounting_storage/slurmdbd", w.name, w.v.V, p.AccountingStorageType.V)
		}
	}
}

// realMode returns a preemption mode without its modifiers, lower case.
func realMode(words []string) string {
	for _, w := range words {
		switch strings.ToLower(w) {
		case "cancel", "requeue", "suspend":
			return strings.ToLower(w)
		}
	}
	return "off"
}

func (s *site) preemptType() string {
	return strings.TrimPrefix(s.f.Params.PreemptType.Or("preempt/none"), "preempt/")
}

// lintPreemptCluster: preempt-mode-off, preempt-suspend-no-gang.
func (s *site) lintPreemptCluster() {
	p := &s.f.Params
	if t := s.preemptType(); t != "none" && realMode(p.PreemptMode.V) == "off" {
		s.bad("preempt-mode-off", p.PreemptType.At, "the controller refuses to start",
			"PreemptType=%s with PreemptMode=%s; set CANCEL, REQUEUE or SUSPEND,GANG", p.PreemptType.V, strings.ToUpper(strings.Join(p.PreemptMode.V, ",")))
	}
	if slices.Contains(p.PreemptMode.V, "suspend") && !slices.Contains(p.PreemptMode.V, "gang") {
		s.bad("preempt-suspend-no-gang", p.PreemptMode.At, "suspended jobs would never resume; the controller refuses to start",
			"PreemptMode=SUSPEND without GANG; write SUSPEND,GANG")
	}
}

// modeOf returns the mode of a QOS's jobs as victims.
func (s *site) modeOf(q *scheduler.QOSSpec) string {
	if m := realMode(strings.Split(q.PreemptMode, ",")); m != "off" {
		return m
	}
	return realMode(s.f.Params.PreemptMode.V)
}

// preemptible returns the QOS whose jobs others may preempt.
func (s *site) preemptible() []*scheduler.QOSSpec {
	var out []*scheduler.QOSSpec
	for i := range s.b.cfg.QOS {
		v := &s.b.cfg.QOS[i]
		if slices.ContainsFunc(s.b.cfg.QOS, func(q scheduler.QOSSpec) bool { return slices.Contains(q.Preempt, v.Name) }) {
			out = append(out, v)
		}
	}
	return out
}

// lintPreemptQOS: qos-preempt-no-type, qos-prio-not-preempt, preempt-noreserve,
// preempt-grace-short, and for a QOS preempt-suspend-gpu,
// preempt-grace-suspend, requeue-off.
func (s *site) lintPreemptQOS() {
	byQOS := s.preemptType() == "qos"
	for _, q := range s.b.cfg.QOS {
		if len(q.Preempt) > 0 && !byQOS {
			s.warn("qos-preempt-no-type", s.qosAt(q.Name, "Preempt"), "the list is ignored",
				"QOS %s may preempt %s, PreemptType is %s; set preempt/qos", q.Name, strings.Join(q.Preempt, ","), s.preemptType())
		}
		if !byQOS || len(q.Preempt) > 0 || q.Priority == 0 {
			continue
		}
		if i := slices.IndexFunc(s.b.cfg.QOS, func(o scheduler.QOSSpec) bool { return o.Priority < q.Priority }); i >= 0 {
			s.info("qos-prio-not-preempt", s.qosAt(q.Name, "Priority"), "priority does not give the right to preempt",
				"QOS %s has Priority=%d, above %s, and no Preempt list; name the QOS that it may preempt", q.Name, q.Priority, s.b.cfg.QOS[i].Name)
		}
	}
	if !byQOS {
		return
	}
	for _, v := range s.preemptible() {
		if !slices.Contains(v.Flags, "NoReserve") {
			s.info("preempt-noreserve", s.qosAt(v.Name, "Flags"), "its planned starts block backfill",
				"QOS %s can be preempted and lacks Flags=NoReserve", v.Name)
		}
		mode := s.modeOf(v)
		if v.GraceTime == 0 && mode != "suspend" {
			s.info("preempt-grace-short", s.qosAt(v.Name, "GraceTime"), "jobs get no time to checkpoint beyond KillWait",
				"QOS %s can be preempted and has GraceTime=0; give it the time a checkpoint takes", v.Name)
		}
		s.lintVictims(v, mode)
	}
}

func (s *site) lintVictims(v *scheduler.QOSSpec, mode string) {
	if mode == "suspend" {
		if v.GraceTime > 0 {
			s.warn("preempt-grace-suspend", s.qosAt(v.Name, "GraceTime"), "grace is not used",
				"QOS %s has GraceTime=%v and is suspended; use CANCEL or REQUEUE", v.Name, v.GraceTime)
		}
		if l := s.anyGPU(); l >= 0 {
			s.warn("preempt-suspend-gpu", s.suspendAt(v), "suspended jobs keep their GPUs, memory and licences",
				"QOS %s is suspended and may run on GPU nodes %s; use REQUEUE or CANCEL", v.Name, s.f.Nodes[l].Names.V)
		}
	}
	if req := s.f.Params.JobRequeue; mode == "requeue" && req.IsSet() && !req.V {
		s.warn("requeue-off", req.At, "victims are cancelled instead",
			"QOS %s is preempted by REQUEUE, JobRequeue=0 lets only jobs with --requeue be queued again; set JobRequeue=1", v.Name)
	}
}

// suspendAt is where the mode of a QOS was written.
func (s *site) suspendAt(v *scheduler.QOSSpec) Origin {
	if v.PreemptMode != "" {
		return s.qosAt(v.Name, "PreemptMode")
	}
	return s.f.Params.PreemptMode.At
}

// lintPreemptParts: part-preempt-ignored, and for partitions
// preempt-suspend-gpu, preempt-grace-suspend, requeue-off.
func (s *site) lintPreemptParts() {
	p := &s.f.Params
	switch s.preemptType() {
	case "qos":
		for i := range s.f.Partitions {
			q := &s.f.Partitions[i]
			if q.PreemptMode.IsSet() {
				s.warn("part-preempt-ignored", q.PreemptMode.At, "partition values are not read under preempt/qos",
					"partition %s has PreemptMode=%s; set it on the QOS", q.Name.V, strings.ToUpper(strings.Join(q.PreemptMode.V, ",")))
			}
			if q.GraceTime.V > 0 {
				s.warn("part-preempt-ignored", q.GraceTime.At, "partition values are not read under preempt/qos",
					"partition %s has GraceTime=%v; set it on the QOS", q.Name.V, q.GraceTime.V)
			}
		}
	case "partition_prio":
		requeue := ""
		for i := range s.parts {
			q := &s.parts[i]
			mode, at := realMode(p.PreemptMode.V), p.PreemptMode.At
			if q.p.PreemptMode.IsSet() {
				mode, at = realMode(q.p.PreemptMode.V), q.p.PreemptMode.At
			}
			if mode == "requeue" {
				requeue = q.p.Name.V
			}
			if mode != "suspend" {
				continue
			}
			if q.p.GraceTime.V > 0 {
				s.warn("preempt-grace-suspend", q.p.GraceTime.At, "grace is not used",
					"partition %s has GraceTime=%v and its jobs are suspended; use CANCEL or REQUEUE", q.p.Name.V, q.p.GraceTime.V)
			}
			if len(s.gpuLines(q)) > 0 {
				s.warn("preempt-suspend-gpu", at, "suspended jobs keep their GPUs, memory and licences",
					"jobs of partition %s are suspended and it has GPUs; use REQUEUE or CANCEL there", q.p.Name.V)
			}
		}
		if requeue != "" && p.JobRequeue.IsSet() && !p.JobRequeue.V {
			s.warn("requeue-off", p.JobRequeue.At, "victims are cancelled instead",
				"jobs of partition %s are preempted by REQUEUE, JobRequeue=0 lets only jobs with --requeue be queued again; set JobRequeue=1", requeue)
		}
	}
}

// lintLimits: enforce-missing.
func (s *site) lintLimits() {
	p := &s.f.Params
	enforced := func(word string) bool {
		return slices.Contains(p.AccountingStorageEnforce.V, word) || slices.Contains(p.AccountingStorageEnforce.V, "all") ||
			word == "limits" && slices.Contains(p.AccountingStorageEnforce.V, "safe")
	}
	limits, minutes := "", ""
	look := func(owner string, list []scheduler.LimitSpec) {
		for _, l := range list {
			if limits == "" {
				limits = owner + " " + l.Name + "=" + l.Value
			}
			if strings.Contains(l.Name, "Mins") || l.Name == "GrpWall" {
				minutes = owner + " " + l.Name + "=" + l.Value
			}
		}
	}
	for _, q := range s.b.cfg.QOS {
		look("QOS "+q.Name, q.Limits)
	}
	for _, a := range s.b.cfg.Accounts {
		look("account "+a.Account, a.Limits)
	}
	at := p.AccountingStorageEnforce.At
	if limits != "" && !enforced("limits") {
		s.warn("enforce-missing", at, "nothing is enforced",
			"limits are defined (%s), AccountingStorageEnforce=%q lacks limits", limits, strings.Join(p.AccountingStorageEnforce.V, ","))
	} else if minutes != "" && !enforced("safe") {
		s.warn("enforce-missing", at, "jobs that cannot finish within the minutes start and are killed",
			"minutes are limited (%s), AccountingStorageEnforce=%q lacks safe", minutes, strings.Join(p.AccountingStorageEnforce.V, ","))
	}
	if len(s.b.cfg.QOS) > 1 && !enforced("qos") {
		s.warn("enforce-missing", at, "a job may run without a valid QOS",
			"QOS %s is defined, AccountingStorageEnforce=%q lacks qos", s.b.cfg.QOS[1].Name, strings.Join(p.AccountingStorageEnforce.V, ","))
	}
}

// lintQOS: limit-typed-leak, qos-relative-twice, qos-usagefactor-safe,
// deny-missing.
func (s *site) lintQOS() {
	for i := range s.b.cfg.QOS {
		q := &s.b.cfg.QOS[i]
		s.lintLeak("QOS "+q.Name, q.Limits, func(key string) Origin { return s.qosAt(q.Name, key) })
		s.lintRelative(q)
		if _, ok := limitValue(q.Limits, "GrpTRESMins"); ok && q.UsageFactor != nil && *q.UsageFactor == 0 {
			s.info("qos-usagefactor-safe", s.qosAt(q.Name, "UsageFactor"), "minutes never accrue",
				"QOS %s has UsageFactor=0 and GrpTRESMins; the limit is never reached", q.Name)
		}
		if slices.Contains(q.Flags, "DenyOnLimit") {
			continue
		}
		for _, key := range []string{"MaxTRESPerJob", "MaxWall"} {
			if v, ok := limitValue(q.Limits, key); ok {
				s.info("deny-missing", s.qosAt(q.Name, key), "impossible jobs pend for ever instead of being refused",
					"QOS %s has %s=%s and lacks Flags=DenyOnLimit", q.Name, key, v)
				break
			}
		}
	}
	for i := range s.b.cfg.Accounts {
		a := &s.b.cfg.Accounts[i]
		s.lintLeak("account "+a.Account, a.Limits, func(key string) Origin { return s.assocAt(a, key) })
	}
}

// lintLeak looks for limits on a type without one on the whole.
func (s *site) lintLeak(owner string, list []scheduler.LimitSpec, at func(string) Origin) {
	for _, l := range list {
		if !strings.HasPrefix(l.Name, "MaxTRES") && !strings.HasPrefix(l.Name, "GrpTRES") {
			continue
		}
		items := limitItems(l.Value)
		for _, it := range items {
			base, _, typed := strings.Cut(it[0], ":")
			if !typed || slices.ContainsFunc(items, func(o [2]string) bool { return o[0] == base }) {
				continue
			}
			s.warn("limit-typed-leak", at(l.Name), "untyped requests pass the limit",
				"%s has %s on %s and not on %s; limit %s too", owner, l.Name, it[0], base, base)
			break
		}
	}
}

// assocAt finds where a key of an association was last set.
func (s *site) assocAt(a *scheduler.AssocSpec, key string) Origin {
	var at Origin
	for _, c := range s.f.Accounts {
		name, entity := a.Account, AccountEntity
		if a.User != "" {
			name, entity = a.User, UserEntity
		}
		if c.Entity != entity || len(c.Names) > 0 && !slices.Contains(c.Names, name) {
			continue
		}
		for _, set := range c.Set {
			if set.Key == key {
				at = set.At
			}
		}
	}
	return at
}

// lintRelative looks for a Relative QOS in more than one place.
func (s *site) lintRelative(q *scheduler.QOSSpec) {
	if !slices.Contains(q.Flags, "Relative") {
		return
	}
	var parts []string
	for i := range s.f.Partitions {
		if s.f.Partitions[i].QOS.V == q.Name {
			parts = append(parts, s.f.Partitions[i].Name.V)
		}
	}
	user := ""
	for _, a := range s.b.cfg.Accounts {
		if slices.Contains(a.QOS, q.Name) || a.DefaultQOS == q.Name {
			user = a.Account
			break
		}
	}
	at := s.qosAt(q.Name, "Flags")
	switch {
	case len(parts) > 1:
		s.bad("qos-relative-twice", at, "not allowed: a percentage has one total",
			"QOS %s is Relative and the QOS of the partitions %s; give each its own", q.Name, strings.Join(parts, ", "))
	case len(parts) == 1 && user != "":
		s.bad("qos-relative-twice", at, "not allowed: a percentage has one total",
			"QOS %s is Relative, the QOS of partition %s, and a job QOS of account %s; keep one of the two", q.Name, parts[0], user)
	}
}
