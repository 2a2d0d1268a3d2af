package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/qos"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
	"github.com/berth-sched/berth/scheduler/slurmconf"
	"github.com/berth-sched/berth/topology"
)

// recordedEpoch is the instant of second 0 of a case; a whole bf_resolution of
// every case.
const recordedEpoch = scheduler.Time(1_790_000_400 * 1e6)

// A recordedRun is one case on its way.
type recordedRun struct {
	file    *recordedFile
	c       *recordedCase
	s       scheduler.Scheduler
	cfg     scheduler.Config
	epoch   scheduler.Time // second 0 of the case
	now     scheduler.Time
	threads map[string]int32 // per node: CPU ids of a core
	ids     map[string]scheduler.JobID
	errs    map[string]string // refused jobs: the text
	victims map[string]bool
	unlike  []string // what disagrees already
}

// A manner is how a case is run where nothing depends on it.
type manner struct {
	later    time.Duration // all happens so much later; whole units of bf_resolution
	together bool          // no pass between submissions
	passes   int           // seconds of passes at the end
}

// asRecorded is how cases are run.
var asRecorded = manner{passes: 6}

// runCase runs a case and returns what disagrees, a line each.
func runCase(f *recordedFile, c *recordedCase, m manner) (diff string) {
	epoch := recordedEpoch.Add(m.later) - wallPhase(f, c)
	r := &recordedRun{file: f, c: c, epoch: epoch, now: epoch, ids: map[string]scheduler.JobID{}, errs: map[string]string{}, victims: map[string]bool{}}
	defer func() {
		if p := recover(); p != nil {
			diff = fmt.Sprintf("panic: %v", p)
		}
	}()
	if err := r.load(); err != nil {
		return "load: " + err.Error()
	}
	if err := r.setUp(); err != nil {
		return "state: " + err.Error()
	}
	if f.Area == "backfill" {
		r.now = max(r.now, r.epoch.Add(firstStart(c)))
	}
	for i := range c.Submit {
		r.submit(&c.Submit[i])
		if f.Area != "backfill" && !m.together {
			r.pass()
		}
	}
	if err := r.planFirst(); err != nil {
		return "planning first: " + err.Error()
	}
	for range m.passes {
		r.pass()
		r.now = r.now.Add(time.Second)
	}
	return r.compare()
}

// planFirst makes the first pass over submissions that were released together
// one of backfill alone, which looks every second: the main loop comes after it.
// It shows where a job starts whose node the main loop would have kept for the
// first job of another partition.
func (r *recordedRun) planFirst() error {
	if r.file.Area != "backfill" || r.cfg.Parameters.Plan.Mode == scheduler.PlanNone || r.cfg.Parameters.Queue.Disabled {
		return nil
	}
	par := r.cfg.Parameters
	par.Queue.Disabled = true
	if err := r.s.Apply(r.now, scheduler.Event{Kind: scheduler.EventConfig, Config: &par}); err != nil {
		return err
	}
	r.pass()
	r.now = r.now.Add(time.Second)
	return r.s.Apply(r.now, scheduler.Event{Kind: scheduler.EventConfig, Config: &r.cfg.Parameters})
}

// wallPhase is what second 0 of a case lacks to a whole bf_resolution on the
// recorder's clock. It shows in planned starts that are no end of a job or of a
// reservation: they lie on the clock's grid.
func wallPhase(f *recordedFile, c *recordedCase) scheduler.Time {
	if f.Area != "backfill" {
		return 0
	}
	r := &recordedRun{file: f, c: c}
	ends := []int64{0}
	add := func(a *recordedAnswer) {
		if a != nil && a.End != nil {
			ends = append(ends, *a.End)
		}
	}
	for i := range c.State.Running {
		add(c.State.Running[i].Result)
	}
	for _, x := range c.State.Reservations {
		if x.Result != nil {
			ends = append(ends, x.Result.End)
		}
	}
	var plans []int64
	for i := range c.Submit {
		var a recordedAnswer
		if json.Unmarshal(c.Expect[c.Submit[i].Name], &a) != nil {
			continue
		}
		add(&a)
		if a.State == "PENDING" && a.Start != nil && a.Reason != "BeginTime" {
			plans = append(plans, *a.Start)
		}
	}
	for _, p := range plans {
		free := true
		for _, e := range ends {
			free = free && !within(float64(p), e, 2)
		}
		if free {
			return scheduler.Time(p%int64(r.resolution())) * 1e6
		}
	}
	return 0
}

