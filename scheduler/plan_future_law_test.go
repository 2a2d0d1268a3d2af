package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// A futureLaw drives jobs through a small cluster in which a start depends on more
// than the nodes' own resources, passes at every end, and looks at all plans after
// each pass.
type futureLaw struct {
	cfg     scheduler.Config
	job     func(t *rapid.T, j *scheduler.JobSpec) // gives a job its wishes
	check   func(t *rapid.T, v scheduler.View)     // what must hold of what runs; nil for nothing
	s       scheduler.Scheduler
	now     scheduler.Time
	next    scheduler.JobID
	ends    map[scheduler.JobID]scheduler.Time // of running jobs: their limits
	planned map[scheduler.JobID]scheduler.Time
}

func (f *futureLaw) run(t *rapid.T) {
	if f.cfg.Nodes == nil {
		f.cfg.Nodes = []scheduler.NodeSpec{{Names: "n[0-5]", CoresPerSocket: 4}}
	}
	p := &f.cfg.Parameters
	p.Plan.Promise = scheduler.PromiseKept // ranks do not move plans
	p.Plan.Depth = rapid.SampledFrom([]int32{0, 0, 1, 3}).Draw(t, "depth")
	p.Plan.Fill = rapid.SampledFrom([]scheduler.Fill{scheduler.FillShortest, scheduler.FillRank}).Draw(t, "fill")
	p.Plan.MaxSteps = rapid.SampledFrom([]int64{0, 0, 1}).Draw(t, "steps")
	p.Select.NoMemory = true
	var err error
	if f.s, err = scheduler.New(f.cfg, nil); err != nil {
		t.Fatal(err)
	}
	f.ends, f.planned = map[scheduler.JobID]scheduler.Time{}, map[scheduler.JobID]scheduler.Time{}
	t.Repeat(map[string]func(*rapid.T){
		"submit": f.submit,
		"submit some": func(t *rapid.T) {
			for range rapid.IntRange(2, 6).Draw(t, "jobs") {
				f.submit(t)
			}
			f.pass(t)
		},
		"end": func(t *rapid.T) {
			for id := scheduler.JobID(1); id <= f.next; id++ {
				if _, ok := f.ends[id]; ok && rapid.Bool().Draw(t, "this one") {
					f.ends[id] = f.now
					break
				}
			}
			f.pass(t)
		},
		"cancel": func(t *rapid.T) {
			if id := scheduler.JobID(rapid.Uint64Range(1, 8).Draw(t, "job")); f.planned[id] != 0 {
				f.apply(t, scheduler.Cancel(id))
				delete(f.planned, id)
			}
		},
		"restart": func(t *rapid.T) {
			b, err := f.s.AppendSnapshot(nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.s, err = scheduler.Restore(b, nil); err != nil {
				t.Fatal(err)
			}
		},
		"fork": func(t *rapid.T) {
			s, err := f.s.Fork()
			if err != nil {
				t.Fatal(err)
			}
			f.s = s
		},
		"pass": func(t *rapid.T) {
			target := f.now.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "seconds")) * time.Second)
			for {
				at := target
				for _, end := range f.ends {
					at = min(at, max(end, f.now))
				}
				f.now = at
				f.pass(t)
				if f.now < target {
					continue
				}
				if left := scheduler.StartsLeft(f.s); len(left) > 0 {
					t.Fatalf("at %d jobs %v fit beside what runs and is planned, and wait", f.now, left)
				}
				return
			}
		},
	})
}

func (f *futureLaw) apply(t *rapid.T, ev scheduler.Event) {
	if err := f.s.Apply(f.now, ev); err != nil {
		t.Fatal(err)
	}
}

func (f *futureLaw) submit(t *rapid.T) {
	f.next++
	spec := scheduler.JobSpec{
		ID: f.next, Priority: rapid.Uint32Range(1, 3).Draw(t, "rank"), User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"),
		TimeLimit: time.Duration(rapid.IntRange(1, 9).Draw(t, "limit")) * time.Second,
	}
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		spec.MinNodes, spec.Exclusive = rapid.Int32Range(1, 4).Draw(t, "nodes"), scheduler.ExclusiveNode
	case 1:
		spec.MinNodes, spec.TasksPerNode = rapid.Int32Range(1, 3).Draw(t, "nodes"), rapid.Int32Range(1, 3).Draw(t, "tasks")
	default:
		spec.MinNodes, spec.Tasks, spec.CPUsPerTask = 1, 1, rapid.Int32Range(1, 4).Draw(t, "CPUs")
	}
	f.job(t, &spec)
	f.apply(t, scheduler.Submit(&spec))
}

