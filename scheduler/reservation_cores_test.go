package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// TestReservationCores compares cores chosen by count with what was recorded:
// nodes of four cores, each with a job's cores and its end.
func TestReservationCores(t *testing.T) {
	for _, c := range []struct {
		nodes   int
		running string // node:cores:end
		start   int64
		count   int32
		flags   string
		want    string // node:cores
	}{
		{6, "1:4:5400 2:2:5400 4:2:3600 5:4:3600", 1800, 1, "", "n6"},
		{6, "2:4:600 3:4:1800 5:4:7200 6:2:3600", 600, 1, "", "n6"},
		{4, "2:4:1800 4:4:1800", 0, 2, "MAINT", "n[1,3]"},
		{6, "1:4:600 3:4:300 5:4:600", 600, 2, "", "n[2,6]"},
		{6, "1:4:7200 2:2:600 3:4:3600 5:4:2700", 0, 5, "", "n[2,4,6] 1,3,1"},
		{6, "2:4:1200 3:2:5400 5:2:3600", 0, 5, "MAINT", "n[1,3-6]"},
		{6, "2:4:1200 4:4:1800 6:2:300", 1800, 3, "MAINT", "n[1,5-6]"},
	} {
		t.Run(c.running, func(t *testing.T) {
			epoch := scheduler.Seconds(1_790_000_040)
			s, err := scheduler.New(scheduler.Config{
				Profile: scheduler.ProfileSlurm,
				Nodes:   []scheduler.NodeSpec{{Names: fmt.Sprintf("n[1-%d]", c.nodes), Sockets: 1, CoresPerSocket: 4}},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range strings.Fields(c.running) {
				var node, cores, end int
				if _, err := fmt.Sscanf(f, "%d:%d:%d", &node, &cores, &end); err != nil {
					t.Fatal(err)
				}
				a := scheduler.NodeAlloc{Node: fmt.Sprintf("n%d", node), CPUs: int64(cores)}
				for k := range cores {
					a.Cores = append(a.Cores, int32(k))
				}
				spec := &scheduler.JobSpec{ID: scheduler.JobID(i + 1), User: "root", Tasks: int32(cores), TimeLimit: time.Duration(end) * time.Second}
				err := s.Apply(epoch, scheduler.Event{
					Kind: scheduler.EventJobAdopt, Job: spec.ID, Submit: spec, Adopt: &scheduler.Adopt{Start: epoch, Nodes: []scheduler.NodeAlloc{a}},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			r := scheduler.ReservationSpec{Name: "r", Users: []string{"root"}, Start: epoch.Add(time.Duration(c.start) * time.Second), Duration: time.Hour, CoreCount: []int32{c.count}}
			if c.flags != "" {
				r.Flags = []string{c.flags}
			}
			if err := reserve(s, epoch, r); err != nil {
				t.Fatal(err)
			}
			s.View(func(v scheduler.View) {
				for x := range v.Reservations() {
					got := x.Nodes
					if strings.Contains(c.want, " ") {
						got += " " + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(x.CoreCount), "[]")), ",")
					}
					if got != c.want {
						t.Errorf("chose %s, recorded %s", got, c.want)
					}
				}
			})
		})
	}
}
