package schedtest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/scheduler"
)

// A gpuAsk is what a job asks of a node, or of the node for each task.
type gpuAsk struct {
	typ     string
	count   int
	perTask bool
}

// gpusOf reads what a job asks of GPUs.
func gpusOf(s *scheduler.JobSpec) (a gpuAsk) {
	text := strings.TrimPrefix(s.GRES, "gpu:") + s.GPUsPerNode
	if s.GPUsPerTask != "" {
		text, a.perTask = s.GPUsPerTask, true
	}
	if i := strings.LastIndex(text, ":"); i >= 0 {
		a.typ, text = text[:i], text[i+1:]
	}
	a.count, _ = strconv.Atoi(text)
	return a
}

// gives says how many tasks of a job a node takes for sure, and at most. A job that
// asks for nodes gets one for each.
func (w *world) gives(j *seenJob, n *seenNode) (sure, could int) {
	s := j.spec
	if n.whole || n.cores <= 0 || s.Exclusive == scheduler.ExclusiveNode && n.busy {
		return 0, 0
	}
	threads, each := int(max(n.hw.ThreadsPerCore, 1)), int(max(s.CPUsPerTask, 1))
	could = n.cores * threads / each
	sure = could
	if each > 1 {
		sure = n.cores / ((each + threads - 1) / threads)
	}
	if !w.cfg.Parameters.Select.NoMemory {
		switch {
		case s.Mem == scheduler.MemPerNode && s.MemMiB > n.memory:
			return 0, 0
		case s.Mem != scheduler.MemPerNode && n.busy:
			sure = 0
		}
	}
	if s.MinNodes > 0 {
		sure, could = min(sure/int(max(s.TasksPerNode, 1)), 1), min(could/int(max(s.TasksPerNode, 1)), 1)
	}
	g := gpusOf(s)
	if g.count == 0 {
		return sure, could
	}
	if len(n.hw.Devices) > 0 { // devices that are cut
		switch {
		case g.typ != "" && g.typ != "2g.12gb":
			return 0, 0
		case n.gpus > 0 || !g.perTask && g.count > 1:
			return 0, could
		}
		return min(sure, 1), could
	}
	name, count, _ := strings.Cut(strings.TrimPrefix(n.hw.GRES, "gpu:"), ":")
	have, _ := strconv.Atoi(count)
	have -= n.gpus
	switch {
	case g.typ != "" && g.typ != name || have < g.count:
		return 0, 0
	case g.perTask:
		return min(sure, have/g.count), min(could, have/g.count)
	}
	return sure, could
}

// alternatives are the sets of nodes by a feature of theirs, "" all nodes, one of
// which must serve a job: those that will do for sure, and those that may. What it
// prefers will do instead of what it requires (spec: cores 8.5).
func alternatives(s *scheduler.JobSpec) (sure, could []string) {
	sure, could = features(s.Constraint)
	if s.Prefer != "" {
		a, b := features(s.Prefer)
		sure, could = append(slices.Clone(sure), a...), append(slices.Clone(could), b...)
	}
	return sure, could
}

func features(constraint string) (sure, could []string) {
	switch c := strings.Trim(constraint, "[]"); {
	case strings.Contains(c, "&"):
		return nil, []string{""}
	case strings.Contains(c, "*"):
		return []string{c[:strings.Index(c, "*")]}, []string{""}
	default:
		sure = strings.Split(c, "|")
		return sure, sure
	}
}

// fits says whether a job fits on the nodes sure, where it is to be of use that it
// does, or at least on could.
func (w *world) fits(j *seenJob, p *scheduler.PartitionSpec, sure, could []*seenNode) truth {
	for1, for2 := alternatives(j.spec)
	if slices.ContainsFunc(for1, func(f string) bool { return w.enough(j, p, sure, f, true) }) {
		return yes
	}
	if slices.ContainsFunc(for2, func(f string) bool { return w.enough(j, p, could, f, false) }) {
		return unsure
	}
	return no
}

// enough reports whether a job fits on nodes with a feature, for sure or at most:
// it counts what they give, in each domain of a level that its members must share,
// and for slices in multiples of them (spec: topology 3.1).
func (w *world) enough(j *seenJob, p *scheduler.PartitionSpec, nodes []*seenNode, feature string, sure bool) bool {
	want := int(j.spec.Tasks)
	if j.spec.MinNodes > 0 {
		want = int(j.spec.MinNodes)
	}
	level, slice := "", 1
	for _, l := range j.spec.Levels {
		if l.Slice > 0 {
			level, slice = l.Level, int(l.Slice)
		} else if l.Required {
			level, slice = l.Level, 0 // all in one
		}
	}
	if slice > 0 && want%slice != 0 {
		return !sure
	}
	in := map[string][]int{}
	for _, n := range nodes {
		if feature != "" && !slices.Contains(n.hw.Features, feature) {
			continue
		}
		s, c := w.gives(j, n)
		if sure {
			c = s
		}
		domain := ""
		if level != "" {
			domain = w.domain(n.Name, level)
		}
		if (level != "" || sure && len(w.cfg.Topologies) > 0) && w.domain(n.Name, "zone") == "" {
			continue
		}
		in[domain] = append(in[domain], c)
	}
	if p.MaxNodes > 0 && len(in) > 1 && slice > 0 && sure {
		return false // which of the domains share the nodes that it may have
	}
	total := 0
	for _, list := range in {
		slices.Sort(list)
		if p.MaxNodes > 0 {
			list = list[max(len(list)-int(p.MaxNodes), 0):]
		}
		c := 0
		for _, n := range list {
			c += n
		}
		if slice == 0 {
			total = max(total, c)
		} else {
			total += c / slice * slice
		}
	}
	return total >= want
}

// domain names the domain of a level that a node is in, "" none.
func (m *memory) domain(node, level string) string {
	if len(m.cfg.Topologies) == 0 {
		return ""
	}
	top := &m.cfg.Topologies[0]
	for i := range top.Domains {
		if top.Domains[i].Nodes == node {
			return strings.Join(top.Domains[i].Values[:slices.Index(top.Levels, level)+1], "/")
		}
	}
	return ""
}
