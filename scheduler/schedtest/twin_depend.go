package schedtest

import (
	"strconv"
	"strings"

	"github.com/berth-sched/berth/scheduler"
)

// terms splits a dependency; any says that one of them is enough.
func terms(text string) (list []string, any bool) {
	if text == "" {
		return nil, false
	}
	if strings.Contains(text, "?") {
		return strings.Split(text, "?"), true
	}
	return strings.Split(text, ","), false
}

// settle looks which terms of a waiting job's dependency have come true; those stay
// so (spec: backfill 5).
func (m *memory) settle(id scheduler.JobID, text string) {
	x := m.job(id)
	list, _ := terms(text)
	if x.depends != text {
		x.depends, x.met = text, make([]bool, len(list))
		x.before = nil
	}
	for i, term := range list {
		x.met[i] = x.met[i] || m.holds(id, term)
	}
}

// holds reports whether a term is true as things are.
func (m *memory) holds(id scheduler.JobID, term string) bool {
	kind, number, _ := strings.Cut(term, ":")
	if kind == "singleton" {
		return !m.twins(id)
	}
	n, _ := strconv.ParseUint(number, 10, 64)
	on := m.jobs[scheduler.JobID(n)]
	if on == nil {
		return kind == "after" || kind == "afterany"
	}
	switch kind {
	case "after":
		return !on.pending
	case "afterany":
		return on.ended
	case "afterok":
		return on.ended && on.ok
	case "afternotok":
		return on.ended && !on.ok
	}
	return false
}

// twins reports whether an earlier job of the same user and name has not ended.
func (m *memory) twins(id scheduler.JobID) bool {
	x := m.job(id)
	for other, y := range m.jobs {
		if other < id && y.user == x.user && y.name == x.name && !y.ended {
			return true
		}
	}
	return false
}

// settled says whether a job's dependency is settled: with before when the last
// pass began, else now. A term that came true in the pass counts in the next.
func (x *memo) settled(before bool) truth {
	list, any := terms(x.depends)
	if len(list) == 0 {
		return yes
	}
	all, some := yes, no
	for i := range list {
		t := truthOf(x.met[i])
		if before && t == yes && (i >= len(x.before) || !x.before[i]) {
			t = unsure
		}
		all, some = min(all, t), max(some, t)
	}
	if any {
		return some
	}
	return all
}
