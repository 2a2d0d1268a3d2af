package schedtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
	"github.com/cockroachdb/datadriven"
)

// RunScript runs a golden script against schedulers that make returns. A
// script is a datadriven file; a line of input is a list of key=value fields.
//
//	cluster [profile=slurm] [bf_max_job_test=2 and other words of SchedulerParameters] [completewait=32] [enforcepart=ANY] [maxrequeue=5] [maxjobs=9] [plan=none] [depth=1] [promise=kept] [fill=rank] [ahead=60] [lln] [preempt=qos] [mode=REQUEUE,GANG] [params=strict_order] [killwait=30]
//	  [slice=30] [signals] [window=3600 budget=2 shield=1] [settle=60]
//	nodes=n[0-3] sockets=2 cores=4 threads=1 mem=1000 gres=gpu:8 features=a,b weight=2
//	partition=p nodes=ALL default tier=2 maxtime=60 maxnodes=2 mode=OFF grace=60
//	qos=high prio=100 preempt=low,standby mode=CANCEL grace=60 exempt=40
//	  the nodes and partitions of a new scheduler
//	account=a parent=b shares=2 GrpTRES=cpu=4 | account=a user=ann default MaxJobs=1
//	qos=high prio=10 flags=DenyOnLimit MaxTRESPerUser=cpu=4 | lic=matlab total=2
//	  accounts, users, QOS, licences and their limits; enforce=limits,qos
//	submit now=0
//	job=1 nodes=2 tasks=4 cpus=1 gpus=2 gpus-per-node=1 gres=gpu:1 time=60 nice=5 hold exclusive mem=100 part=p,q timemin=30 deadline=90 overcommit
//	adopt now=10 job=1 start=0 on=n0 cores=0-3 mem=10 time=60
//	pass now=0 [why] | preempted | end now=5 job=1 [exit=1] | fail now=0 job=1
//	cancel, hold, release, requeue, resume now=0 job=1 | limit now=0 job=1 time=90
//	update job=1, then a line of dep=afterok:2 nice=5 … | dep= takes the dependency away
//	state now=0 nodes=n0 to=down
//	nodes=n0 cores=8 gres=gpu:2 near=0-3/4-7: the cores near each GPU
//	nodes=n0 gres=gpu:2,shard:8 shares=shard:8:user | nodes=n0 replicas=gpu.shared:4 | nodes=n0 mig=H100-80GB:4 plain=7g.80gb scope=user: shared and cut devices
//	step job=1, then lines of id=0 tasks=2 cpus=1 nodes=1 gres=gpu:1 exact overlap immediate | endstep job=1, id=0 | steps job=1
//	join, then lines of nodes, in=topology:unit | leave nodes=n0
//	switch=, block= and domain= lines of cluster: see lines.go; levels=zone,rack!,rack:4 of a job
//	set | limit-of | remove, then lines as above; reset-usage account=a
//	reserve | re-reserve | unreserve now=0, then lines; reservations
//	name=r users=mail start=600 duration=60 nodes=p[0-1] flags=MAINT
//	explain job=1 | jobs | times | tally | nodes | depends | wake | restart | forecast; more in words.go
//
// Times are seconds. Start decisions are reported as started at once.
func RunScript(t *testing.T, path string, make func(scheduler.Config) (scheduler.Scheduler, error)) {
	t.Helper()
	e := &env{make: make, seq: map[scheduler.JobID]scheduler.Decision{}}
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		out, err := e.run(d)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		return out
	})
}

type env struct {
	make func(scheduler.Config) (scheduler.Scheduler, error)
	s    scheduler.Scheduler
	now  scheduler.Time
	seq  map[scheduler.JobID]scheduler.Decision // last start of a job
}

// fields are the key=value fields of a command or of a line of input.
type fields map[string]string

func (f fields) num(key string) int64 {
	n, err := strconv.ParseInt(f[key], 10, 64)
	if err != nil && f[key] != "" {
		panic(fmt.Sprintf("schedtest: field %s=%q is no number", key, f[key]))
	}
	return n
}

func (f fields) has(key string) bool { _, ok := f[key]; return ok }

func (f fields) list(key string) []string {
	if f[key] == "" {
		return nil
	}
	return strings.Split(f[key], ",")
}

