package schedtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A call is one entry of a journal: an event, or a pass.
type call struct {
	now   scheduler.Time
	event *scheduler.Event
}

// CheckLaws drives schedulers that make returns with random events and checks
// after each what must always hold:
//
//   - nothing is given twice, and nobody gets more than a node has
//   - a job starts on all its nodes or not at all, and within the levels it requires
//   - nobody is on nodes reserved for others, and a job of a reservation is on its own
//   - a job whose every condition holds, and whom no other one's plan or turn keeps
//     off, starts; none starts whose conditions do not hold: an observing twin judges
//   - an event that is refused changes nothing
//   - a snapshot restores the state exactly, and both go on alike
//   - a journal, through JSON, replays to the same state and decisions
//   - waiting, explaining and forecasting change nothing
//
// It returns how often the twin could judge.
func CheckLaws(t *testing.T, make func(scheduler.Config) (scheduler.Scheduler, error)) (n Tally) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) { CountedLaws(t, make, &n) })
	return n
}

// Laws is one random sequence of CheckLaws, for rapid.MakeFuzz.
func Laws(t *rapid.T, make func(scheduler.Config) (scheduler.Scheduler, error)) {
	CountedLaws(t, make, &Tally{})
}

// CountedLaws is Laws; it adds to n how often the observing twin could judge.
func CountedLaws(t *rapid.T, make func(scheduler.Config) (scheduler.Scheduler, error), n *Tally) {
	cfg := GenConfig(t)
	s, err := make(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	r := &run{t: t, cfg: cfg, make: make, s: s, live: map[scheduler.JobID]bool{}, twin: newMemory(&cfg, n)}
	// What makes jobs start comes under several names, so that it is drawn often.
	some := func(t *rapid.T) {
		for range rapid.IntRange(1, 4).Draw(t, "jobs") {
			r.submit(t)
		}
		r.pass(t)
	}
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) { r.submit(t) },
		"submit and pass": func(t *rapid.T) {
			r.submit(t)
			r.pass(t)
		},
		"submit some and pass": some,
		"submit more and pass": some,
		"fill the cluster":     some,
		"reserve":              func(t *rapid.T) { r.apply(t, GenReservationEvent(t, r.now)) },
		"reserve and pass": func(t *rapid.T) {
			r.apply(t, GenReservationEvent(t, r.now))
			r.pass(t)
		},
		"pass": func(t *rapid.T) { r.pass(t) },
		"advance and pass": func(t *rapid.T) {
			r.advance(t)
			r.pass(t)
		},
		"advance": func(t *rapid.T) { r.advance(t) },
		"end": func(t *rapid.T) {
			r.onRunning(t, func(id scheduler.JobID) scheduler.Event { return scheduler.Ended(id, scheduler.JobEnd{}) })
		},
		"cancel":  func(t *rapid.T) { r.onAny(t, scheduler.Cancel) },
		"hold":    func(t *rapid.T) { r.onAny(t, scheduler.Hold) },
		"release": func(t *rapid.T) { r.onAny(t, scheduler.Release) },
		"requeue": func(t *rapid.T) { r.onAny(t, scheduler.Requeue) },
		"node": func(t *rapid.T) {
			state := rapid.SampledFrom([]scheduler.NodeState{scheduler.NodeUp, scheduler.NodeDrain, scheduler.NodeDown}).Draw(t, "state")
			r.apply(t, scheduler.SetNodes("a0", state, "law"))
		},
		"step": func(t *rapid.T) {
			r.onAny(t, func(id scheduler.JobID) scheduler.Event { return genStep(t, id) })
		},
		"join": func(t *rapid.T) {
			n := genJoin(t)
			r.apply(t, scheduler.Event{Kind: scheduler.EventNodeAdd, Node: &n})
		},
		"leave": func(t *rapid.T) {
			r.apply(t, scheduler.Event{Kind: scheduler.EventNodeRemove, Nodes: rapid.SampledFrom(joiners).Draw(t, "joiner")})
		},
		"account": func(t *rapid.T) { r.apply(t, GenAccountEvent(t)) },
		"update": func(t *rapid.T) {
			r.onAny(t, func(id scheduler.JobID) scheduler.Event {
				u := scheduler.JobUpdate{}
				switch rapid.IntRange(0, 3).Draw(t, "field") {
				case 3:
					j := scheduler.JobSpec{ID: id}
					genDepend(t, &j)
					u.Dependency = &j.Dependency
				case 0:
					limit := time.Duration(rapid.IntRange(1, 40).Draw(t, "limit")) * time.Second
					u.TimeLimit = &limit
				case 1:
					name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "account")
					u.Account = &name
				case 2:
					u.Partitions = rapid.SampledFrom([][]string{{"p"}, {"q", "p"}}).Draw(t, "partitions")
				}
				return scheduler.Event{Kind: scheduler.EventJobUpdate, Job: id, Update: &u, ByAdmin: rapid.Bool().Draw(t, "by admin")}
			})
		},
		"partition": func(t *rapid.T) {
			s := rapid.SampledFrom(r.cfg.Partitions).Draw(t, "partition")
			s.State = rapid.SampledFrom([]scheduler.PartitionState{scheduler.PartitionUp, scheduler.PartitionUp, scheduler.PartitionDown, scheduler.PartitionDrain}).Draw(t, "state")
			s.QOS = rapid.SampledFrom([]string{"", "part", "high"}).Draw(t, "QOS")
			r.apply(t, scheduler.Event{Kind: scheduler.EventPartition, Partition: &s})
		},
		"restart": func(t *rapid.T) { r.restart(t) },
		"look":    func(t *rapid.T) { r.look(t) },
		"":        func(t *rapid.T) { r.check(t) },
	})
	r.replay(t)
}

