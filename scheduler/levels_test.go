package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// TestLevelsKeepTheirPromise starts random gangs in racks of random sizes: who
// asked for one rack is in one, slices are whole inside theirs, and a gang with
// a rack to itself meets nobody there.
func TestLevelsKeepTheirPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := scheduler.Config{
			Topologies: []scheduler.TopologySpec{{Name: "default", Levels: []string{"rack"}, Parameters: rapid.SampledFrom([]string{"", "leastfree", "mostfree", "balanced"}).Draw(t, "fill")}},
			Partitions: []scheduler.PartitionSpec{{Name: "p", Nodes: "ALL", Default: true}},
		}
		rack := map[string]int{}
		for r := range rapid.IntRange(1, 4).Draw(t, "racks") {
			size := rapid.IntRange(1, 5).Draw(t, "size")
			names := fmt.Sprintf("r%dn[0-%d]", r, size-1)
			cfg.Nodes = append(cfg.Nodes, scheduler.NodeSpec{Names: names, CoresPerSocket: 4, GRES: "gpu:4"})
			cfg.Topologies[0].Domains = append(cfg.Topologies[0].Domains, scheduler.DomainSpec{Values: []string{fmt.Sprint(r)}, Nodes: names})
			for i := range size {
				rack[fmt.Sprintf("r%dn%d", r, i)] = r
			}
		}
		s, err := scheduler.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		specs := map[scheduler.JobID]*scheduler.JobSpec{}
		for id := scheduler.JobID(1); id <= 12; id++ {
			j := &scheduler.JobSpec{ID: id, TimeLimit: 3600e9}
			slice := int32(rapid.IntRange(1, 3).Draw(t, "slice"))
			count := slice * int32(rapid.IntRange(1, 4).Draw(t, "slices"))
			if rapid.Bool().Draw(t, "tasks") {
				j.Tasks, j.GPUsPerTask = count, "1"
			} else {
				j.MinNodes, j.TasksPerNode = count, 1
			}
			if rapid.Bool().Draw(t, "required") {
				j.Levels = append(j.Levels, scheduler.LevelSpec{Level: "rack", Required: true})
			}
			if slice > 1 {
				j.Levels = append(j.Levels, scheduler.LevelSpec{Level: "rack", Slice: slice})
			}
			if len(j.Levels) == 0 {
				j.Levels = []scheduler.LevelSpec{{Level: "rack"}}
			}
			if rapid.IntRange(0, 3).Draw(t, "alone") == 0 {
				j.Exclusive = scheduler.ExclusiveTopo
			}
			if s.Apply(0, scheduler.Submit(j)) == nil {
				specs[id] = j
			}
		}
		racks := map[scheduler.JobID]map[int]int32{}
		for _, d := range s.Pass(0, nil) {
			at := map[int]int32{}
			s.View(func(v scheduler.View) {
				for _, a := range v.AppendAlloc(nil, d.Job) {
					if j := specs[d.Job]; j.Tasks > 0 {
						at[rack[a.Node]] += int32(len(a.Devices))
					} else {
						at[rack[a.Node]]++
					}
				}
			})
			racks[d.Job] = at
		}
		for id, at := range racks {
			j, members := specs[id], int32(0)
			for r, n := range at {
				members += n
				for _, l := range j.Levels {
					if l.Required && len(at) > 1 || l.Slice > 0 && n%l.Slice != 0 {
						t.Fatalf("job %d (%+v) got %v", id, j.Levels, at)
					}
				}
				for other, has := range racks {
					if j.Exclusive == scheduler.ExclusiveTopo && other != id && has[r] > 0 {
						t.Fatalf("job %d has rack %d to itself, job %d is in it too", id, r, other)
					}
				}
			}
			if want := max(j.Tasks, j.MinNodes); members != want {
				t.Fatalf("job %d: %d members of %d", id, members, want)
			}
		}
	})
}