func (f fields) seconds(key string) time.Duration { return time.Duration(f.num(key)) * time.Second }

func args(d *datadriven.TestData) fields {
	f := fields{}
	for _, a := range d.CmdArgs {
		f[a.Key] = strings.Join(a.Vals, ",")
	}
	return f
}

func lines(d *datadriven.TestData) (out []fields) {
	for line := range strings.Lines(d.Input) {
		f := fields{}
		for w := range strings.FieldsSeq(line) {
			k, v, _ := strings.Cut(w, "=")
			f[k] = v
		}
		if len(f) > 0 {
			out = append(out, f)
		}
	}
	return out
}

func (e *env) run(d *datadriven.TestData) (string, error) {
	a := args(d)
	if a.has("now") {
		e.now = scheduler.Seconds(a.num("now"))
	}
	job := scheduler.JobID(a.num("job"))
	switch d.Cmd {
	case "cluster":
		return e.cluster(a, lines(d))
	case "submit":
		return e.submit(lines(d))
	case "adopt":
		return e.adopt(a)
	case "pass":
		return e.pass(a.has("why"))
	case "preempted":
		return e.preempted(), nil
	case "end":
		return e.apply(scheduler.Ended(job, scheduler.JobEnd{ExitCode: int32(a.num("exit"))}))
	case "fail":
		dec := e.seq[job]
		return e.apply(scheduler.Failed(&dec, "script"))
	case "cancel":
		return e.apply(scheduler.Cancel(job))
	case "hold":
		return e.apply(scheduler.Hold(job))
	case "release":
		return e.apply(scheduler.Release(job))
	case "requeue":
		return e.apply(scheduler.Requeue(job))
	case "resume":
		return e.apply(scheduler.Event{Kind: scheduler.EventJobResume, Job: job})
	case "step", "endstep":
		return e.step(d.Cmd, job, lines(d))
	case "limit":
		limit := a.seconds("time")
		return e.apply(scheduler.Event{Kind: scheduler.EventJobUpdate, Job: job, Update: &scheduler.JobUpdate{TimeLimit: &limit}})
	case "update":
		return e.update(job, lines(d))
	case "state":
		var st scheduler.NodeState
		if err := st.UnmarshalText([]byte(a["to"])); err != nil {
			return "", err
		}
		return e.apply(scheduler.SetNodes(a["nodes"], st, "script"))
	case "join":
		return e.join(lines(d))
	case "leave":
		return e.leave(a["nodes"])
	case "set", "limit-of", "remove":
		for _, f := range lines(d) {
			if out, err := e.change(strings.TrimSuffix(d.Cmd, "-of"), f); err != nil {
				return out, err
			}
		}
		return "ok\n", nil
	case "reset-usage":
		return e.apply(scheduler.Event{Kind: scheduler.EventUsageReset, Text: a["account"]})
	case "depends":
		return e.depends(), nil
	case "explain":
		x, err := e.s.Explain(job)
		return x.String(), err
	case "steps":
		return e.steps(job), nil
	case "jobs", "nodes", "wake":
		return e.show(d.Cmd), nil
	case "reserve", "re-reserve", "unreserve":
		return e.reserve(d.Cmd, lines(d))
	case "reservations":
		return e.reservations(), nil
	case "restart":
		return e.restart()
	case "tally", "times", "parts", "complete":
		return e.wordCommand(d.Cmd, job, lines(d))
	case "forecast":
		return e.forecast(lines(d))
	}
	return "", fmt.Errorf("no command %q", d.Cmd)
}

func (e *env) apply(ev scheduler.Event) (string, error) {
	if err := e.s.Apply(e.now, ev); err != nil {
		return "", err
	}
	return "ok\n", nil
}

