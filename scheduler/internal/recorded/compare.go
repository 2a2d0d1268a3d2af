package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
)

// compare returns what disagrees with the recorded answers.
func (r *recordedRun) compare() string {
	out := r.unlike
	names := make([]string, 0, len(r.c.Expect))
	for n := range r.c.Expect {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		if n == "victims" {
			var list []struct{ Name string }
			if err := json.Unmarshal(r.c.Expect[n], &list); err != nil {
				out = append(out, fmt.Sprintf("expect %q: %v", n, err))
				continue
			}
			var want []string
			for _, v := range list {
				want = append(want, v.Name)
			}
			var got []string
			for v := range r.victims {
				got = append(got, v)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				out = append(out, fmt.Sprintf("victims %v, recorded %v", got, want))
			}
			continue
		}
		var want recordedAnswer
		if err := json.Unmarshal(r.c.Expect[n], &want); err != nil {
			out = append(out, fmt.Sprintf("expect %q: %v", n, err))
			continue
		}
		for _, d := range r.compareJob(n, &want) {
			out = append(out, n+": "+d)
		}
	}
	if len(out) > 0 {
		for _, j := range r.c.State.Running {
			out = append(out, fmt.Sprintf("  running %s %v", j.Name, j.Args))
		}
		for _, j := range r.c.Submit {
			out = append(out, fmt.Sprintf("  %s %s %v", j.Name, j.User, j.Args))
		}
	}
	return strings.Join(out, "\n")
}

// compareReservation notes it if a reservation that was made has other nodes than
// the recorded one.
func (r *recordedRun) compareReservation(res *recordedReservation) {
	if res.Result == nil || res.Result.Nodes == "" {
		return
	}
	r.s.View(func(v scheduler.View) {
		for x := range v.Reservations() {
			if x.Name == res.Name && !sameHosts(x.Nodes, res.Result.Nodes) {
				r.unlike = append(r.unlike, fmt.Sprintf("reservation %s on %s, recorded %s", res.Name, x.Nodes, res.Result.Nodes))
			}
		}
	})
}

func (r *recordedRun) compareJob(name string, want *recordedAnswer) (out []string) {
	differ := func(what string, got, want any) {
		if got != want {
			out = append(out, fmt.Sprintf("%s %v, recorded %v", what, got, want))
		}
	}
	if text, refused := r.errs[name]; refused || want.State == "REJECTED" {
		if !refused {
			text = "accepted"
		}
		last := strings.TrimSpace(want.Error)
		last = last[strings.LastIndexByte(last, '\n')+1:]
		if want.State != "REJECTED" {
			last = want.State
		}
		differ("refusal", text, last)
		return out
	}
	r.s.View(func(v scheduler.View) {
		id, known := r.ids[name]
		j, ok := v.Job(id)
		switch {
		case !known:
			out = append(out, "expected, and not among the submissions")
			return
		case !ok:
			out = append(out, "gone")
			return
		}
		differ("state", j.State.String(), want.State)
		if want.TimeLimit != "" {
			differ("time_limit", slurmDuration(j.Limit), want.TimeLimit)
		}
		if want.State == "PENDING" && j.State == scheduler.StatePending {
			out = append(out, r.comparePending(v, &j, want)...)
			return
		}
		if want.State == "RUNNING" && j.State == scheduler.StateRunning {
			out = append(out, r.compareRunning(v, &j, want)...)
		}
	})
	return out
}

// softReasons are those that main loop and backfill overwrite with each other.
var softReasons = []string{
	"Resources", "No_suitable_topology_unit_found", "Insufficient_resources_in_topology_unit", "ReqNodeNotAvail",
	"Nodes_required_for_job_are_DOWN",
}

func soft(reason string) bool {
	return slices.ContainsFunc(softReasons, func(p string) bool { return strings.HasPrefix(reason, p) })
}

func (r *recordedRun) comparePending(v scheduler.View, j *scheduler.JobView, want *recordedAnswer) (out []string) {
	got := j.Reason.String()
	if got != want.Reason && !slices.Contains(want.ReasonAlso, got) && !(soft(got) && soft(want.Reason)) {
		out = append(out, fmt.Sprintf("reason %s, recorded %s", got, want.Reason))
	}
	if want.Start != nil {
		switch start := r.seconds(j.Start); {
		case !j.Planned:
			out = append(out, fmt.Sprintf("no planned start, recorded %d", *want.Start))
		case !r.plannedAgrees(start, *want.Start):
			out = append(out, fmt.Sprintf("planned start %.0f, recorded %d", start, *want.Start))
		}
	}
	if want.SchedNodelist != "" {
		if got := string(v.AppendPlan(nil, j.ID)); !sameHosts(got, want.SchedNodelist) {
			out = append(out, fmt.Sprintf("planned on %s, recorded %s", got, want.SchedNodelist))
		}
	}
	return out
}

