package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// A resvRun is a scheduler with reservations and who may be on their nodes.
type resvRun struct {
	s       scheduler.Scheduler
	now     scheduler.Time
	jobs    map[scheduler.JobID]scheduler.JobSpec
	next    scheduler.JobID
	inside  map[scheduler.JobID]string // running jobs by the reservation they started in
	started map[scheduler.JobID]scheduler.Time
}

func (r *resvRun) hash() (h uint64) {
	r.s.View(func(v scheduler.View) { h = v.Hash() })
	return h
}

func (r *resvRun) pass(t *rapid.T) {
	for _, d := range r.s.Pass(r.now, nil) {
		switch d.Op {
		case scheduler.OpStart:
			r.inside[d.Job], r.started[d.Job] = d.Reservation, r.now
			if want := r.jobs[d.Job].Reservations; len(want) > 0 && !slices.Contains(want, d.Reservation) {
				t.Fatalf("job %d asked for %v and starts in %q", d.Job, want, d.Reservation)
			}
		case scheduler.OpKill:
			if err := r.s.Apply(r.now, scheduler.Ended(d.Job, scheduler.JobEnd{})); err != nil {
				t.Fatal(err)
			}
			delete(r.inside, d.Job)
		}
	}
}

// check finds outsiders on reserved nodes: whoever is there did not know of the
// reservation when it started, or belongs to it or to one that overlaps.
func (r *resvRun) check(t *rapid.T, made map[string]scheduler.Time) {
	r.s.View(func(v scheduler.View) {
		for x := range v.Reservations() {
			if r.now < x.Start || r.now >= x.End || x.NodeCount == 0 {
				continue
			}
			for id, in := range r.inside {
				if in != "" || r.started[id] < made[x.Name] {
					continue
				}
				for _, a := range v.AppendAlloc(nil, id) {
					if inList(x.Nodes, a.Node) {
						t.Fatalf("at %d job %d, which is in no reservation, is on %s of %s (%d-%d, %s), limit %s, since %d",
							r.now/1e6, id, a.Node, x.Name, x.Start/1e6, x.End/1e6, x.Nodes, r.jobs[id].TimeLimit, r.started[id]/1e6)
					}
				}
			}
		}
	})
}

func inList(hosts, name string) bool {
	for i := range 6 {
		if n := fmt.Sprintf("n%d", i); n == name {
			return slices.Contains(expand(hosts), n)
		}
	}
	return false
}

// expand reads hostlists of n0 to n5.
func expand(hosts string) (out []string) {
	num := func(c byte) int { return int(c - '0') }
	for i := 0; i < len(hosts); i++ {
		if c := hosts[i]; c >= '0' && c <= '9' {
			last := num(c)
			if i+2 < len(hosts) && hosts[i+1] == '-' {
				last = num(hosts[i+2])
				i += 2
			}
			for k := num(c); k <= last; k++ {
				out = append(out, fmt.Sprintf("n%d", k))
			}
		}
	}
	return out
}

func genReservation(t *rapid.T, now scheduler.Time, i int) scheduler.ReservationSpec {
	x := scheduler.ReservationSpec{
		Name: fmt.Sprintf("r%d", i), Users: []string{"ann"}, Start: now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "ahead")) * time.Minute),
		Duration: time.Duration(rapid.IntRange(1, 5).Draw(t, "minutes")) * time.Minute,
	}
	if rapid.Bool().Draw(t, "named") {
		x.Nodes = rapid.SampledFrom([]string{"n0", "n[1-2]", "n[3-5]", "ALL"}).Draw(t, "nodes")
	} else {
		x.NodeCount = int32(rapid.IntRange(1, 3).Draw(t, "count"))
	}
	if f := rapid.SampledFrom([]string{"", "MAINT", "OVERLAP", "FLEX", "MAGNETIC", "NO_HOLD_JOBS_AFTER", "PURGE_COMP", "HOURLY", "REPLACE_DOWN"}).Draw(t, "flag"); f != "" {
		x.Flags = []string{f}
	}
	if x.Nodes != "" && slices.Contains(x.Flags, "REPLACE_DOWN") {
		x.Flags = nil
	}
	return x
}