func (e *env) cluster(a fields, in []fields) (string, error) {
	var c scheduler.Config
	if a["profile"] == "slurm" {
		c.Profile = scheduler.ProfileSlurm
	}
	if a["plan"] == "none" {
		c.Parameters.Plan.Mode = scheduler.PlanNone
	}
	c.Parameters.Limits.Enforce = a["enforce"]
	c.Parameters.Priority.FairShare = uint32(a.num("fairshare"))
	c.Parameters.Priority.QOS = uint32(a.num("qosweight"))
	c.Parameters.Priority.DecayHalfLife = a.seconds("halflife")
	c.Parameters.Plan.Depth = int32(a.num("depth"))
	c.Parameters.Plan.Window = a.seconds("ahead")
	if a["promise"] == "kept" {
		c.Parameters.Plan.Promise = scheduler.PromiseKept
	}
	if a["fill"] == "rank" {
		c.Parameters.Plan.Fill = scheduler.FillRank
	}
	c.Parameters.Plan.Resolution = a.seconds("resolution")
	c.Parameters.Plan.Interval = a.seconds("interval")
	c.Parameters.Priority.Age = uint32(a.num("age"))
	c.Parameters.Priority.JobSize = uint32(a.num("jobsize"))
	c.Parameters.Priority.MaxAge = a.seconds("maxage")
	c.Parameters.Priority.CalcPeriod = a.seconds("period")
	c.Parameters.RequeueDelay = a.seconds("requeuedelay")
	c.Parameters.Select.NoMemory = a.has("nomem")
	c.Parameters.Preempt = scheduler.PreemptParameters{
		Type: a["preempt"], Mode: a["mode"], Parameters: a["params"], ExemptTime: a.seconds("exempt"), TimeSlice: a.seconds("slice"),
		Signals: a.has("signals"), Window: a.seconds("window"), Budget: int32(a.num("budget")), Shield: int32(a.num("shield")),
		Settle: a.seconds("settle"),
	}
	planFields(&c, a)
	c.Parameters.CompleteWait = a.seconds("completewait")
	c.Parameters.EnforcePartLimits = a["enforcepart"]
	c.Parameters.MaxRequeue, c.Parameters.MaxJobs = int32(a.num("maxrequeue")), int32(a.num("maxjobs"))
	if err := wordFields(&c, a); err != nil {
		return "", err
	}
	c.Parameters.MinJobAge = a.seconds("minjobage")
	c.Parameters.KillWait = a.seconds("killwait")
	c.Parameters.ResvOverRun = a.seconds("overrun")
	c.Parameters.Select.Fragmentation = a["policy"]
	c.Parameters.Select.ReconfigureDelay = a.seconds("cutting")
	if a.has("lln") {
		c.Parameters.Select.Flags = []string{"CR_LLN"}
	}
	c.MaxNodes, c.GresTypes = int32(a.num("maxnodes")), a.list("gres-types")
	for _, f := range in {
		if f.has("partition") {
			c.Partitions = append(c.Partitions, partitions(f)...)
			continue
		}
		switch {
		case setLine(&c, f), topologyLine(&c, a, f), workloadLine(&c, f):
			continue
		case f.has("account"):
			c.Accounts = append(c.Accounts, assocOf(f))
			continue
		case f.has("qos"):
			c.QOS = append(c.QOS, quality(f))
			continue
		case f.has("lic"):
			c.Licenses = append(c.Licenses, licenseOf(f))
			continue
		}
		c.Nodes = append(c.Nodes, node(f))
	}
	s, err := e.make(c)
	if err != nil {
		return "", err
	}
	e.s, e.now = s, 0
	n := 0
	s.View(func(v scheduler.View) { n = v.Metrics().Nodes })
	return fmt.Sprintf("%d nodes idle\n", n), nil
}

func partition(f fields) scheduler.PartitionSpec {
	p := scheduler.PartitionSpec{
		Name: f["partition"], Nodes: f["nodes"], Default: f.has("default"), MaxTime: f.seconds("maxtime"), DefaultTime: f.seconds("deftime"),
		MinNodes: int32(f.num("minnodes")), MaxNodes: int32(f.num("maxnodes")), AllowAccounts: f.list("allow"),
		PreemptMode: f["mode"], GraceTime: f.seconds("grace"), QOS: f["pqos"], BillingWeights: f["billing"],
		Oversubscribe: f["share"],
	}
	if f["alone"] != "" {
		if err := p.Exclusive.UnmarshalText([]byte(f["alone"])); err != nil {
			panic(err)
		}
	}
	if f.has("tier") {
		t := uint16(f.num("tier"))
		p.Tier = &t
	}
	if f.has("factor") {
		t := uint16(f.num("factor"))
		p.JobFactor = &t
	}
	if f.has("state") {
		if err := p.State.UnmarshalText([]byte(f["state"])); err != nil {
			panic(err)
		}
	}
	return p
}

