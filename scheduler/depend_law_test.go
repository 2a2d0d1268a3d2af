package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-sched/berth/scheduler"
)

// A dependTwin knows dependencies from the log of what happened to jobs alone:
// it reads every condition anew from the beginning each time it is asked.
type dependTwin struct {
	now  scheduler.Time
	log  []dependEntry
	jobs map[scheduler.JobID]*dependJob
	ids  []scheduler.JobID
	kill bool // cluster's rule
	age  time.Duration
}

// A dependEntry says what a job became: pending, started or ended.
type dependEntry struct {
	at   scheduler.Time
	job  scheduler.JobID
	what byte // 'p', 's', 'e'
	ok   bool
}

type dependJob struct {
	user, name string
	kill       string
	dep        scheduler.Dependency
	unknown    []bool         // terms on a job that was not known when the dependency was given
	from       int            // length of the log then
	base       scheduler.Time // since when it is eligible but for the dependency
}

func (w *dependTwin) add(id scheduler.JobID, what byte, ok bool) {
	w.log = append(w.log, dependEntry{w.now, id, what, ok})
}

// last is the last entry of a job among the first n; what is 0 if there is none.
func (w *dependTwin) last(id scheduler.JobID, n int) (e dependEntry) {
	for _, x := range w.log[:n] {
		if x.job == id {
			e = x
		}
	}
	return e
}

// known reports whether the job is remembered now.
func (w *dependTwin) known(id scheduler.JobID) bool {
	e := w.last(id, len(w.log))
	return e.what != 0 && !(e.what == 'e' && e.at.Add(w.age) <= w.now)
}

// began is when the job started in the life that it had when the first n entries
// were written, or was cancelled before; Never if it waits.
func (w *dependTwin) began(id scheduler.JobID, n int) scheduler.Time {
	at := scheduler.Never
	for _, x := range w.log[:n] {
		switch {
		case x.job != id:
		case x.what == 'p':
			at = scheduler.Never
		case at == scheduler.Never:
			at = x.at
		}
	}
	return at
}

// term says when a condition of job id came true, Never if it has not, and
// whether it cannot any more.
func (w *dependTwin) term(id scheduler.JobID, i int) (met scheduler.Time, failed bool) {
	j := w.jobs[id]
	t := &j.dep.Terms[i]
	if j.unknown[i] {
		return j.base, false
	}
	// What has been true once, stays so: look at every state since then.
	for n := j.from; n <= len(w.log); n++ {
		at, until := j.base, w.now
		if n > j.from {
			at = w.log[n-1].at
		}
		if n < len(w.log) {
			until = w.log[n].at
		}
		e := w.last(t.Job, n)
		switch t.Kind {
		case scheduler.DependAfter:
			if began := w.began(t.Job, n); began != scheduler.Never && began.Add(t.Delay) <= until {
				return max(began.Add(t.Delay), j.base), false
			}
		case scheduler.DependSingleton:
			alone := true
			for _, o := range w.ids {
				x := w.last(o, n)
				if o < id && x.what != 0 && x.what != 'e' && w.jobs[o].user == j.user && w.jobs[o].name == j.name {
					alone = false
				}
			}
			if alone {
				return at, false
			}
		default:
			if e.what != 'e' {
				continue
			}
			if t.Kind == scheduler.DependAfterAny || e.ok == (t.Kind != scheduler.DependAfterNotOK) {
				return at, false
			}
			return scheduler.Never, true
		}
	}
	return scheduler.Never, false
}

// state says since when a job's dependency is met, Never if it is not, and
// whether it never can be.
func (w *dependTwin) state(id scheduler.JobID) (met scheduler.Time, never bool) {
	j := w.jobs[id]
	if len(j.dep.Terms) == 0 {
		return j.base, false
	}
	first, last, fails := scheduler.Never, scheduler.Time(0), 0
	for i := range j.dep.Terms {
		at, failed := w.term(id, i)
		first, last = min(first, at), max(last, at)
		if failed {
			fails++
		}
	}
	if j.dep.Any {
		return first, first == scheduler.Never && fails == len(j.dep.Terms)
	}
	return last, fails > 0
}

