package gres

// spreadTasks decides how many tasks and CPUs each chosen node gets.
//
// Source: spec/cores.md 4.1.
func (s *Scratch) spreadTasks(nodes []Chosen, r *Request) Refusal {
	sel := &s.sel
	sel.tasks, sel.cpus = zeroed32(sel.tasks, len(nodes)), zeroed32(sel.cpus, len(nodes))
	sel.room = zeroed32(sel.room, len(nodes))
	c := int32(r.perTask())
	if r.Has(WholeNode) {
		return RefuseNone
	}
	if r.Has(Overcommit) {
		for i := range nodes {
			sel.tasks[i], sel.cpus[i] = 1, max(c, r.NodeCPUs)
		}
		return s.raiseCPUs(nodes, r)
	}
	want := s.tasksToPlace(nodes, r)
	hard := false
	for i := range nodes {
		room := nodes[i].CPUs / c
		if r.TasksPerNode > 0 {
			room = min(room, r.TasksPerNode)
		}
		sel.room[i] = room
	}
	if limit, h := s.deviceTasks(nodes, r); limit {
		hard = h
		if left := s.placeTasks(nodes, r, want, true); left == 0 {
			return s.raiseCPUs(nodes, r)
		} else if hard {
			return RefuseSpread
		}
	}
	if left := s.placeTasks(nodes, r, want, false); left > 0 {
		return RefuseSpread
	}
	return s.raiseCPUs(nodes, r)
}

// tasksToPlace returns the number of tasks to lay out.
func (s *Scratch) tasksToPlace(nodes []Chosen, r *Request) int32 {
	k := int32(len(nodes))
	switch {
	case r.TasksPerNode > 0:
		return r.TasksPerNode * k
	case r.TasksKnown == Given:
		return r.Tasks
	}
	cpus := max(k, r.MinCPUs, k*r.NodeCPUs)
	var need int32
	for i := range nodes {
		// What devices demand is cores, whose threads all count here, also
		// where a task may use one alone (recorded with one task per core).
		sh := nodes[i].Node.Shape
		v, t := int32(r.threads(sh)), int32(sh.threads)
		if r.ThreadsPerCore > 0 {
			t = min(t, r.ThreadsPerCore)
		}
		need += nodes[i].Fit.MinCPUs / max(v, 1) * max(t, v)
	}
	return max(cpus, need) / int32(r.perTask())
}

// deviceTasks reports whether devices limit the tasks of nodes, and whether
// that limit is hard: each task needs devices of its own.
func (s *Scratch) deviceTasks(nodes []Chosen, r *Request) (limited, hard bool) {
	for k := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[k]
		limited = limited || d.PerTask > 0 || r.TasksPerGPU > 0 && d.Name == NameGPU
		hard = hard || d.PerTask > 0
	}
	return limited, hard
}

// taskLimit returns how many tasks the devices granted to c serve.
func taskLimit(c *Chosen, r *Request) int32 {
	limit := int64(unlimitedTasks)
	for k := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[k]
		if d.PerTask > 0 {
			limit = min(limit, int64(c.Devices[k])/d.PerTask)
		}
		if r.TasksPerGPU > 0 && d.Name == NameGPU {
			limit = min(limit, int64(c.Devices[k])*int64(r.TasksPerGPU))
		}
	}
	return int32(limit)
}

// placeTasks lays out want tasks and returns how many are left over.
func (s *Scratch) placeTasks(nodes []Chosen, r *Request, want int32, limited bool) int32 {
	sel, c := &s.sel, int32(r.perTask())
	place := func(i int, most int32) int32 {
		room := sel.room[i]
		if limited {
			room = min(room, taskLimit(&nodes[i], r))
		}
		k := max(min(most, room-sel.tasks[i], want), 0)
		sel.tasks[i] += k
		sel.cpus[i] += k * c
		want -= k
		return k
	}
	clear(sel.tasks)
	clear(sel.cpus)
	for i := range nodes {
		if place(i, 1) == 0 {
			return max(want, 1)
		}
	}
	for i := range nodes {
		v := int32(r.threads(nodes[i].Node.Shape))
		if r.PlaneSize > 0 {
			place(i, r.PlaneSize-1)
			continue
		}
		place(i, sel.cpus[i]%max(v, 1)/c)
	}
	for want > 0 {
		any := int32(0)
		for i := range nodes {
			k := max(1, int32(r.threads(nodes[i].Node.Shape))/c)
			if r.PlaneSize > 0 {
				k = r.PlaneSize
			}
			any += place(i, k)
		}
		if any == 0 {
			break
		}
	}
	return want
}

// raiseCPUs raises the CPUs of nodes to what the devices demand.
func (s *Scratch) raiseCPUs(nodes []Chosen, r *Request) Refusal {
	for i := range nodes {
		s.sel.cpus[i] = max(s.sel.cpus[i], nodes[i].Fit.MinCPUs)
	}
	return RefuseNone
}

func zeroed32(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n)
	}
	s = s[:n]
	clear(s)
	return s
}