type run struct {
	t       *rapid.T
	cfg     scheduler.Config
	make    func(scheduler.Config) (scheduler.Scheduler, error)
	s       scheduler.Scheduler
	now     scheduler.Time
	next    scheduler.JobID
	journal []call
	decided []scheduler.Decision
	live    map[scheduler.JobID]bool // started, not ended
	twin    *memory
}

func hashOf(s scheduler.Scheduler) (h uint64) {
	s.View(func(v scheduler.View) { h = v.Hash() })
	return h
}

func jobsOf(s scheduler.Scheduler) (jobs []scheduler.JobView) {
	s.View(func(v scheduler.View) { jobs = slices.Collect(v.Jobs()) })
	return jobs
}

func queueOf(s scheduler.Scheduler) (ids []scheduler.JobID) {
	s.View(func(v scheduler.View) { ids = slices.Collect(v.Queue()) })
	return ids
}

// apply applies an event; a refusal must leave the state as it was.
func (r *run) apply(t *rapid.T, ev scheduler.Event) bool {
	before := hashOf(r.s)
	if err := r.s.Apply(r.now, ev); err != nil {
		if after := hashOf(r.s); after != before {
			t.Fatalf("%s was refused (%v) and changed the state", ev.Kind, err)
		}
		return false
	}
	r.journal = append(r.journal, call{r.now, &ev})
	r.twin.note(&ev)
	r.s.View(func(v scheduler.View) { r.twin.refresh(v, r.now) })
	return true
}

func (r *run) pass(t *rapid.T) {
	r.twin.beginPass()
	order := queueOf(r.s)
	dec := r.s.Pass(r.now, nil)
	r.journal = append(r.journal, call{now: r.now})
	r.twin.noteStarts(r.now, dec)
	r.s.View(func(v scheduler.View) { r.twin.refresh(v, r.now) })
	r.checkWaits(t, order, dec)
	for i := range dec {
		d := dec[i]
		d.Nodes = slices.Clone(d.Nodes)
		r.decided = append(r.decided, d)
		if d.Op == scheduler.OpStart {
			r.checkStart(t, &d)
			r.live[d.Job] = true
			if rapid.IntRange(0, 9).Draw(t, "start outcome") == 0 {
				r.apply(t, scheduler.Failed(&d, "law"))
				delete(r.live, d.Job)
			} else {
				r.apply(t, scheduler.Started(&d))
			}
		}
	}
	for i := range dec {
		if op := dec[i].Op; op == scheduler.OpKill || op == scheduler.OpRequeue {
			if r.live[dec[i].Job] && rapid.Bool().Draw(t, "ends at once") {
				r.apply(t, scheduler.Ended(dec[i].Job, scheduler.JobEnd{}))
				delete(r.live, dec[i].Job)
			}
		}
	}
}

// submit submits a job, or a gang that has wishes about levels.
func (r *run) submit(t *rapid.T) {
	r.next++
	j := GenJob(t, r.next)
	if len(r.cfg.Topologies) > 0 && rapid.Bool().Draw(t, "gang") {
		j = genGang(t, r.next)
	}
	genPlace(t, j)
	genDepend(t, j)
	r.apply(t, scheduler.Submit(j))
}

// checkStart compares a start with what the job asked.
func (r *run) checkStart(t *rapid.T, d *scheduler.Decision) {
	r.s.View(func(v scheduler.View) {
		spec := v.Spec(d.Job)
		alloc := v.AppendAlloc(nil, d.Job)
		if len(alloc) != len(d.Nodes) || len(alloc) < int(spec.MinNodes) {
			t.Fatalf("job %d asked %d nodes, was told %v and holds %d", d.Job, spec.MinNodes, d.Nodes, len(alloc))
		}
		cpus := int64(0)
		for i := range alloc {
			if alloc[i].Node != d.Nodes[i] {
				t.Fatalf("job %d was told %v and holds %s", d.Job, d.Nodes, alloc[i].Node)
			}
			cpus += alloc[i].CPUs
		}
		r.checkReserved(t, v, d)
		r.checkRules(t, v, d)
		r.checkLevels(t, spec, d)
		if cpus < int64(spec.Tasks) {
			t.Fatalf("job %d asked %d tasks and got %d CPUs", d.Job, spec.Tasks, cpus)
		}
	})
}