// spread ends the jobs that can never run and are to be cancelled, and those
// that wait for them.
func (w *dependTwin) spread() {
	for again := true; again; {
		again = false
		for _, id := range w.ids {
			j := w.jobs[id]
			if w.last(id, len(w.log)).what != 'p' || j.kill == "no" || j.kill == "" && !w.kill {
				continue
			}
			if _, never := w.state(id); never {
				w.add(id, 'e', false)
				again = true
			}
		}
	}
}

// give sets a dependency of a job that waits, and says whether it must be
// refused.
func (w *dependTwin) refuses(id scheduler.JobID, user, name string, d *scheduler.Dependency) bool {
	for i := range d.Terms {
		t := &d.Terms[i]
		ends := t.Kind == scheduler.DependAfterOK || t.Kind == scheduler.DependAfterNotOK
		if t.Job == id || ends && !w.known(t.Job) {
			return true
		}
	}
	seen := map[scheduler.JobID]bool{}
	var reach func(to scheduler.JobID) bool
	next := func(of scheduler.JobID, user, name string, t *scheduler.DependencyTerm) bool {
		if t.Kind != scheduler.DependSingleton {
			what := w.last(t.Job, len(w.log)).what
			return (t.Job == id || w.known(t.Job) && what != 'e' && !(t.Kind == scheduler.DependAfter && what == 's')) && reach(t.Job)
		}
		for _, o := range w.ids {
			what := w.last(o, len(w.log)).what
			if o < of && o != id && what != 'e' && w.jobs[o].user == user && w.jobs[o].name == name && reach(o) {
				return true
			}
		}
		return false
	}
	reach = func(of scheduler.JobID) bool {
		if of == id {
			return true
		}
		if seen[of] || w.last(of, len(w.log)).what != 'p' {
			return false
		}
		seen[of] = true
		if met, _ := w.state(of); met <= w.now {
			return false
		}
		j := w.jobs[of]
		for i := range j.dep.Terms {
			if at, failed := w.term(of, i); at <= w.now || failed {
				continue
			}
			t := &j.dep.Terms[i]
			if t.Kind == scheduler.DependSingleton && id < of && user == j.user && name == j.name || next(of, j.user, j.name, t) {
				return true
			}
		}
		return false
	}
	for i := range d.Terms {
		if next(id, user, name, &d.Terms[i]) {
			return true
		}
	}
	return false
}

func genDependency(t *rapid.T, ids []scheduler.JobID, most int) string {
	var terms []string
	for range rapid.IntRange(1, 3).Draw(t, "conditions") {
		kind := rapid.SampledFrom([]string{"after", "after", "afterany", "afterok", "afternotok", "aftercorr", "singleton"}).Draw(t, "kind")
		if kind != "singleton" {
			on := scheduler.JobID(rapid.IntRange(1, most).Draw(t, "on"))
			if len(ids) > 0 && rapid.IntRange(0, 3).Draw(t, "known") > 0 {
				on = rapid.SampledFrom(ids).Draw(t, "on")
			}
			kind += fmt.Sprintf(":%d", on)
		}
		if strings.HasPrefix(kind, "after:") && rapid.Bool().Draw(t, "delayed") {
			kind += "+1"
		}
		terms = append(terms, kind)
	}
	return strings.Join(terms, rapid.SampledFrom([]string{",", "?"}).Draw(t, "separator"))
}

