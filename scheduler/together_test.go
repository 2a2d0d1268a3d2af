package scheduler_test

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// A spell is a time for which a node is somebody's.
type spell struct{ from, to scheduler.Time }

// spells lists by node what runs and, with plans, what is planned for jobs that are
// not asked about.
func spells(v scheduler.View, asked map[scheduler.JobID]bool, plans bool) map[string][]spell {
	out := map[string][]spell{}
	for j := range v.Jobs() {
		var list []byte
		switch {
		case j.State == scheduler.StateRunning:
			for _, a := range v.AppendAlloc(nil, j.ID) {
				out[a.Node] = append(out[a.Node], spell{0, j.End})
			}
		case plans && j.State == scheduler.StatePending && j.Planned && !asked[j.ID]:
			for n := range v.Nodes() {
				list = append(v.AppendPlan(list[:0], j.ID), ',')
				if holdsNode(string(list), n.Name) {
					out[n.Name] = append(out[n.Name], spell{j.Start, j.End})
				}
			}
		}
	}
	return out
}

// holdsNode reports whether a hostlist of n0 to n9 holds a node.
func holdsNode(list, name string) bool {
	digit := name[1]
	for i := 0; i < len(list); i++ {
		if list[i] < '0' || list[i] > '9' {
			continue
		}
		if i+2 < len(list) && list[i+1] == '-' && list[i] <= digit && digit <= list[i+2] || list[i] == digit {
			return true
		}
	}
	return false
}

// roomAt reports whether whole nodes for all jobs are free from an instant on: as
// many as the jobs of at least each limit want, for that long.
func roomAt(at scheduler.Time, jobs []scheduler.JobSpec, nodes []string, busy map[string][]spell) bool {
	for _, j := range jobs {
		want, free := int32(0), int32(0)
		for _, k := range jobs {
			if k.TimeLimit >= j.TimeLimit {
				want += k.MinNodes
			}
		}
		for _, n := range nodes {
			clear := true
			for _, s := range busy[n] {
				clear = clear && (s.to <= at || s.from >= at.Add(j.TimeLimit))
			}
			if clear {
				free++
			}
		}
		if free < want {
			return false
		}
	}
	return true
}

// togetherCase draws a cluster in use, with jobs of which some are asked about.
func togetherCase(t *rapid.T, cfg scheduler.Config, others int) (s scheduler.Scheduler, now scheduler.Time, asked []scheduler.JobSpec) {
	now = scheduler.Time(1_000_000_000)
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	submit := func(from, count int, most int32) (specs []scheduler.JobSpec) {
		for i := range count {
			specs = append(specs, scheduler.JobSpec{
				ID: scheduler.JobID(from + i), User: "ann", Exclusive: scheduler.ExclusiveNode, MinNodes: rapid.Int32Range(1, most).Draw(t, "nodes"),
				TimeLimit: time.Duration(rapid.IntRange(1, 20).Draw(t, "limit")) * time.Second, Priority: rapid.Uint32Range(1, 9).Draw(t, "rank"),
			})
			if err := s.Apply(now, scheduler.Submit(&specs[i])); err != nil {
				t.Fatal(err)
			}
		}
		s.Pass(now, nil)
		return specs
	}
	submit(1, rapid.IntRange(1, 4).Draw(t, "first"), 4)
	now = now.Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "later")) * time.Second / 2)
	submit(10, rapid.IntRange(0, others).Draw(t, "others"), 6)
	all := submit(20, rapid.IntRange(1, 4).Draw(t, "asked"), 6)
	s.View(func(v scheduler.View) {
		for _, j := range all {
			if x, _ := v.Job(j.ID); x.State == scheduler.StatePending {
				asked = append(asked, j)
			}
		}
	})
	return s, now, asked
}

// checkTogether compares the instant with that of a search second by second.
func checkTogether(t *rapid.T, cfg scheduler.Config, others int, exact bool) {
	s, now, asked := togetherCase(t, cfg, others)
	if len(asked) == 0 {
		return
	}
	ids, set := []scheduler.JobID{}, map[scheduler.JobID]bool{}
	for _, j := range asked {
		ids, set[j.ID] = append(ids, j.ID), true
	}
	s.View(func(v scheduler.View) {
		hash := v.Hash()
		at, ok := v.Together(ids...)
		if v.Hash() != hash {
			t.Fatal("the books have changed")
		}
		var names []string
		want := int32(0)
		for n := range v.Nodes() {
			names = append(names, n.Name)
		}
		for _, j := range asked {
			want += j.MinNodes
		}
		if int(want) > len(names) {
			if ok {
				t.Fatalf("%d nodes at %d, of %d", want, at, len(names))
			}
			return
		}
		busy := spells(v, set, exact)
		least := now
		for ; !roomAt(least, asked, names, busy); least++ {
			least = (least/500_000+1)*500_000 - 1 // what ends does so at half a second
		}
		if !ok || at < least || exact && at > least || !roomAt(at, asked, names, busy) {
			t.Fatalf("together at %d (%v), the first with room is %d\n%v\n%v", at, ok, least, asked, busy)
		}
	})
}

func TestTogether(t *testing.T) {
	cfg := scheduler.Config{Nodes: []scheduler.NodeSpec{{Names: "n[0-6]", CoresPerSocket: 2}}}
	rapid.Check(t, func(t *rapid.T) { checkTogether(t, cfg, 3, true) })
}

// In profile Slurm what runs ends in groups, and the first nodes of a group need not
// be those that end first; jobs that go before are planned in whole groups too.
func TestTogetherSlurm(t *testing.T) {
	cfg := scheduler.Config{Profile: scheduler.ProfileSlurm, Nodes: []scheduler.NodeSpec{{Names: "n[0-6]", CoresPerSocket: 2}}}
	cfg.Parameters.Plan.Resolution = time.Second
	rapid.Check(t, func(t *rapid.T) { checkTogether(t, cfg, 0, false) })
}

func TestTogetherWaitsForOther(t *testing.T) {
	s, err := scheduler.New(scheduler.Config{Nodes: []scheduler.NodeSpec{{Names: "n[0-1]", CoresPerSocket: 2}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range []scheduler.JobSpec{{ID: 1, User: "ann", MinNodes: 1, TimeLimit: time.Minute}, {ID: 2, User: "ann", MinNodes: 1, Hold: true, TimeLimit: time.Minute}} {
		if err := s.Apply(0, scheduler.Submit(&j)); err != nil {
			t.Fatal(err)
		}
	}
	s.View(func(v scheduler.View) {
		if at, ok := v.Together(1, 1); !ok || at != 0 {
			t.Errorf("job 1 alone: %d, %v", at, ok)
		}
		for _, ids := range [][]scheduler.JobID{nil, {2}, {1, 2}, {3}} {
			if at, ok := v.Together(ids...); ok || at != scheduler.Never {
				t.Errorf("jobs %v: %d, %v; one is held, or unknown", ids, at, ok)
			}
		}
	})
}
