package scheduler

import "fmt"

// check walks the books and panics at the first thing that contradicts another.
// It runs after every call in builds with the tag invariants or -race.
func (e *engine) check() {
	e.pool.Check()
	fail := func(format string, args ...any) {
		panic("scheduler: invariant: " + fmt.Sprintf(format, args...))
	}
	pending, running, used := 0, 0, 0
	var cpu, gpu int64
	onNode := make([]int, len(e.nodes))
	rows := make([][]uint64, len(e.nodes))
	for i := range e.there.All() {
		rows[i] = make([]uint64, e.pool.Shape(int32(i)).RowLen())
		if (e.nodes[i].state == NodeUp) != e.pool.Available(int32(i)) {
			fail("node %d is %s and available is %v", i, e.nodes[i].state, e.pool.Available(int32(i)))
		}
		if len(e.nodes[i].jobs) > 0 {
			used++
		}
	}
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		switch {
		case j.id == 0:
			continue
		case e.jobs.find(j.id) != int32(r):
			fail("job %d is in row %d and found in %d", j.id, r, e.jobs.find(j.id))
		case j.state == StatePending:
			pending++
		case j.running():
			running++
		}
		if !j.running() && len(j.alloc) > 0 {
			fail("job %d is %s and holds %d nodes", j.id, j.state, len(j.alloc))
		}
		if j.running() && len(j.alloc) == 0 {
			fail("job %d runs on nothing", j.id)
		}
		for i := range j.alloc {
			a := &j.alloc[i]
			if i > 0 && j.alloc[i-1].node >= a.node {
				fail("job %d: nodes not ascending", j.id)
			}
			onNode[a.node]++
			sh := e.pool.Shape(int32(a.node))
			if err := sh.CheckGrant(rows[a.node], &a.grant); err != nil {
				fail("job %d on node %d: %v", j.id, a.node, err)
			}
			sh.Take(rows[a.node], &a.grant)
			if a.grant.SharedCores {
				for w, c := range a.grant.Cores {
					rows[a.node][w] |= c
				}
			}
		}
		if j.running() {
			u := e.use(j)
			cpu += u.cpuMilli
			gpu += u.gpuMilli
		}
	}
	for i := range e.there.All() {
		if onNode[i] != len(e.nodes[i].jobs) {
			fail("node %d: %d jobs hold it, %d are listed", i, onNode[i], len(e.nodes[i].jobs))
		}
		if row := e.pool.Row(int32(i)); !e.pool.Shape(int32(i)).SameUse(row, rows[i]) {
			fail("node %d: the pool has %#x, the jobs hold %#x", i, row, rows[i])
		}
	}
	c := &e.counts
	if c.Pending != pending || c.Running != running || c.NodesUsed != used || c.CPUMilliUsed != cpu || c.GPUMilliUsed != gpu {
		fail("counts %+v, counted pending %d running %d nodes %d cpu %d gpu %d", *c, pending, running, used, cpu, gpu)
	}
	e.checkQueue(fail)
	for r := range e.jobs.rows {
		e.checkSteps(&e.jobs.rows[r])
	}
	e.checkPlans(fail)
	e.checkDepends(fail)
}

func (e *engine) checkQueue(fail func(string, ...any)) {
	s := e.queue.sorted
	seen := make(map[JobID]int16)
	for i := range s {
		// A record that a newer one replaces may stand beside it.
		if i > 0 && (compareRecords(s[i-1], s[i]) > 0 || compareRecords(s[i-1], s[i]) == 0 && e.alive(&s[i-1]) && e.alive(&s[i])) {
			fail("queue not sorted at %d", i)
		}
		if e.alive(&s[i]) {
			seen[s[i].id]++
		}
	}
	for i := range e.queue.incoming {
		if e.alive(&e.queue.incoming[i]) {
			seen[e.queue.incoming[i].id]++
		}
	}
	refs := make([]int32, len(e.classes.rows))
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if j.id == 0 {
			continue
		}
		if queued := j.flags&flagQueued != 0; queued && seen[j.id] != j.records || !queued && seen[j.id] != 0 {
			fail("job %d: %d records in the queue, flags %b", j.id, seen[j.id], j.flags)
		}
		if !j.state.Ended() {
			for _, c := range j.classes {
				refs[c]++
			}
		}
	}
	for i := range refs {
		if e.classes.rows[i].refs != refs[i] {
			fail("class %d: %d references, counted %d", i, e.classes.rows[i].refs, refs[i])
		}
	}
}
