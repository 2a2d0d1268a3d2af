package scheduler

import "slices"

// mayEnter reports whether a partition takes jobs of this user: root alone,
// members of its groups, jobs with a reservation (spec: backfill 3). Root is of
// every group.
func mayEnter(user string, s *JobSpec, p *PartitionSpec) bool {
	root := user == "root"
	switch {
	case p.RootOnly && !root, p.ReqResv && len(s.Reservations) == 0:
		return false
	case len(p.AllowGroups) == 0 || root:
		return true
	}
	return slices.ContainsFunc(s.Groups, func(g string) bool { return slices.Contains(p.AllowGroups, g) })
}

// alternates returns s with those of its partitions that take no jobs replaced by
// their alternates. Source: slurm.conf(5), Alternate.
func (e *engine) alternates(s *JobSpec) *JobSpec {
	names := s.Partitions
	if len(names) == 0 && e.defPart >= 0 {
		names = []string{e.parts[e.defPart].spec.Name}
	}
	out := s
	for i, n := range names {
		p, ok := e.partByKey[n]
		if !ok {
			return s
		}
		for hops := 0; e.parts[p].spec.State >= PartitionDrain && hops < len(e.parts); hops++ {
			next, ok := e.partByKey[e.parts[p].spec.Alternate]
			if !ok {
				break
			}
			p = next
		}
		if e.parts[p].spec.Name == n {
			continue
		}
		if out == s {
			in := *s
			in.Partitions = slices.Clone(names)
			out = &in
		}
		out.Partitions[i] = e.parts[p].spec.Name
	}
	return out
}
