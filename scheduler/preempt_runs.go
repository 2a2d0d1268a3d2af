package scheduler

import (
	"cmp"
	"slices"
)

// A runner is a running job as the search for victims walks it. What it says does
// not change while the job runs.
type runner struct {
	submit             Time
	id                 JobID
	row                int32
	qos                int32 // -1 none
	cpuMilli, gpuMilli int64
}

// lists reports whether running jobs are listed.
func (p *preempter) lists() bool { return p.on || p.rule.Cluster.Gang }

func compareRunners(a, b runner) int {
	return cmp.Or(cmp.Compare(a.submit, b.submit), cmp.Compare(a.id, b.id))
}

// listRuns lists the running jobs anew.
func (e *engine) listRuns() {
	p := &e.pre
	p.runs = p.runs[:0]
	if !p.lists() {
		return
	}
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.id != 0 && j.running() {
			p.runs = append(p.runs, e.runnerOf(int32(r)))
		}
	}
	slices.SortFunc(p.runs, compareRunners)
}

func (e *engine) runnerOf(r int32) runner {
	j := &e.jobs.rows[r]
	u := e.use(j)
	return runner{j.submit, j.id, r, e.qosOf(j), u.cpuMilli, u.gpuMilli}
}

// noteRun adds a job that starts.
func (e *engine) noteRun(r int32) {
	p := &e.pre
	if !p.lists() {
		return
	}
	x := e.runnerOf(r)
	i, _ := slices.BinarySearchFunc(p.runs, x, compareRunners)
	p.runs = slices.Insert(p.runs, i, x)
}

// noteEnd takes off a job that has ended.
func (e *engine) noteEnd(r int32) {
	p := &e.pre
	if !p.lists() {
		return
	}
	j := &e.jobs.rows[r]
	if i, ok := slices.BinarySearchFunc(p.runs, runner{submit: j.submit, id: j.id}, compareRunners); ok {
		p.runs = slices.Delete(p.runs, i, i+1)
	}
}

// growRuns makes room for n running jobs, so that a pass need not.
func (p *preempter) growRuns(n int) {
	if p.lists() {
		p.runs = slices.Grow(p.runs, max(n-len(p.runs), 0))
	}
}
