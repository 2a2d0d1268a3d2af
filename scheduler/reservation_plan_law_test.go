package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/schedtest"
	"pgregory.net/rapid"
)

// A planRun drives a scheduler with plans beside reservations, and ends jobs at
// their limits.
type planRun struct {
	s        scheduler.Scheduler
	now      scheduler.Time
	next     scheduler.JobID
	ends     map[scheduler.JobID]scheduler.Time // of running jobs
	licensed map[scheduler.JobID]bool           // jobs that ask for licences, which plans may hold
	planned  map[scheduler.JobID]scheduler.Time
	inside   map[scheduler.JobID]bool // jobs that name a reservation
	kept     bool                     // plans are promises
	holds    []scheduler.Time         // when the reservations that hold began
	free     bool                     // plans may move: a reservation was made or changed
	gives    map[scheduler.JobID]bool // they may move for good: one that goes first came, in best effort
}

func (r *planRun) end(t *rapid.T, id scheduler.JobID) {
	if err := r.s.Apply(r.now, scheduler.Ended(id, scheduler.JobEnd{})); err != nil {
		t.Fatal(err)
	}
	delete(r.ends, id)
}

// give lets plans move: in this pass, or in best effort those of all who are there
// for good, since they may make room in a later pass.
func (r *planRun) give() {
	r.free = true
	for id := scheduler.JobID(1); id <= r.next && !r.kept; id++ {
		r.gives[id] = true
	}
}

// moves reports whether the plan of a job may move.
func (r *planRun) moves(id scheduler.JobID) bool { return r.free || r.gives[id] }

// turn notes that reservations begin and end. Then jobs come that wait for them,
// or that need not wait for them any more, and may go first.
func (r *planRun) turn() {
	var holds []scheduler.Time
	r.s.View(func(v scheduler.View) {
		for x := range v.Reservations() {
			if x.Start <= r.now && r.now < x.End {
				holds = append(holds, x.Start)
			}
		}
	})
	if !slices.Equal(holds, r.holds) && !r.kept {
		r.give()
	}
	r.holds = holds
}

// pass ends what is over, passes, and compares plans with those of the last pass.
func (r *planRun) pass(t *rapid.T) {
	for id := scheduler.JobID(1); id <= r.next; id++ {
		if at, ok := r.ends[id]; ok && at <= r.now {
			r.end(t, id)
		}
	}
	r.turn()
	killed := false
	for _, d := range r.s.Pass(r.now, nil) {
		switch d.Op {
		case scheduler.OpKill:
			if _, ok := r.ends[d.Job]; ok {
				r.end(t, d.Job)
				killed = true
			}
		case scheduler.OpSignal: // it borrows nodes and has to leave
			r.ends[d.Job] = min(r.ends[d.Job], d.At)
		case scheduler.OpStart:
			if at, ok := r.planned[d.Job]; ok && r.now > at && !r.moves(d.Job) {
				t.Fatalf("job %d starts at %d, was planned for %d", d.Job, r.now, at)
			}
			delete(r.planned, d.Job)
			r.ends[d.Job] = r.now.Add(d.Limit)
		}
	}
	if r.look(t); killed {
		r.pass(t)
		return
	}
	left := slices.DeleteFunc(scheduler.StartsLeft(r.s), func(id scheduler.JobID) bool { return r.licensed[id] })
	if len(left) > 0 {
		r.s.View(func(v scheduler.View) {
			t.Fatalf("at %d jobs %v fit beside what runs and is planned, and wait: %+v", r.now, left, slices.Collect(v.Reservations()))
		})
	}
}

// look compares plans with those of the last pass. In best effort all make room
// for a job that names a reservation as soon as there is a place for it.
func (r *planRun) look(t *rapid.T) {
	waits := false
	r.s.View(func(v scheduler.View) {
		for j := range v.Jobs() {
			if j.State != scheduler.StatePending {
				continue
			}
			was, ok := r.planned[j.ID]
			if ok && !r.moves(j.ID) && (!j.Planned || j.Start > was) {
				t.Fatalf("at %d job %d (%s) moves from %d to %d (planned %v): %+v", r.now, j.ID, j.Reason, was, j.Start, j.Planned, slices.Collect(v.Reservations()))
			}
			if delete(r.planned, j.ID); j.Planned {
				r.planned[j.ID] = j.Start
			}
			waits = waits || r.inside[j.ID] && !j.Planned
		}
	})
	if r.free = false; waits && !r.kept {
		r.give()
	}
}

