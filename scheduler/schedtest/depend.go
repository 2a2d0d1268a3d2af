package schedtest

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// genDepend lets a job wait for earlier ones now and then.
func genDepend(t *rapid.T, j *scheduler.JobSpec) {
	if rapid.IntRange(0, 3).Draw(t, "depends") > 0 {
		return
	}
	j.Name = rapid.SampledFrom([]string{"", "x"}).Draw(t, "name")
	j.KillOnInvalidDep = rapid.SampledFrom([]string{"", "yes"}).Draw(t, "kill on invalid dependency")
	var terms []string
	for range rapid.IntRange(1, 2).Draw(t, "conditions") {
		kind := rapid.SampledFrom([]string{"after", "afterany", "afterok", "afternotok", "singleton"}).Draw(t, "kind")
		if kind != "singleton" {
			kind += fmt.Sprintf(":%d", max(int64(j.ID)-rapid.Int64Range(0, 3).Draw(t, "before"), 1))
		}
		terms = append(terms, kind)
	}
	j.Dependency = strings.Join(terms, rapid.SampledFrom([]string{",", "?"}).Draw(t, "separator"))
}

// dependOptions reads the fields of a job that say what it waits for:
// name=a dep=afterok:1,after:2+5 kill=yes.
func dependOptions(j *scheduler.JobSpec, f fields) {
	j.Name, j.Dependency, j.KillOnInvalidDep = f["name"], f["dep"], f["kill"]
}

// update changes a job: dep=, nice=, begin=, prio= and name= of a line.
func (e *env) update(job scheduler.JobID, in []fields) (string, error) {
	var u scheduler.JobUpdate
	for _, f := range in {
		if f.has("dep") {
			dep := f["dep"]
			u.Dependency = &dep
		}
		if f.has("nice") {
			nice := f.num("nice")
			u.Nice = &nice
		}
		if f.has("begin") {
			begin := scheduler.Seconds(f.num("begin"))
			u.Begin = &begin
		}
		if f.has("prio") {
			prio := uint32(f.num("prio"))
			u.Priority = &prio
		}
		if f.has("name") {
			e.s.View(func(v scheduler.View) {
				if s := v.Spec(job); s != nil {
					spec := *s
					spec.Name = f["name"]
					u.Spec = &spec
				}
			})
		}
	}
	return e.apply(scheduler.Event{Kind: scheduler.EventJobUpdate, Job: job, Update: &u})
}

// depends lists the waiting jobs, what they wait for, and since when they are
// eligible.
func (e *env) depends() string {
	var b strings.Builder
	e.s.View(func(v scheduler.View) {
		for j := range v.Jobs() {
			if j.State != scheduler.StatePending {
				continue
			}
			fmt.Fprintf(&b, "%d %s", j.ID, j.Reason)
			if d := v.AppendDependency(nil, j.ID); len(d) > 0 {
				fmt.Fprintf(&b, " %s", d)
			}
			if j.Eligible > 0 {
				fmt.Fprintf(&b, " eligible %d", j.Eligible/1e6)
			}
			b.WriteByte('\n')
		}
	})
	return b.String()
}