// firstStart is when the first submission that started did; a second after what
// runs if none did.
func firstStart(c *recordedCase) time.Duration {
	first := int64(-1)
	for i := range c.Submit {
		var a recordedAnswer
		if json.Unmarshal(c.Expect[c.Submit[i].Name], &a) == nil && a.State == "RUNNING" && a.Start != nil && (first < 0 || *a.Start < first) {
			first = *a.Start
		}
	}
	if first < 0 {
		first = 1
	}
	return time.Duration(first) * time.Second
}

// load makes a scheduler of the file's configuration.
func (r *recordedRun) load() error {
	fsys := fstest.MapFS{}
	var o slurmconf.Options
	for name, raw := range r.file.Files {
		var text string
		if name == "sacctmgr" {
			var lines []string
			if err := json.Unmarshal(raw, &lines); err != nil {
				return fmt.Errorf("files %q: %w", name, err)
			}
			for _, l := range r.c.State.Limits {
				lines = append(lines, "modify "+l.Entity+" set "+l.Limit+"="+l.Value)
			}
			text, name = strings.Join(lines, "\n")+"\n", "sacctmgr.script"
		} else if err := json.Unmarshal(raw, &text); err != nil {
			return fmt.Errorf("files %q: %w", name, err)
		}
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	cfg, events, _, err := slurmconf.Load(fsys, o)
	if err != nil {
		return err
	}
	cfg.Defects = true
	r.cfg, r.threads = cfg, map[string]int32{}
	for i := range cfg.Nodes {
		hosts, err := topology.ParseHostlist(cfg.Nodes[i].Names)
		if err != nil {
			return err
		}
		for _, h := range hosts {
			r.threads[h] = max(cfg.Nodes[i].ThreadsPerCore, 1)
		}
	}
	if r.s, err = scheduler.New(cfg, nil); err != nil {
		return err
	}
	for _, ev := range events {
		if err := r.s.Apply(r.now, ev); err != nil {
			return err
		}
	}
	return nil
}

// setUp drains nodes, makes reservations and adopts what runs.
func (r *recordedRun) setUp() error {
	st := &r.c.State
	if st.Drained != "" {
		if err := r.s.Apply(r.now, scheduler.SetNodes(st.Drained, scheduler.NodeDrain, "recorded")); err != nil {
			return fmt.Errorf("drained %q: %w", st.Drained, err)
		}
	}
	// Time stands at the last start of what runs.
	for i := range st.Running {
		if a := st.Running[i].Result; a != nil && a.Start != nil {
			r.now = max(r.now, r.epoch+scheduler.Time(*a.Start)*1e6)
		}
	}
	for i := range st.Running {
		if err := r.adopt(&st.Running[i]); err != nil {
			return fmt.Errorf("running %q: %w", st.Running[i].Name, err)
		}
	}
	for i := range st.Reservations {
		res := &st.Reservations[i]
		spec, err := slurmconf.ParseReservation(res.Args, time.UnixMicro(int64(r.epoch)).UTC())
		if err != nil {
			return fmt.Errorf("reservation %q: %w", res.Name, err)
		}
		if a := res.Result; a != nil && a.Start > 0 && spec.Start > 0 && within(r.seconds(spec.Start), a.Start, 2) {
			shift := r.epoch + scheduler.Time(a.Start)*1e6 - spec.Start // "now" was then
			if spec.Start += shift; spec.End != 0 {
				spec.End += shift
			}
		}
		err = r.s.Apply(r.now, scheduler.Event{Kind: scheduler.EventReservation, Reservation: &spec})
		if (err != nil) != (res.Error != "") {
			return fmt.Errorf("reservation %q: %v, recorded %q", res.Name, err, res.Error)
		}
		r.compareReservation(res)
	}
	return nil
}

// spec parses a recorded submission.
func (r *recordedRun) spec(j *recordedJob) (*scheduler.JobSpec, error) {
	sub, err := sbatch.Parse(sbatch.Input{Args: j.Args, Script: "#!/bin/sh\n", Now: time.UnixMicro(int64(r.now)).UTC()})
	if err != nil {
		return nil, err
	}
	spec := sub.Components[0].Spec
	id := scheduler.JobID(len(r.ids) + len(r.errs) + 1)
	spec.ID, spec.Name, spec.User = id, j.Name, j.User
	if spec.User == "" {
		spec.User = "root"
	}
	return &spec, nil
}

func (r *recordedRun) adopt(j *recordedJob) error {
	spec, err := r.spec(j)
	if err != nil {
		return err
	}
	if j.Result == nil {
		return errors.New("no result")
	}
	a := &scheduler.Adopt{Start: r.epoch}
	if j.Result.Start != nil {
		a.Start = r.epoch + scheduler.Time(*j.Result.Start)*1e6
	}
	for _, al := range j.Result.Alloc {
		hosts, err := topology.ParseHostlist(al.Nodes)
		if err != nil {
			return err
		}
		for _, h := range hosts {
			if r.threads[h] == 0 {
				return fmt.Errorf("alloc: no node %q in slurm.conf", h)
			}
			n := scheduler.NodeAlloc{Node: h, MemMiB: al.Mem}
			if n.Cores, err = recordedCores(al.CPUIDs, r.threads[h]); err != nil {
				return err
			}
			n.CPUs = j.Result.NumCPUs / int64(max(j.Result.NumNodes, 1))
			if n.Devices, err = recordedDevices(al.GRES); err != nil {
				return err
			}
			a.Nodes = append(a.Nodes, n)
		}
	}
	r.ids[j.Name] = spec.ID
	return r.s.Apply(r.now, scheduler.Event{Kind: scheduler.EventJobAdopt, Job: spec.ID, Submit: spec, Adopt: a})
}

// recordedCores are the cores of a list of CPU ids.
func recordedCores(ids string, threads int32) ([]int32, error) {
	var cores []int32
	for item := range strings.SplitSeq(ids, ",") {
		if item == "" {
			continue
		}
		lo, hi, ranged := strings.Cut(item, "-")
		a, err := strconv.Atoi(lo)
		b := a
		if err == nil && ranged {
			b, err = strconv.Atoi(hi)
		}
		if err != nil {
			return nil, fmt.Errorf("cpu_ids %q: %w", ids, err)
		}
		if a < 0 || b >= 1<<16 {
			return nil, fmt.Errorf("cpu_ids %q: out of range", ids)
		}
		for ; a <= b; a++ {
			if k := int32(a) / threads; len(cores) == 0 || cores[len(cores)-1] != k {
				cores = append(cores, k)
			}
		}
	}
	return cores, nil
}

// recordedDevices reads "gpu:a100:2(IDX:0-1),shard:3(3/8,0/8),lic:2(CNT:2)".
func recordedDevices(text string) ([]scheduler.DeviceAlloc, error) {
	var out []scheduler.DeviceAlloc
	for text != "" {
		open := strings.IndexByte(text, '(')
		end := strings.IndexByte(text, ')')
		if open < 0 || end < open {
			return nil, fmt.Errorf("gres %q", text)
		}
		head, in := text[:open], text[open+1:end]
		text = strings.TrimPrefix(text[end+1:], ",")
		parts := strings.Split(head, ":")
		d := scheduler.DeviceAlloc{Name: parts[0]}
		if len(parts) == 3 {
			d.Type = parts[1]
		}
		switch {
		case strings.HasPrefix(in, "CNT:"):
			n, err := strconv.ParseInt(in[4:], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("gres %q: %w", in, err)
			}
			d.Index, d.Units = -1, n
			out = append(out, d)
		case strings.HasPrefix(in, "IDX:"):
			if in == "IDX:N/A" || in == "IDX:" {
				continue
			}
			idx, err := recordedCores(in[4:], 1)
			if err != nil {
				return nil, err
			}
			for _, k := range idx {
				d.Index, d.Units = k, 1
				out = append(out, d)
			}
		default:
			for k, use := range strings.Split(in, ",") {
				used, _, _ := strings.Cut(use, "/")
				n, err := strconv.ParseInt(used, 10, 64)
				if err != nil {
					return nil, fmt.Errorf("gres %q: %w", in, err)
				}
				if n > 0 {
					d.Index, d.Units = int32(k), n
					out = append(out, d)
				}
			}
		}
	}
	return out, nil
}

func (r *recordedRun) submit(j *recordedJob) {
	spec, err := r.spec(j)
	if err == nil {
		err = r.s.Apply(r.now, scheduler.Submit(spec))
	}
	if err != nil {
		r.errs[j.Name] = slurmText(err)
		return
	}
	r.ids[j.Name] = spec.ID
}

// pass makes a pass; starts are acknowledged and kills carried out at once.
func (r *recordedRun) pass() {
	for range 4 {
		dec := r.s.Pass(r.now, nil)
		for i := range dec {
			d := &dec[i]
			switch d.Op {
			case scheduler.OpStart:
				_ = r.s.Apply(r.now, scheduler.Started(d))
			case scheduler.OpPreempt:
				r.victims[r.name(d.Job)] = true
			case scheduler.OpKill, scheduler.OpRequeue:
				if d.Reason == scheduler.ReasonPreempted {
					r.victims[r.name(d.Job)] = true
				}
				_ = r.s.Apply(r.now, scheduler.Ended(d.Job, scheduler.JobEnd{}))
			case scheduler.OpSuspend:
				r.victims[r.name(d.Job)] = true
			}
		}
		if len(dec) == 0 {
			return
		}
	}
}

func (r *recordedRun) name(id scheduler.JobID) string {
	for n, x := range r.ids {
		if x == id {
			return n
		}
	}
	return ""
}

// slurmText is the last line that Slurm's command prints for an error.
func slurmText(err error) string {
	last := func(s string) string {
		s = strings.TrimSpace(s)
		return s[strings.LastIndexByte(s, '\n')+1:]
	}
	if e, ok := errors.AsType[*gres.RequestError](err); ok {
		return last(e.SlurmText())
	}
	const failed = "error: Batch job submission failed: "
	for _, row := range []struct {
		is   error
		text string
	}{
		{scheduler.ErrTopologyNever, "Requested topology configuration is not available"},
		{scheduler.ErrReservationInvalid, "Requested reservation is invalid"},
		{scheduler.ErrReservationAccess, "Access denied to requested reservation"},
		{scheduler.ErrTimeMin, "Invalid time-min specification (exceeds job's time or other limits)"},
		{scheduler.ErrNeverRuns, "Requested node configuration is not available"},
		{scheduler.ErrUnknownNode, "Invalid node name specified"},
		{scheduler.ErrUnknownPartition, "Invalid partition name specified"},
		{scheduler.ErrUnknownQOS, "Invalid qos specification"},
		{scheduler.ErrUnknownAccount, "Invalid account or account/partition combination specified"},
		{scheduler.ErrLimit, qos.TextPolicy},
		{scheduler.ErrLicense, "Invalid license specification"},
		{scheduler.ErrFeature, "Invalid feature specification"},
	} {
		if errors.Is(err, row.is) {
			return failed + row.text
		}
	}
	if e, ok := errors.AsType[*sbatch.SegmentError](err); ok {
		return "fatal: " + e.Error()
	}
	if e, ok := errors.AsType[*sbatch.GPUBindError](err); ok {
		return "error: " + e.Error()
	}
	if e, ok := errors.AsType[*sbatch.Error](err); ok {
		if c, ok := errors.AsType[sbatch.Conflict](e); ok {
			return "fatal: " + string(c)
		}
		return last(e.Err.Error())
	}
	return err.Error()
}