// submit draws whole nodes, parts of one, gangs that want a rack, and jobs that
// name a reservation.
func (r *planRun) submit(t *rapid.T) {
	r.next++
	j := scheduler.JobSpec{
		ID: r.next, User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), MinNodes: 1,
		TimeLimit: time.Duration(rapid.IntRange(1, 20).Draw(t, "limit")) * time.Second, Priority: 1,
	}
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 0, 1:
		j.MinNodes, j.Exclusive = rapid.Int32Range(1, 4).Draw(t, "nodes"), scheduler.ExclusiveNode
	case 2:
		j.Tasks, j.CPUsPerTask = 1, rapid.Int32Range(1, 4).Draw(t, "CPUs")
	case 3:
		j.MinNodes, j.Exclusive = rapid.Int32Range(1, 2).Draw(t, "nodes"), scheduler.ExclusiveNode
		j.Levels = []scheduler.LevelSpec{{Level: "rack", Required: true}}
	}
	switch rapid.IntRange(0, 9).Draw(t, "more") {
	case 0, 1:
		j.Reservations = []string{rapid.SampledFrom([]string{"r0", "r1"}).Draw(t, "reservation")}
	case 2:
		j.Reservations = []string{"r0", "r1"}
	case 3:
		j.Licenses = rapid.SampledFrom([]string{"lic:1", "lic:2"}).Draw(t, "licences")
	case 4:
		j.Signal, j.SignalBefore, j.SignalFlags = 10, 2*time.Second, "R"
	case 5:
		j.GPUsPerNode = rapid.SampledFrom([]string{"1", "2"}).Draw(t, "GPUs")
	}
	r.licensed[j.ID] = j.Licenses != ""
	r.inside[j.ID] = len(j.Reservations) > 0
	if r.s.Apply(r.now, scheduler.Submit(&j)) != nil || r.kept {
		return
	}
	r.gives[j.ID] = r.free // it comes with one that goes first
	// Records for reservations go before all others.
	first := r.inside[j.ID]
	r.s.View(func(v scheduler.View) {
		for x := range v.Reservations() {
			first = first || slices.Contains(x.Flags, "MAGNETIC")
		}
	})
	if first {
		r.give()
	}
}

// reserve makes, changes or removes a reservation whose nodes stay the same.
func (r *planRun) reserve(t *rapid.T) {
	ev := schedtest.GenReservationEvent(t, r.now)
	if x := ev.Reservation; x != nil && !ev.Remove {
		for _, f := range []string{"REPLACE"} {
			if slices.Contains(x.Flags, f) {
				return
			}
		}
		x.Features, x.Partition = "", ""
		if rapid.IntRange(0, 3).Draw(t, "lends") == 0 {
			x.MaxStartDelay = time.Minute
		}
	}
	if u := ev.ReservationUpdate; u != nil && u.Flags != nil {
		return
	}
	if r.s.Apply(r.now, ev) == nil {
		r.give()
	}
}

// propPlansReserved: beside reservations a plan moves later only when one is made,
// changed or removed, and after each pass no job waits that would fit.
func propPlansReserved(t *rapid.T) {
	promise := rapid.SampledFrom([]scheduler.Promise{scheduler.PromiseKept, scheduler.PromiseBestEffort}).Draw(t, "promise")
	s, err := scheduler.New(scheduler.Config{
		Nodes: []scheduler.NodeSpec{{Names: "a[0-4]", CoresPerSocket: 4, GRES: "gpu:x:2"}, {Names: "b0", CoresPerSocket: 2}},
		Topologies: []scheduler.TopologySpec{{Name: "default", Levels: []string{"rack"}, Domains: []scheduler.DomainSpec{
			{Values: []string{"r0"}, Nodes: "a[0-1]"}, {Values: []string{"r1"}, Nodes: "a[2-3]"}, {Values: []string{"r2"}, Nodes: "a4,b0"},
		}}},
		Licenses: []scheduler.LicenseSpec{{Name: "lic", Total: 2}},
		Parameters: scheduler.Parameters{
			Plan:   scheduler.PlanParameters{Promise: promise},
			Select: scheduler.SelectParameters{NoMemory: true},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &planRun{s: s, licensed: map[scheduler.JobID]bool{}, inside: map[scheduler.JobID]bool{}, gives: map[scheduler.JobID]bool{}, kept: promise == scheduler.PromiseKept, ends: map[scheduler.JobID]scheduler.Time{}, planned: map[scheduler.JobID]scheduler.Time{}}
	t.Repeat(map[string]func(*rapid.T){
		"submit": r.submit,
		"submit and pass": func(t *rapid.T) {
			r.submit(t)
			r.submit(t)
			r.pass(t)
		},
		"reserve and pass": func(t *rapid.T) {
			r.reserve(t)
			r.pass(t)
		},
		"end": func(t *rapid.T) {
			for id := scheduler.JobID(1); id <= r.next; id++ {
				if _, ok := r.ends[id]; ok && rapid.Bool().Draw(t, "this one") {
					r.ends[id] = r.now
					break
				}
			}
			r.pass(t)
		},
		"restart": func(t *rapid.T) {
			b, err := r.s.AppendSnapshot(nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.s, err = scheduler.Restore(b, nil); err != nil {
				t.Fatal(err)
			}
		},
		"pass": func(t *rapid.T) {
			target := r.now.Add(time.Duration(rapid.IntRange(0, 8).Draw(t, "seconds")) * time.Second)
			if rapid.IntRange(0, 9).Draw(t, "an hour") == 0 {
				target = r.now.Add(time.Hour - 10*time.Second)
			}
			for {
				at := target
				for _, end := range r.ends {
					at = min(at, max(end, r.now))
				}
				if wake, ok := r.s.Wake(); ok {
					at = min(at, max(wake, r.now+1))
				}
				r.now = at
				r.pass(t)
				if r.now >= target {
					return
				}
			}
		},
	})
}

// TestPlanLawsBesideReservations states what propPlansReserved says.
func TestPlanLawsBesideReservations(t *testing.T) { rapid.Check(t, propPlansReserved) }

// FuzzPlanLawsBesideReservations is the same, led by coverage.
func FuzzPlanLawsBesideReservations(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propPlansReserved)) }