func quality(f fields) scheduler.QOSSpec {
	q := scheduler.QOSSpec{
		Name: f["qos"], Priority: uint32(f.num("prio")), Preempt: f.list("preempt"), PreemptMode: f["mode"], GraceTime: f.seconds("grace"),
		Flags: f.list("flags"), Limits: limitsOf(f),
	}
	if f.has("exempt") {
		x := f.seconds("exempt")
		q.ExemptTime = &x
	}
	return q
}

// JobOf makes a job of a script line.
func jobOf(f fields) scheduler.JobSpec {
	j := scheduler.JobSpec{
		ID: scheduler.JobID(f.num("job")), User: f["user"], Account: f["account"], MinNodes: int32(f.num("nodes")), Tasks: int32(f.num("tasks")),
		TasksPerNode: int32(f.num("tasks-per-node")), CPUsPerTask: int32(f.num("cpus")), GPUs: f["gpus"], GPUsPerNode: f["gpus-per-node"],
		GRES: f["gres"], TimeLimit: f.seconds("time"), Nice: f.num("nice"), Hold: f.has("hold"), Partitions: f.list("part"),
		Constraint: f["features"], NodeList: f["list"], Exclude: f["not"], CPUMilli: f.num("cpumilli"), GPUMilli: f.num("gpumilli"),
		Begin: scheduler.Seconds(f.num("begin")), Priority: uint32(f.num("prio")), QOS: f.list("qos"), CheckpointEvery: f.seconds("checkpoint"),
		Signal: int32(f.num("signal")), SignalBefore: f.seconds("before"), SignalFlags: f["to"],
		Reservations: f.list("resv"), TimeMin: f.seconds("timemin"), Groups: f.list("groups"), BurstBuffer: f["bb"],
		Licenses: f["lic"], Levels: levelsOf(f.list("levels")), GPUsPerTask: f["gpus-per-task"],
	}
	if f.has("exclusive") {
		j.Exclusive = scheduler.ExclusiveNode
		if f["exclusive"] != "" {
			if err := j.Exclusive.UnmarshalText([]byte(f["exclusive"])); err != nil {
				panic(err)
			}
		}
	}
	if f.has("mem") {
		j.Mem, j.MemMiB = scheduler.MemPerNode, f.num("mem")
	}
	j.Oversubscribe, j.Overcommit = f.has("s"), f.has("overcommit")
	planOptions(&j, f)
	dependOptions(&j, f)
	if f["requeue"] == "no" {
		j.Requeue = -1
	}
	return j
}

func (e *env) submit(in []fields) (string, error) {
	var b strings.Builder
	n := 0
	for _, f := range spread(in) {
		j := jobOf(f)
		if err := e.s.Apply(e.now, scheduler.Submit(&j)); err != nil {
			fmt.Fprintf(&b, "refused: %v\n", err)
			continue
		}
		n++
	}
	fmt.Fprintf(&b, "%d submitted\n", n)
	return b.String(), nil
}

func (e *env) adopt(f fields) (string, error) {
	j := jobOf(f)
	a := scheduler.NodeAlloc{Node: f["on"], MemMiB: f.num("mem")}
	for item := range strings.SplitSeq(f["cores"], ",") {
		lo, hi, ranged := strings.Cut(item, "-")
		from, _ := strconv.Atoi(lo)
		to := from
		if ranged {
			to, _ = strconv.Atoi(hi)
		}
		for ; from <= to; from++ {
			a.Cores = append(a.Cores, int32(from))
		}
	}
	a.CPUs = int64(len(a.Cores))
	return e.apply(scheduler.Event{
		Kind: scheduler.EventJobAdopt, Job: j.ID, Submit: &j, Adopt: &scheduler.Adopt{Start: scheduler.Seconds(f.num("start")), Nodes: []scheduler.NodeAlloc{a}},
	})
}

