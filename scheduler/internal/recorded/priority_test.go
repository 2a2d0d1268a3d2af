package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/scheduler"
)

// A priorityFile is what a recording of priorities has beside its cases.
type priorityFile struct {
	Usage []struct {
		Account, User string
		Usage         float64 `json:"raw_usage"`
	}
	State struct{ Sshare []map[string]any }
}

// TestRecordedPriority runs the recordings of sshare and sprio through the
// engine: every cell of both tables as the View shows them.
func TestRecordedPriority(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "priority", "testdata", "recorded", "priority")
	list, err := filepath.Glob(filepath.Join(dir, "*.json.gz"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, path := range list {
		var f recordedFile
		if err := readFile(path, &f); err != nil {
			t.Fatal(err)
		}
		t.Run(f.Name, func(t *testing.T) {
			for k := range f.Cases {
				checkPriorities(t, &f, &f.Cases[k], readPriorityFile(t, path))
			}
		})
	}
}

func checkPriorities(t *testing.T, f *recordedFile, c *recordedCase, p *priorityFile) {
	r := &recordedRun{file: f, c: c, epoch: recordedEpoch, now: recordedEpoch, ids: map[string]scheduler.JobID{}, errs: map[string]string{}, victims: map[string]bool{}}
	if err := r.load(); err != nil {
		t.Fatal(err)
	}
	for i, u := range p.Usage {
		if err := r.use(scheduler.JobID(1000+i), u.Account, u.User, int64(u.Usage)); err != nil {
			t.Fatal(err)
		}
	}
	r.pass() // the first calculation ranks the shares
	want := map[string]map[string]any{}
	for name, raw := range c.Expect {
		var w map[string]any
		if err := json.Unmarshal(raw, &w); err != nil {
			t.Fatal(err)
		}
		want[name] = w
	}
	tick := r.now.Add(time.Minute)
	for i := range c.Submit {
		// How old the job was at the calculation is known from its factor alone.
		age, _ := strconv.ParseFloat(fmt.Sprint(want[c.Submit[i].Name]["age_norm"]), 64)
		r.now = max(r.now, tick.Add(-time.Duration(age*60+.5)*time.Second))
		r.submit(&c.Submit[i])
	}
	r.now = tick
	r.pass()
	if len(r.errs) > 2 {
		t.Errorf("%d jobs are refused: %v", len(r.errs), r.errs)
	}
	r.s.View(func(v scheduler.View) {
		compareShares(t, v.AppendShares(nil), p.State.Sshare)
		for name, w := range want {
			// Down nodes hide from the recorded Slurm that three tasks with a GPU each
			// cannot be spread over two nodes of two: it would refuse on idle ones.
			if w["priority"] != nil && r.errs[name] == "" {
				compareTerms(t, name, v, r.ids[name], w)
			}
		}
	})
}

// use gives an association usage: a job on one CPU that ran for so many seconds.
func (r *recordedRun) use(id scheduler.JobID, account, user string, seconds int64) error {
	if seconds == 0 {
		return nil
	}
	var node string
	r.s.View(func(v scheduler.View) {
		for n := range v.Nodes() {
			node = n.Name
		}
	})
	begin := r.now.Add(-time.Duration(seconds) * time.Second)
	spec := scheduler.JobSpec{ID: id, User: user, Account: account, Partitions: []string{"all"}, Tasks: 1, Mem: scheduler.MemPerNode, MemMiB: 1}
	for _, ev := range []scheduler.Event{
		scheduler.SetNodes(node, scheduler.NodeUp, ""),
		{Kind: scheduler.EventJobAdopt, Job: id, Submit: &spec, Adopt: &scheduler.Adopt{
			Start: begin, Nodes: []scheduler.NodeAlloc{{Node: node, CPUs: 1, Cores: []int32{0}, MemMiB: 1}},
		}},
		scheduler.Ended(id, scheduler.JobEnd{}),
		scheduler.SetNodes(node, scheduler.NodeDown, "recorded"),
	} {
		if err := r.s.Apply(r.now, ev); err != nil {
			return err
		}
	}
	return nil
}

func readPriorityFile(t *testing.T, path string) *priorityFile {
	t.Helper()
	var p priorityFile
	if err := readFile(path, &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

func compareShares(t *testing.T, got []priority.ShareLine, want []map[string]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d lines of shares, want %d", len(got), len(want))
	}
	cells := [...]string{1: "user", 2: "raw_shares", 3: "norm_shares", 4: "raw_usage", 5: "norm_usage", 6: "effectv_usage", 7: "fairshare", 8: "level_fs"}
	for i := range got {
		for k, key := range cells {
			if key == "" {
				continue
			}
			if cell := string(got[i].AppendCell(nil, k)); cell != want[i][key] {
				t.Errorf("%s|%s %s is %q, want %q", got[i].Account, got[i].User, key, cell, want[i][key])
			}
		}
	}
}

func compareTerms(t *testing.T, name string, v scheduler.View, id scheduler.JobID, w map[string]any) {
	t.Helper()
	lines := v.AppendPriority(nil, id)
	if len(lines) != 1 {
		t.Errorf("%s: %d lines", name, len(lines))
		return
	}
	l := &lines[0]
	job, _ := v.Job(id)
	fixed := func(f float64, decimals int) string { return strconv.FormatFloat(f, 'f', decimals, 64) }
	got := map[string]string{
		"priority": strconv.Itoa(int(l.Priority)), "job_priority": strconv.Itoa(int(job.Priority)),
		"priority_norm": fixed(l.Sum/priority.Ceiling, 14), "site": strconv.Itoa(int(l.Site)), "nice": strconv.Itoa(int(l.Nice)),
		"tres": string(priority.AppendTRESPoints(nil, v.TRES(), l.TRES)), "tres_norm": string(priority.AppendTRESNorm(nil, v.TRES(), l.TRES)),
	}
	for key, f := range map[string]priority.Factor{
		"age": l.Age, "assoc": l.Assoc, "fairshare": l.FairShare, "jobsize": l.JobSize, "partition": l.Breakdown.Partition, "qos": l.Breakdown.QOS,
	} {
		got[key], got[key+"_norm"] = fixed(f.Points, 0), fixed(f.Norm, 7)
	}
	for key, g := range got {
		if g != w[key] {
			t.Errorf("%s %s is %q, want %q", name, key, g, w[key])
		}
	}
}