func (r *run) advance(t *rapid.T) {
	step := time.Second
	if rapid.IntRange(0, 14).Draw(t, "far") == 14 {
		step = 7 * time.Minute
	}
	r.now = r.now.Add(time.Duration(rapid.IntRange(1, 10).Draw(t, "seconds")) * step)
	if at, ok := r.s.Wake(); ok && rapid.Bool().Draw(t, "to wake") && at > r.now {
		r.now = at
	}
}

func (r *run) onRunning(t *rapid.T, ev func(scheduler.JobID) scheduler.Event) {
	if len(r.live) == 0 {
		return // no skip: a fuzzer may draw nothing but this action
	}
	var ids []scheduler.JobID
	for id := range r.live {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(t, "job")
	if r.apply(t, ev(id)) {
		delete(r.live, id)
	}
}

func (r *run) onAny(t *rapid.T, ev func(scheduler.JobID) scheduler.Event) {
	if r.next == 0 {
		return
	}
	r.apply(t, ev(scheduler.JobID(rapid.Uint64Range(1, uint64(r.next)).Draw(t, "job"))))
}

// restart goes on with the scheduler that a snapshot makes.
func (r *run) restart(t *rapid.T) {
	b, err := r.s.AppendSnapshot(nil)
	if err != nil {
		t.Fatalf("AppendSnapshot: %v", err)
	}
	s, err := scheduler.Restore(b, nil)
	if err != nil {
		t.Fatalf("Restore: %v", err)
	}
	if hashOf(s) != hashOf(r.s) {
		t.Fatalf("the restored state differs (-first +restored):\n%s", cmp.Diff(jobsOf(r.s), jobsOf(s)))
	}
	again, err := s.AppendSnapshot(nil)
	if err != nil || !bytes.Equal(b, again) {
		t.Fatalf("the snapshot of the restored scheduler differs (%v)", err)
	}
	r.s = s
}

// look asks everything that must change nothing.
func (r *run) look(t *rapid.T) {
	before := hashOf(r.s)
	r.s.Wake()
	if r.next > 0 {
		id := scheduler.JobID(rapid.Uint64Range(1, uint64(r.next)).Draw(t, "job"))
		if x, err := r.s.Explain(id); err == nil {
			_ = x.String()
		}
	}
	if _, err := r.s.Forecast([]scheduler.JobSpec{*GenJob(t, r.next+1000)}); err != nil {
		t.Fatalf("Forecast: %v", err)
	}
	if hashOf(r.s) != before {
		t.Fatal("looking changed the state")
	}
}

// check counts what jobs hold on each node, by names alone.
func (r *run) check(t *rapid.T) {
	type thing struct {
		node, name string
		index      int32
	}
	r.s.View(func(v scheduler.View) {
		held := map[thing]scheduler.JobID{}
		mem, total := map[string]int64{}, map[string]int64{}
		take := func(id scheduler.JobID, x thing) {
			if o, ok := held[x]; ok {
				t.Fatalf("%s %d of %s is held by jobs %d and %d", x.name, x.index, x.node, o, id)
			}
			held[x] = id
		}
		for j := range v.Jobs() {
			for _, a := range v.AppendAlloc(nil, j.ID) {
				for _, c := range a.Cores {
					take(j.ID, thing{a.Node, "core", c})
				}
				for _, d := range a.Devices {
					// An instance of a cut device: as many memory slices as its profile
					// ("2g.12gb") of the generated model says.
					slices := int32(1)
					if strings.Contains(d.Type, "g.") {
						slices = int32(d.Type[0] - '0')
					}
					for k := range slices {
						take(j.ID, thing{a.Node, d.Name, d.Index*8 + int32(d.Start) + k})
					}
				}
				mem[a.Node] += a.MemMiB
			}
		}
		for n := range v.Nodes() {
			total[n.Name] = n.MemMiB
			if mem[n.Name] != n.MemUsedMiB || mem[n.Name] > n.MemMiB {
				t.Fatalf("node %s: jobs hold %d MiB, the node says %d of %d", n.Name, mem[n.Name], n.MemUsedMiB, n.MemMiB)
			}
		}
	})
}

// replay runs the journal, put through JSON, on a new scheduler.
func (r *run) replay(t *rapid.T) {
	s, err := r.make(r.cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	var decided []scheduler.Decision
	for _, c := range r.journal {
		if c.event == nil {
			for _, d := range s.Pass(c.now, nil) {
				d.Nodes = slices.Clone(d.Nodes)
				decided = append(decided, d)
			}
			continue
		}
		b, err := json.Marshal(c.event)
		if err != nil {
			t.Fatalf("event to JSON: %v", err)
		}
		var ev scheduler.Event
		if err := json.Unmarshal(b, &ev); err != nil {
			t.Fatalf("event from JSON %s: %v", b, err)
		}
		if err := s.Apply(c.now, ev); err != nil {
			t.Fatalf("replay refuses %s: %v", b, err)
		}
	}
	if diff := cmp.Diff(r.decided, decided); diff != "" {
		t.Fatalf("replayed decisions differ (-first +replayed):\n%s", diff)
	}
	if hashOf(s) != hashOf(r.s) {
		t.Fatalf("the replayed state differs (-first +replayed):\n%s", cmp.Diff(jobsOf(r.s), jobsOf(s)))
	}
}