func (e *env) pass(why bool) (string, error) {
	var b strings.Builder
	for _, d := range e.s.Pass(e.now, nil) {
		if d.Op == scheduler.OpStepStart {
			fmt.Fprintf(&b, "step    %d.%d on %s\n", d.Job, d.Step, topology.AppendHostlist(nil, d.Nodes))
			continue
		}
		fmt.Fprintf(&b, "%-7s %d on %s", d.Op, d.Job, topology.AppendHostlist(nil, d.Nodes))
		if d.Backfill {
			b.WriteString("  backfill")
		}
		if d.Reason != scheduler.ReasonNone {
			fmt.Fprintf(&b, "  %s", d.Reason)
		}
		if d.For != 0 {
			fmt.Fprintf(&b, "  for %d", d.For)
		}
		if d.Signal != 0 {
			fmt.Fprintf(&b, "  signal %d", d.Signal)
		}
		if d.Op == scheduler.OpSignal {
			fmt.Fprintf(&b, " to %s at %d", targets(&d), d.At/1e6)
		}
		if d.Op == scheduler.OpPreempt {
			fmt.Fprintf(&b, "  until %d", d.At/1e6)
		}
		b.WriteByte('\n')
		if why {
			whyEvicted(&b, &d)
		}
		if d.Op == scheduler.OpStart {
			d.Nodes = slices.Clone(d.Nodes)
			e.seq[d.Job] = d
		}
	}
	e.s.View(func(v scheduler.View) {
		for j := range v.Jobs() {
			if j.State != scheduler.StatePending {
				continue
			}
			fmt.Fprintf(&b, "wait    %d %s", j.ID, j.Reason)
			if j.Planned {
				fmt.Fprintf(&b, "  planned %d", j.Start/1e6)
			}
			b.WriteByte('\n')
		}
	})
	return b.String(), nil
}

func (e *env) show(what string) string {
	var b strings.Builder
	e.s.View(func(v scheduler.View) {
		switch what {
		case "jobs":
			for j := range v.Jobs() {
				fmt.Fprintf(&b, "%d %s %s prio=%d part=%s", j.ID, j.State, j.Reason, j.Priority, j.Partition)
				for _, a := range v.AppendAlloc(nil, j.ID) {
					fmt.Fprintf(&b, " %s(cores=%v", a.Node, a.Cores)
					for _, x := range a.Devices {
						fmt.Fprintf(&b, " %s%s%d:%d", x.Name, x.Type, x.Index, x.Units)
					}
					fmt.Fprintf(&b, " mem=%d)", a.MemMiB)
				}
				b.WriteByte('\n')
			}
		case "nodes":
			for n := range v.Nodes() {
				fmt.Fprintf(&b, "%s %s cpu %d/%d mem %d/%d gpu %d/%d jobs %d", n.Name, n.State, n.CPUMilliUsed, n.CPUMilli, n.MemUsedMiB, n.MemMiB,
					n.GPUMilliUsed, n.GPUs*1000, n.Jobs)
				writeReserved(&b, &n)
			}
		}
	})
	if what == "wake" {
		at, ok := e.s.Wake()
		if !ok {
			return "never\n"
		}
		return fmt.Sprintf("%d\n", at/1e6)
	}
	return b.String()
}

func (e *env) restart() (string, error) {
	b, err := e.s.AppendSnapshot(nil)
	if err != nil {
		return "", err
	}
	if e.s, err = scheduler.Restore(b, nil); err != nil {
		return "", err
	}
	return "ok\n", nil
}

func (e *env) forecast(in []fields) (string, error) {
	var specs []scheduler.JobSpec
	for _, f := range in {
		specs = append(specs, jobOf(f))
	}
	list, err := e.s.Forecast(specs)
	var b strings.Builder
	for _, f := range list {
		switch {
		case !f.Accepted:
			fmt.Fprintf(&b, "%d refused: %s\n", f.Job, f.Err)
		case f.Start == scheduler.Never:
			fmt.Fprintf(&b, "%d waits, %s\n", f.Job, f.Reason)
		default:
			fmt.Fprintf(&b, "%d starts %d on %s, ends %d\n", f.Job, f.Start/1e6, f.Nodes, f.End/1e6)
		}
		if len(f.Victims) > 0 {
			fmt.Fprintf(&b, "%d takes the place of %v\n", f.Job, f.Victims)
		}
	}
	return b.String(), err
}