// TestNoOutsiders: nobody who came after a reservation was made is on its nodes
// while it holds, and a reservation that is removed leaves no trace.
func TestNoOutsiders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := scheduler.Config{
			Profile:    rapid.SampledFrom([]scheduler.Profile{scheduler.ProfileBest, scheduler.ProfileSlurm}).Draw(t, "profile"),
			Nodes:      []scheduler.NodeSpec{{Names: "n[0-5]", Sockets: 1, CoresPerSocket: 2}},
			Partitions: []scheduler.PartitionSpec{{Name: "p", Nodes: "ALL", Default: true}},
		}
		cfg.Parameters.Select.NoMemory = true
		cfg.Parameters.Plan.Interval = time.Second
		s, err := scheduler.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &resvRun{s: s, now: scheduler.Seconds(1000), jobs: map[scheduler.JobID]scheduler.JobSpec{}, inside: map[scheduler.JobID]string{}, started: map[scheduler.JobID]scheduler.Time{}}
		made := map[string]scheduler.Time{}
		names := 0
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				names++
				x := genReservation(t, r.now, names)
				before := r.hash()
				err := r.s.Apply(r.now, scheduler.Event{Kind: scheduler.EventReservation, Reservation: &x})
				if err == nil {
					made[x.Name] = r.now
				} else if r.hash() != before {
					t.Fatalf("%+v was refused (%v) and changed the state", x, err)
				}
			case 1, 2:
				r.next++
				j := scheduler.JobSpec{
					ID: r.next, User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), MinNodes: int32(rapid.IntRange(1, 3).Draw(t, "nodes")),
					TimeLimit: time.Duration(rapid.IntRange(1, 8).Draw(t, "limit")) * time.Minute, Exclusive: scheduler.ExclusiveNode,
				}
				if j.User == "ann" && names > 0 && rapid.Bool().Draw(t, "inside") {
					j.Reservations = []string{fmt.Sprintf("r%d", rapid.IntRange(1, names).Draw(t, "reservation"))}
				}
				if rapid.IntRange(0, 3).Draw(t, "shrinks") == 0 {
					j.TimeMin = time.Minute
				}
				if r.s.Apply(r.now, scheduler.Submit(&j)) == nil {
					r.jobs[j.ID] = j
				}
			case 3:
				r.now = r.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
			case 4:
				b, err := r.s.AppendSnapshot(nil)
				if err != nil {
					t.Fatal(err)
				}
				was := r.hash()
				if r.s, err = scheduler.Restore(b, nil); err != nil {
					t.Fatal(err)
				}
				if r.hash() != was {
					t.Fatal("the restored state differs")
				}
			}
			r.pass(t)
			r.check(t, made)
		}
	})
}

// TestReservationLeavesNoTrace: one that is removed, or has ended, leaves
// everything as without it.
func TestReservationLeavesNoTrace(t *testing.T) {
	now := scheduler.Seconds(1_790_000_040)
	for _, flags := range [][]string{nil, {"MAINT"}, {"OVERLAP"}, {"FLEX"}, {"MAGNETIC"}, {"DAILY"}, {"REPLACE_DOWN"}, {"TIME_FLOAT"}} {
		a, b := resvCluster(t), resvCluster(t)
		x := scheduler.ReservationSpec{Name: "r", Users: []string{"mail"}, Start: now.Add(10 * time.Minute), Duration: time.Hour, NodeCount: 3, Flags: flags}
		if err := reserve(a, now, x); err != nil {
			t.Fatal(err)
		}
		if err := a.Apply(now, scheduler.Event{Kind: scheduler.EventReservation, Reservation: &x, Remove: true}); err != nil {
			t.Fatal(err)
		}
		for _, s := range []scheduler.Scheduler{a, b} {
			for id := range scheduler.JobID(6) {
				j := scheduler.JobSpec{ID: id + 1, User: "games", MinNodes: int32(id%3 + 1), Exclusive: scheduler.ExclusiveNode, TimeLimit: time.Hour}
				if err := s.Apply(now, scheduler.Submit(&j)); err != nil {
					t.Fatal(err)
				}
			}
		}
		da, db := a.Pass(now, nil), b.Pass(now, nil)
		if fmt.Sprintf("%+v", da) != fmt.Sprintf("%+v", db) {
			t.Errorf("%v: decisions differ:\n%+v\n%+v", flags, da, db)
		}
	}
}
