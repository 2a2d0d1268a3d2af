package schedtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/internal/schedwords"
	"github.com/berth-sched/berth/topology"
)

// wordFields sets what the fields of the cluster command say in Slurm's words of
// SchedulerParameters: bf_max_job_test=2 default_queue_depth=100 bf_window=60 ….
// They are read as slurmconf reads them.
func wordFields(c *scheduler.Config, a fields) error {
	var items []schedwords.Item
	for k, v := range a {
		if schedwords.UseOf(k) != schedwords.Unknown {
			items = append(items, schedwords.Item{Name: k, Value: v})
		}
	}
	slices.SortFunc(items, func(a, b schedwords.Item) int { return strings.Compare(a.Name, b.Name) })
	at, err := schedwords.Set(&c.Parameters, items)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", items[at].Name, items[at].Value, err)
	}
	return nil
}

// spread makes many jobs of a line with times=N: ids count on, and of several
// partitions each takes the next.
func spread(in []fields) (out []fields) {
	for _, f := range in {
		n := f.num("times")
		if n == 0 {
			out = append(out, f)
			continue
		}
		parts, _ := topology.ParseHostlist(f["part"])
		for i := range n {
			g := fields{}
			maps.Copy(g, f)
			g["job"] = strconv.FormatInt(f.num("job")+i, 10)
			if len(parts) > 0 {
				g["part"] = parts[int(i)%len(parts)]
			}
			out = append(out, g)
		}
	}
	return out
}

// partitions makes those of a line, whose name may be a hostlist.
func partitions(f fields) (out []scheduler.PartitionSpec) {
	names, err := topology.ParseHostlist(f["partition"])
	if err != nil {
		panic(err)
	}
	for _, n := range names {
		p := partition(f)
		p.Name, p.AllowGroups, p.Alternate = n, f.list("groups"), f["alternate"]
		p.RootOnly, p.ReqResv = f.has("rootonly"), f.has("reqresv")
		out = append(out, p)
	}
	return out
}

// wordCommand runs the commands of this file:
//
//	tally now=1           a pass, and how many jobs wait then, by reason
//	times                 when jobs began, begin or ended, and their limits, in seconds
//	parts now=1           then lines of partitions: their states and limits change
//	complete now=1 job=1  its processes are gone, its nodes are not clean yet
func (e *env) wordCommand(cmd string, job scheduler.JobID, in []fields) (string, error) {
	switch cmd {
	case "tally":
		return e.tally(), nil
	case "times":
		return e.times(), nil
	case "complete":
		return e.apply(scheduler.Ended(job, scheduler.JobEnd{Completing: true}))
	}
	for _, f := range in {
		for _, p := range partitions(f) {
			if out, err := e.apply(scheduler.Event{Kind: scheduler.EventPartition, Partition: &p}); err != nil {
				return out, err
			}
		}
	}
	return "ok\n", nil
}

func (e *env) tally() string {
	started := len(e.s.Pass(e.now, nil))
	count := map[string]int{}
	e.s.View(func(v scheduler.View) {
		for j := range v.Jobs() {
			if j.State == scheduler.StatePending {
				count[j.Reason.String()]++
			}
		}
	})
	names := make([]string, 0, len(count))
	for n := range count {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "%d decisions\n", started)
	for _, n := range names {
		fmt.Fprintf(&b, "%d wait, %s\n", count[n], n)
	}
	return b.String()
}

func (e *env) times() string {
	var b strings.Builder
	e.s.View(func(v scheduler.View) {
		for j := range v.Jobs() {
			fmt.Fprintf(&b, "%d %s limit %d", j.ID, j.State, int64(j.Limit.Seconds()))
			if j.Start > 0 && j.Start != scheduler.Never {
				fmt.Fprintf(&b, " from %d to %d", j.Start/1e6, j.End/1e6)
			}
			b.WriteByte('\n')
		}
	})
	return b.String()
}