// propDepend drives an engine and the twin with the same events.
func propDepend(t *rapid.T) {
	w := &dependTwin{jobs: map[scheduler.JobID]*dependJob{}, age: 40 * time.Second, kill: rapid.Bool().Draw(t, "kill_invalid_depend")}
	cfg := scheduler.Config{Nodes: []scheduler.NodeSpec{{Names: "n0", CoresPerSocket: 2}}}
	cfg.Parameters.Select.NoMemory = true
	cfg.Parameters.MinJobAge, cfg.Parameters.KillInvalidDep = w.age, w.kill
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	ending := map[scheduler.JobID]byte{}
	running := map[scheduler.JobID]bool{}
	pick := func(t *rapid.T, what byte) scheduler.JobID {
		var ids []scheduler.JobID
		for _, id := range w.ids {
			if w.last(id, len(w.log)).what == what {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return 0
		}
		return rapid.SampledFrom(ids).Draw(t, "job")
	}
	apply := func(t *rapid.T, ev scheduler.Event) {
		if err := s.Apply(w.now, ev); err != nil {
			t.Fatal(err)
		}
	}
	pass := func(t *rapid.T) {
		for range 20 {
			for _, d := range s.Pass(w.now, nil) {
				if d.Op == scheduler.OpStart {
					w.add(d.Job, 's', false)
					running[d.Job] = true
				}
			}
			w.spread()
			if at, ok := s.Wake(); !ok || at > w.now {
				return
			}
		}
		t.Fatal("the next pass is due at once, again and again")
	}
	give := func(id scheduler.JobID, d scheduler.Dependency) {
		j := w.jobs[id]
		j.dep, j.from, j.unknown = d, len(w.log), nil
		for i := range d.Terms {
			j.unknown = append(j.unknown, d.Terms[i].Kind != scheduler.DependSingleton && !w.known(d.Terms[i].Job))
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			id := scheduler.JobID(len(w.ids)*2 + rapid.IntRange(1, 2).Draw(t, "id"))
			if rapid.IntRange(0, 3).Draw(t, "old id") == 0 {
				id = scheduler.JobID(rapid.IntRange(1, int(id)).Draw(t, "id"))
			}
			j := &dependJob{
				user: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), name: rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "name"),
				kill: rapid.SampledFrom([]string{"", "", "yes", "no"}).Draw(t, "kill"), base: w.now,
			}
			spec := scheduler.JobSpec{ID: id, User: j.user, Name: j.name, Tasks: 1, TimeLimit: 24 * time.Hour, KillOnInvalidDep: j.kill}
			var d scheduler.Dependency
			if rapid.IntRange(0, 3).Draw(t, "depends") > 0 {
				spec.Dependency = genDependency(t, w.ids, int(id)+1)
				d, _ = scheduler.ParseDependency(spec.Dependency)
			}
			if w.jobs[id] != nil {
				return // ids are not used twice
			}
			err := s.Apply(w.now, scheduler.Submit(&spec))
			if want := w.refuses(id, j.user, j.name, &d); want != errors.Is(err, scheduler.ErrDependency) || !want && err != nil {
				t.Fatalf("submit %d with %q: %v, the twin refuses: %v", id, spec.Dependency, err, want)
			}
			if err != nil {
				return
			}
			w.jobs[id] = j
			w.ids = append(w.ids, id)
			slices.Sort(w.ids)
			w.add(id, 'p', false)
			give(id, d)
			w.spread()
		},
		"update": func(t *rapid.T) {
			id := pick(t, 'p')
			if id == 0 {
				return
			}
			text, j := "", w.jobs[id]
			var d scheduler.Dependency
			if rapid.IntRange(0, 3).Draw(t, "depends") > 0 {
				text = genDependency(t, w.ids, len(w.ids)*2+2)
				d, _ = scheduler.ParseDependency(text)
			}
			err := s.Apply(w.now, scheduler.Event{Kind: scheduler.EventJobUpdate, Job: id, Update: &scheduler.JobUpdate{Dependency: &text}})
			if want := w.refuses(id, j.user, j.name, &d); want != errors.Is(err, scheduler.ErrDependency) || !want && err != nil {
				t.Fatalf("update %d to %q: %v, the twin refuses: %v", id, text, err, want)
			}
			if err != nil {
				return
			}
			met, _ := w.state(id)
			if met <= w.now && text == "" {
				j.base = max(j.base, met)
			} else {
				j.base = w.now
			}
			give(id, d)
			w.spread()
		},
		"end": func(t *rapid.T) {
			id := pick(t, 's')
			if id == 0 {
				return
			}
			exit := rapid.Int32Range(0, 1).Draw(t, "exit code")
			apply(t, scheduler.Ended(id, scheduler.JobEnd{ExitCode: exit}))
			if ending[id] == 'r' {
				w.add(id, 'p', false)
				met, _ := w.state(id)
				w.jobs[id].dep, w.jobs[id].base = scheduler.Dependency{}, max(w.now, met)
			} else {
				w.add(id, 'e', exit == 0 && ending[id] == 0)
			}
			delete(ending, id)
			w.spread()
		},
		"cancel": func(t *rapid.T) {
			if id := pick(t, 'p'); id != 0 && rapid.Bool().Draw(t, "waiting") {
				apply(t, scheduler.Cancel(id))
				w.add(id, 'e', false)
				w.spread()
			} else if id := pick(t, 's'); id != 0 && ending[id] == 0 {
				apply(t, scheduler.Cancel(id))
				ending[id] = 'c'
			}
		},
		"requeue": func(t *rapid.T) {
			if id := pick(t, 's'); id != 0 && ending[id] == 0 {
				apply(t, scheduler.Requeue(id))
				ending[id] = 'r'
			}
		},
		"advance": func(t *rapid.T) {
			to := w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
			for at, ok := s.Wake(); ok && at < to; at, ok = s.Wake() {
				w.now = max(w.now, at)
				pass(t)
			}
			w.now = to
			pass(t)
		},
		"restart": func(t *rapid.T) {
			b, err := s.AppendSnapshot(nil)
			if err != nil {
				t.Fatal(err)
			}
			before := s
			if s, err = scheduler.Restore(b, nil); err != nil {
				t.Fatal(err)
			}
			if hashOf(s) != hashOf(before) {
				t.Fatal("the restored state is another")
			}
		},
		"fork": func(t *rapid.T) {
			f, err := s.Fork()
			if err != nil {
				t.Fatal(err)
			}
			s = f
		},
		"": func(t *rapid.T) {
			pass(t)
			checkDepend(t, s, w)
		},
	})
}