// pass lets what is at its end go, passes, and compares starts and plans with what
// was promised.
func (f *futureLaw) pass(t *rapid.T) {
	for id := scheduler.JobID(1); id <= f.next; id++ {
		if at, ok := f.ends[id]; ok && at <= f.now {
			f.apply(t, scheduler.Ended(id, scheduler.JobEnd{}))
			delete(f.ends, id)
		}
	}
	for _, d := range f.s.Pass(f.now, nil) {
		if at, ok := f.planned[d.Job]; ok && f.now > at {
			t.Fatalf("job %d starts at %d, was planned for %d", d.Job, f.now, at)
		}
		delete(f.planned, d.Job)
		f.ends[d.Job] = f.now.Add(d.Limit)
	}
	f.s.View(func(v scheduler.View) {
		for j := range v.Jobs() {
			if j.State != scheduler.StatePending {
				continue
			}
			if was, ok := f.planned[j.ID]; ok && j.Start > was {
				t.Fatalf("at %d job %d moves from %d to %d", f.now, j.ID, was, j.Start)
			}
			if delete(f.planned, j.ID); j.Planned {
				f.planned[j.ID] = j.Start
			}
			if j.Planned && j.Start == scheduler.Never && f.cfg.Parameters.Plan.Depth == 0 {
				t.Fatalf("at %d job %d has no planned start", f.now, j.ID)
			}
		}
		if f.check != nil {
			f.check(t, v)
		}
	})
}

// scopedLaw: jobs take watts of racks and bandwidth of nodes.
func scopedLaw(t *rapid.T) {
	f := &futureLaw{}
	f.cfg.Licenses = []scheduler.LicenseSpec{
		{Name: "watts", Scope: scheduler.ScopeUnit, Units: []scheduler.LicenseUnit{{Nodes: "n[0-2]", Total: 500}, {Nodes: "n[3-5]", Total: 300}}},
		{Name: "net", Scope: scheduler.ScopeNode, Total: 10},
	}
	f.job = func(t *rapid.T, j *scheduler.JobSpec) {
		j.Licenses = rapid.SampledFrom([]string{"", "watts:100", "watts:200", "watts:300", "net:4", "net:6,watts:100"}).Draw(t, "licences")
		if j.Licenses == "watts:300" || j.Licenses == "watts:200" {
			j.MinNodes = min(j.MinNodes, 2)
		}
	}
	f.check = func(t *rapid.T, v scheduler.View) {
		watts, net := [2]int{}, [6]int{}
		for j := range v.Jobs() {
			w, n := 0, 0
			switch v.Spec(j.ID).Licenses {
			case "watts:100":
				w = 100
			case "watts:200":
				w = 200
			case "watts:300":
				w = 300
			case "net:4":
				n = 4
			case "net:6,watts:100":
				w, n = 100, 6
			}
			for _, a := range v.AppendAlloc(nil, j.ID) {
				i := int(a.Node[1] - '0')
				watts[i/3] += w
				net[i] += n
			}
		}
		if watts[0] > 500 || watts[1] > 300 {
			t.Fatalf("racks give %v watts", watts)
		}
		for i, n := range net {
			if n > 10 {
				t.Fatalf("node %d gives %d of its net", i, n)
			}
		}
	}
	f.run(t)
}

// userLaw: nodes run one user's jobs only.
func userLaw(t *rapid.T) {
	f := &futureLaw{}
	if rapid.IntRange(0, 2).Draw(t, "by partition") == 0 {
		f.cfg.Partitions = []scheduler.PartitionSpec{{Name: "p", Nodes: "ALL", Default: true, Exclusive: scheduler.ExclusiveUser}}
	}
	f.job = func(t *rapid.T, j *scheduler.JobSpec) {
		j.User = rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "owner")
		if j.Exclusive == scheduler.ExclusiveNo && rapid.Bool().Draw(t, "apart") {
			j.Exclusive = scheduler.ExclusiveUser
		}
	}
	f.check = func(t *rapid.T, v scheduler.View) {
		users, apart := map[string]string{}, map[string]bool{}
		for _, only := range []bool{true, false} {
			for j := range v.Jobs() {
				spec := v.Spec(j.ID)
				for _, a := range v.AppendAlloc(nil, j.ID) {
					switch u, ok := users[a.Node]; {
					case only:
						apart[a.Node] = apart[a.Node] || len(f.cfg.Partitions) > 0 || spec.Exclusive == scheduler.ExclusiveUser
					case ok && u != spec.User && apart[a.Node]:
						t.Fatalf("%s runs jobs of %s and %s", a.Node, u, spec.User)
					default:
						users[a.Node] = spec.User
					}
				}
			}
		}
	}
	f.run(t)
}