// plannedAgrees compares planned starts: 2 s at the end of something that runs
// or of a reservation, one bf_resolution more elsewhere.
func (r *recordedRun) plannedAgrees(got float64, want int64) bool {
	slack := 2.0
	end := false
	for i := range r.c.State.Running {
		if a := r.c.State.Running[i].Result; a != nil && a.End != nil && within(float64(*a.End), want, 2) {
			end = true
		}
	}
	for i := range r.c.State.Reservations {
		if a := r.c.State.Reservations[i].Result; a != nil && within(float64(a.End), want, 2) {
			end = true
		}
	}
	if !end {
		slack += r.resolution()
	}
	return within(got, want, slack)
}

func (r *recordedRun) resolution() float64 {
	var conf string
	_ = json.Unmarshal(r.file.Files["slurm.conf"], &conf)
	if _, rest, ok := strings.Cut(conf, "bf_resolution="); ok {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		if v, err := strconv.Atoi(digits); err == nil && v > 0 {
			return float64(v)
		}
	}
	return 60
}

func within(got float64, want int64, slack float64) bool {
	return got >= float64(want)-slack && got <= float64(want)+slack
}

func (r *recordedRun) seconds(t scheduler.Time) float64 { return float64(t-r.epoch) / 1e6 }

func sameHosts(a, b string) bool {
	x, err1 := topology.ParseHostlist(a)
	y, err2 := topology.ParseHostlist(b)
	slices.Sort(x)
	slices.Sort(y)
	return err1 == nil && err2 == nil && slices.Equal(x, y)
}

func (r *recordedRun) compareRunning(v scheduler.View, j *scheduler.JobView, want *recordedAnswer) (out []string) {
	differ := func(what string, got, want any) {
		if got != want {
			out = append(out, fmt.Sprintf("%s %v, recorded %v", what, got, want))
		}
	}
	alloc := v.AppendAlloc(nil, j.ID)
	hosts := make([]string, len(alloc))
	for i := range alloc {
		hosts[i] = alloc[i].Node
	}
	list := string(topology.AppendHostlist(nil, hosts))
	if !sameHosts(list, want.Nodelist) {
		differ("nodelist", list, want.Nodelist)
	}
	differ("num_nodes", j.Nodes, want.NumNodes)
	differ("num_cpus", j.CPUs, want.NumCPUs)
	differ("num_tasks", j.Tasks, want.NumTasks)
	if len(hosts) > 0 {
		differ("batch_host", hosts[0], want.BatchHost)
	}
	differ("tres", string(v.AppendTRES(nil, j.ID)), want.TRES)
	differ("alloc", normalAlloc(string(v.AppendAllocText(nil, j.ID))), normalAlloc(allocText(want.Alloc)))
	if want.Start != nil && !within(r.seconds(j.Start), *want.Start, 2) {
		differ("start", r.seconds(j.Start), *want.Start)
	}
	if want.End != nil && !within(r.seconds(j.End), *want.End, 2) {
		differ("end", r.seconds(j.End), *want.End)
	}
	return out
}

func allocText(list []recordedAlloc) string {
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintf(&b, "Nodes=%s CPU_IDs=%s Mem=%d GRES=%s\n", a.Nodes, a.CPUIDs, a.Mem, a.GRES)
	}
	return b.String()
}

// normalAlloc gives each node its own line, in order of names, so that only
// what is held counts and not how equal lines are folded.
func normalAlloc(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		nodes, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		hosts, err := topology.ParseHostlist(strings.TrimPrefix(nodes, "Nodes="))
		if err != nil {
			return text
		}
		for _, h := range hosts {
			lines = append(lines, h+" "+rest)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// slurmDuration is a time limit as scontrol prints it.
func slurmDuration(d time.Duration) string {
	if d == scheduler.Infinite {
		return "UNLIMITED"
	}
	s := int64(d / time.Second)
	if days := s / 86400; days > 0 {
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, s/3600%24, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}