// checkDepend compares what the engine shows with the twin.
func checkDepend(t *rapid.T, s scheduler.Scheduler, w *dependTwin) {
	s.View(func(v scheduler.View) {
		for _, id := range w.ids {
			e := w.last(id, len(w.log))
			j, ok := v.Job(id)
			if !ok {
				if w.known(id) {
					t.Fatalf("job %d is forgotten", id)
				}
				continue
			}
			states := map[byte]bool{'p': j.State == scheduler.StatePending, 's': j.State == scheduler.StateRunning, 'e': j.State.Ended()}
			if !states[e.what] {
				t.Fatalf("job %d is %s, the twin has %c", id, j.State, e.what)
			}
			if e.what == 'e' {
				continue
			}
			met, never := w.state(id)
			want := map[bool]scheduler.Reason{true: scheduler.ReasonDependencyNever, false: scheduler.ReasonDependency}[never]
			switch waits := j.Reason == scheduler.ReasonDependency || j.Reason == scheduler.ReasonDependencyNever; {
			case met > w.now && (j.Reason != want || j.Eligible != 0), met <= w.now && waits:
				t.Fatalf("at %d job %d shows %s, eligible %d; the twin: met %d, never %v (%s)", w.now, id, j.Reason, j.Eligible, met, never, v.AppendDependency(nil, id))
			case met <= w.now && j.Eligible != max(met, w.jobs[id].base):
				t.Fatalf("at %d job %d is eligible since %d, the twin: %d", w.now, id, j.Eligible, max(met, w.jobs[id].base))
			}
		}
	})
}

func hashOf(s scheduler.Scheduler) (h uint64) {
	s.View(func(v scheduler.View) { h = v.Hash() })
	return h
}

func TestDependenciesAgreeWithHistory(t *testing.T) { rapid.Check(t, propDepend) }

func FuzzDependencies(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propDepend)) }