// unitsLaw: jobs have their topology units to themselves.
func unitsLaw(t *rapid.T) {
	f := &futureLaw{}
	f.cfg.Topologies = []scheduler.TopologySpec{
		rapid.SampledFrom([]scheduler.TopologySpec{
			{Name: "t", Blocks: []scheduler.UnitSpec{{Name: "a", Nodes: "n[0-2]"}, {Name: "b", Nodes: "n[3-5]"}}, BlockSizes: []int32{3}},
			{Name: "t", Switches: []scheduler.SwitchSpec{{Name: "a", Nodes: "n[0-2]"}, {Name: "b", Nodes: "n[3-5]"}, {Name: "c", Switches: "a,b"}}},
		}).Draw(t, "topology"),
	}
	f.job = func(t *rapid.T, j *scheduler.JobSpec) {
		j.MinNodes = min(j.MinNodes, 3)
		if rapid.IntRange(0, 2).Draw(t, "alone") == 0 {
			j.Exclusive = scheduler.ExclusiveTopo
		}
	}
	f.check = func(t *rapid.T, v scheduler.View) {
		by, alone := [2]scheduler.JobID{}, [2]bool{}
		for j := range v.Jobs() {
			topo := v.Spec(j.ID).Exclusive == scheduler.ExclusiveTopo
			for _, a := range v.AppendAlloc(nil, j.ID) {
				u := int(a.Node[1]-'0') / 3
				if by[u] != 0 && by[u] != j.ID && (alone[u] || topo) {
					t.Fatalf("jobs %d and %d share a unit", by[u], j.ID)
				}
				by[u], alone[u] = j.ID, alone[u] || topo
			}
		}
	}
	f.run(t)
}

// sharesLaw: jobs may hold cores that others hold, so many of them.
func sharesLaw(t *rapid.T) {
	f := &futureLaw{}
	f.cfg.Nodes = []scheduler.NodeSpec{{Names: "n[0-1]", CoresPerSocket: 3}}
	rows := rapid.IntRange(2, 3).Draw(t, "sharers")
	word := rapid.SampledFrom([]string{"FORCE", "YES"}).Draw(t, "share")
	f.cfg.Partitions = []scheduler.PartitionSpec{{Name: "p", Nodes: "ALL", Default: true, Oversubscribe: fmt.Sprintf("%s:%d", word, rows)}}
	if rapid.Bool().Draw(t, "mixed") {
		f.cfg.Partitions = append(f.cfg.Partitions, scheduler.PartitionSpec{Name: "q", Nodes: "n0"})
	}
	shares := func(j *scheduler.JobSpec) bool {
		return (len(j.Partitions) == 0 || j.Partitions[0] == "p") && (word == "FORCE" || j.Oversubscribe)
	}
	f.job = func(t *rapid.T, j *scheduler.JobSpec) {
		j.MinNodes, j.CPUsPerTask = min(j.MinNodes, 2), min(j.CPUsPerTask, 3)
		j.Oversubscribe = rapid.IntRange(0, 3).Draw(t, "may share") > 0 && j.Exclusive == scheduler.ExclusiveNo
		if len(f.cfg.Partitions) > 1 && rapid.IntRange(0, 3).Draw(t, "elsewhere") == 0 {
			j.Partitions, j.MinNodes = []string{"q"}, 1
		}
	}
	f.check = func(t *rapid.T, v scheduler.View) {
		type core struct {
			node string
			core int32
		}
		held, kind := map[core]int{}, map[string]bool{}
		for j := range v.Jobs() {
			spec := v.Spec(j.ID)
			for _, a := range v.AppendAlloc(nil, j.ID) {
				if was, ok := kind[a.Node]; ok && was != shares(spec) {
					t.Fatalf("on %s are jobs that share and such that do not", a.Node)
				}
				kind[a.Node] = shares(spec)
				for _, c := range a.Cores {
					most := 1
					if shares(spec) {
						most = rows
					}
					if held[core{a.Node, c}]++; held[core{a.Node, c}] > most {
						t.Fatalf("core %d of %s is held by %d jobs", c, a.Node, held[core{a.Node, c}])
					}
				}
			}
		}
	}
	f.run(t)
}

// TestFutureLaws: what a start heeds beside the nodes' own resources plans heed at
// their instants. No plan moves later, every job starts at its planned instant,
// and after each pass nothing waits that would fit.
func TestFutureLaws(t *testing.T) {
	for _, law := range []struct {
		name string
		law  func(*rapid.T)
	}{{"scoped", scopedLaw}, {"user", userLaw}, {"units", unitsLaw}, {"shares", sharesLaw}} {
		t.Run(fmt.Sprint(law.name), func(t *testing.T) { rapid.Check(t, law.law) })
	}
}
