package qos_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/qos"
	"github.com/cockroachdb/datadriven"
)

// Golden scripts run a tiny cluster (sim) around a ledger. Commands:
//
//	cluster nodes=8 cpus=4 mem=1000 gpus=2 licenses=10 enforce=(a,b) tres=(a,b)
//	    a new cluster with these defaults, user u in account A, partition p
//	sacctmgr      lines of sacctmgr commands
//	partition     lines of slurm.conf partitions
//	sbatch        lines "NAME options"; -u is the user, default u; -A default A
//	het           the same, as components of one job
//	pass          try all waiting jobs
//	why NAME      all limits in the way of a waiting job, by phase
//	end NAME      a job ends or is cancelled
//	advance minutes=N   jobs run on; those that a limit ends are killed
//	usage         lines "account A|qos q KIND MINUTES" of history
//	billing       a weight list, for points and limits
//	update NAME TimeLimit=N    by an administrator
//	show          lines "account A", "user A u", "qos q", "qos q user u", "qos q account A"
//	limits        lines "account A", "user A u", "qos q": what is set and in force
//	accrue NAME / room NAME / plan NAME
func TestScripts(t *testing.T) {
	seen := make(map[seenAt]bool)
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			s := &script{t: t, seen: seen}
			datadriven.RunTest(t, file, s.run)
		})
	}
	t.Run("catalogue", func(t *testing.T) {
		for m := qos.GrpTRES; m.Info().Name != ""; m++ {
			for ph := range qos.WhileWaits + 1 {
				if m.Info().Phases>>ph&1 != 0 && !seen[seenAt{m, ph}] {
					t.Errorf("no golden case for %v in phase %v", m, ph)
				}
			}
		}
	})
}

type script struct {
	t    *testing.T
	seen map[seenAt]bool
	*sim
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	name := ""
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	lines := strings.Split(d.Input, "\n")
	if d.Input == "" {
		lines = nil
	}
	switch d.Cmd {
	case "cluster":
		s.cluster(t, d)
	case "sacctmgr":
		for _, line := range lines {
			if err := s.sacctmgr(line); err != nil {
				fmt.Fprintf(&out, "%v\n", err)
			}
		}
	case "partition":
		for _, line := range lines {
			s.addPartition(fields(line))
			kv := fields(line)
			if id := s.parts[kv["PartitionName"]].qos; id != 0 {
				total := s.schema.NewVector()
				for range s.parts[kv["PartitionName"]].nodes {
					total[gres.CPU] += s.full.cpu
				}
				if err := s.l.AttachPartition(id, total); err != nil {
					fmt.Fprintf(&out, "%v\n", err)
				}
			}
		}
	case "sbatch", "het":
		s.sbatch(&out, lines, d.Cmd == "het")
	case "pass":
		s.report(&out)
	case "why":
		s.why(&out, s.find(t, name))
	case "end":
		for _, a := range d.CmdArgs {
			s.end(s.find(t, a.Key))
		}
	case "advance":
		s.run1(&out, d)
	case "usage":
		for _, line := range lines {
			s.usage(t, line)
		}
	case "billing":
		s.weights(lines[0])
	case "update":
		j := s.find(t, name)
		j.job.Limit, j.job.AdminLimit = duration(d.CmdArgs[1].Vals[0]), true
	case "show":
		for _, line := range lines {
			s.show(&out, line)
		}
	case "limits":
		for _, line := range lines {
			s.limits(&out, line)
		}
	case "accrue":
		s.l.ChargeAccrue(&s.find(t, name).job)
	case "room":
		n := s.l.AccrueRoom(&s.find(t, name).job)
		fmt.Fprintln(&out, n)
		j := s.find(t, name)
		for m := range accrueLimits(s.l, &j.job) {
			s.seen[seenAt{m, qos.WhileWaits}] = true
		}
	case "plan":
		j := s.find(t, name)
		min := s.l.MinPriority(&j.job)
		s.seen[seenAt{qos.MinPrioThreshold, qos.WhileWaits}] = true
		if j.prio < int64(min) {
			fmt.Fprintf(&out, "priority %d is below %d: nothing is reserved\n", j.prio, min)
		} else {
			fmt.Fprintf(&out, "priority %d is enough\n", j.prio)
		}
	default:
		t.Fatalf("unknown command %q", d.Cmd)
	}
	if out.Len() == 0 {
		return "ok\n"
	}
	return out.String()
}

// accrueLimits lists the limits on accruing jobs that are set around a job.
func accrueLimits(l *qos.Ledger, j *qos.Job) map[qos.Limit]bool {
	set := make(map[qos.Limit]bool)
	for _, m := range []qos.Limit{qos.GrpJobsAccrue, qos.MaxJobsAccruePerUser, qos.MaxJobsAccruePerAccount} {
		if _, ok := l.QOSLimit(j.QOS, m, 0); ok {
			set[m] = true
		}
	}
	if _, ok := l.EffectiveLimit(j.Assoc, qos.MaxJobsAccrue, 0); ok {
		set[qos.MaxJobsAccrue] = true
	}
	return set
}

func (s *script) cluster(t *testing.T, d *datadriven.TestData) {
	n := map[string]int64{"nodes": 8, "cpus": 4, "mem": 1000, "gpus": 2, "licenses": 10}
	tres := []string{"gres/gpu", "gres/gpu:a100", "license/matlab"}
	enforce := "associations,limits,qos"
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "tres":
			tres = a.Vals
		case "enforce":
			enforce = strings.Join(a.Vals, ",")
		default:
			n[a.Key] = number(a.Vals[0])
		}
	}
	r := &sim{parts: make(map[string]*partition), seen: s.seen, licences: n["licenses"]}
	r.full = room{n["cpus"], n["mem"], n["gpus"]}
	r.node = slices.Repeat([]room{r.full}, int(n["nodes"]))
	r.memPerCPU = r.full.mem / r.full.cpu
	var err error
	if r.schema, err = gres.NewSchema(tres...); err != nil {
		t.Fatal(err)
	}
	e, err := qos.ParseEnforce(enforce)
	if err != nil {
		t.Fatal(err)
	}
	total := r.schema.NewVector()
	total[gres.CPU], total[gres.Mem], total[gres.Node] = n["nodes"]*n["cpus"], n["nodes"]*n["mem"], n["nodes"]
	if k, ok := r.schema.Kind("gres/gpu"); ok {
		total[k] = n["nodes"] * n["gpus"]
	}
	if r.l, err = qos.New(qos.Config{Schema: r.schema, Enforce: e, Total: total}); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []string{"add account A", "add user u account=A"} {
		if err := r.sacctmgr(cmd); err != nil {
			t.Fatal(err)
		}
	}
	s.sim = r
	r.addPartition(map[string]string{"PartitionName": "p"})
}

func (s *script) find(t *testing.T, name string) *simJob {
	for _, j := range s.jobs {
		if j.name == name {
			return j
		}
	}
	t.Fatalf("no job %q", name)
	return nil
}

func (s *script) sbatch(out *strings.Builder, lines []string, het bool) {
	mark := s.l.Mark()
	var made []*simJob
	failed := false
	for _, line := range lines {
		name, opts, _ := strings.Cut(line, " ")
		q, err := s.parse(strings.Fields(opts))
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", name, err)
			return
		}
		if q.user == "" {
			q.user = "u"
		}
		if q.account == "" {
			q.account = "A"
		}
		j := s.submit(name, q)
		made = append(made, j)
		switch {
		case j.state == "REJECTED":
			failed = true
			fmt.Fprintf(out, "%s refused: %s\n", name, s.l.AppendVerdict(nil, j.v))
			if j.v.Limit == qos.NoLimit {
				fmt.Fprintf(out, "  %s\n", j.error)
			}
		case j.job.Limit == 0:
			fmt.Fprintf(out, "%s accepted\n", name)
		default:
			fmt.Fprintf(out, "%s accepted, limit %s\n", name, qos.AppendTimeLimit(nil, j.job.Limit))
		}
	}
	if het && failed {
		s.l.Rollback(mark)
		for _, j := range made {
			j.state = "REJECTED"
		}
		fmt.Fprintln(out, "all components refused")
	}
	s.l.Forget()
}

func (s *script) report(out *strings.Builder) {
	for _, j := range s.pass() {
		fmt.Fprintf(out, "start %s on %s\n", j.name, nodeList(j.nodes))
	}
	for _, j := range s.jobs {
		if j.state != "PENDING" {
			continue
		}
		if j.v.OK() {
			fmt.Fprintf(out, "wait %s: %s\n", j.name, j.reason)
		} else {
			fmt.Fprintf(out, "wait %s: %s\n", j.name, s.l.AppendVerdict(nil, j.v))
		}
	}
}

func nodeList(nodes []int32) string {
	var list []string
	for _, n := range nodes {
		list = append(list, "n"+strconv.Itoa(int(n)+1))
	}
	return strings.Join(list, ",")
}

func (s *script) why(out *strings.Builder, j *simJob) {
	job := j.job
	job.PartQOS = s.parts[j.ask.parts[0]].qos
	for ph := range qos.WhileRuns {
		for _, v := range s.l.AppendVerdicts(nil, &job, ph) {
			fmt.Fprintf(out, "%v: %s\n", ph, s.l.AppendVerdict(nil, v))
		}
	}
}

func (s *script) run1(out *strings.Builder, d *datadriven.TestData) {
	x, _ := strconv.ParseFloat(d.CmdArgs[0].Vals[0], 64)
	s.advance(time.Duration(x * float64(time.Minute)))
	for _, j := range s.jobs {
		if j.state != "RUNNING" {
			continue
		}
		if v := s.l.Overrun(j.charge, j.age); !v.OK() {
			s.note(v)
			s.end(j)
			fmt.Fprintf(out, "kill %s TIMEOUT: %s\n", j.name, s.l.AppendVerdict(nil, v))
		}
	}
}

func (s *script) usage(t *testing.T, line string) {
	f := strings.Fields(line)
	minutes, _ := strconv.ParseFloat(f[3], 64)
	tres, wall := make([]float64, s.schema.Len()), 0.0
	if k, ok := s.schema.Kind(f[2]); ok {
		tres[k] = minutes * 60
	} else if f[2] == "wall" {
		wall = minutes * 60
	} else {
		t.Fatalf("no kind %q", f[2])
	}
	if f[0] == "qos" {
		s.l.AddQOSUsage(s.l.FindQOS(f[1]), 0, wall, tres)
	} else {
		s.l.AddUsage(s.l.FindAccount(f[1]), 0, wall, tres)
	}
}

func (s *script) weights(list string) {
	w := make([]float64, s.schema.Len())
	for item := range strings.SplitSeq(list, ",") {
		name, v, _ := strings.Cut(item, "=")
		if k, ok := s.schema.Kind(name); ok {
			w[k], _ = strconv.ParseFloat(v, 64)
		}
	}
	s.billing = func(v gres.Vector) float64 {
		sum := 0.0
		for k, n := range v {
			if gres.Kind(k) != gres.Billing {
				sum += w[k] * float64(n)
			}
		}
		return sum
	}
}

func (s *script) show(out *strings.Builder, line string) {
	f := strings.Fields(line)
	print := func(c qos.Counters) {
		fmt.Fprintf(out, "%s: submitted %d, running %d, accruing %d, in use %s", line, c.Submitted, c.Running, c.Accruing,
			gres.AppendTRES(nil, s.schema, c.Use))
	}
	history := func(of func(gres.Kind) float64, committed func(gres.Kind) int64, wall float64) {
		for k := range s.schema.Len() {
			sec, c := of(gres.Kind(k)), committed(gres.Kind(k))
			if c >= math.MaxUint32*60 {
				fmt.Fprintf(out, "\n  %s: used %g min, committed UNLIMITED", s.schema.Name(gres.Kind(k)), sec/60)
			} else if sec != 0 || c != 0 {
				fmt.Fprintf(out, "\n  %s: used %g min, committed %g min", s.schema.Name(gres.Kind(k)), sec/60, float64(c)/60)
			}
		}
		if wall != 0 {
			fmt.Fprintf(out, "\n  wall: used %g min", wall/60)
		}
	}
	switch {
	case f[0] == "qos" && len(f) == 2:
		id := s.l.FindQOS(f[1])
		print(s.l.QOSCounters(id))
		history(func(k gres.Kind) float64 { return s.l.QOSUsageOf(id, k) },
			func(k gres.Kind) int64 { return s.l.QOSCommitted(id, k) }, s.l.QOSWall(id))
	case f[0] == "qos" && f[2] == "user":
		print(s.l.UserCounters(s.l.FindQOS(f[1]), s.l.FindUser(f[3])))
	case f[0] == "qos":
		print(s.l.AccountCounters(s.l.FindQOS(f[1]), s.l.Account(s.l.FindAccount(f[3]))))
	default:
		id := s.l.FindAccount(f[1])
		if f[0] == "user" {
			id = s.l.FindExact(f[1], f[2], "")
		}
		print(s.l.Counters(id))
		history(func(k gres.Kind) float64 { return s.l.UsageOf(id, k) },
			func(k gres.Kind) int64 { return s.l.Committed(id, k) }, s.l.Wall(id))
	}
	fmt.Fprintln(out)
}

// limits prints what is set on an owner and, in brackets, what is in force if
// that differs.
func (s *script) limits(out *strings.Builder, line string) {
	f := strings.Fields(line)
	fmt.Fprintf(out, "%s:", line)
	for m := qos.GrpTRES; m.Info().Name != ""; m++ {
		var set []byte
		force := ""
		if f[0] == "qos" {
			id := s.l.FindQOS(f[1])
			set = s.l.AppendQOSLimit(nil, id, m)
			if m.Info().Where&qos.OnQOS == 0 {
				continue
			}
			force = s.inForce(m, func(k gres.Kind) (int64, bool) { return s.l.QOSLimit(id, m, k) })
		} else {
			id := s.l.FindAccount(f[1])
			if f[0] == "user" {
				id = s.l.FindExact(f[1], f[2], "")
			}
			set = s.l.AppendLimit(nil, id, m)
			force = s.inForce(m, func(k gres.Kind) (int64, bool) { return s.l.EffectiveLimit(id, m, k) })
		}
		if len(set) > 0 || force != "" {
			fmt.Fprintf(out, " %v=%s", m, set)
			if force != "" && m.HasTRES() && force != string(set) || len(set) == 0 {
				fmt.Fprintf(out, "[%s]", force)
			}
		}
	}
	fmt.Fprintln(out)
}

func (s *script) inForce(m qos.Limit, get func(gres.Kind) (int64, bool)) string {
	if !m.HasTRES() {
		if n, ok := get(0); ok {
			return strconv.FormatInt(n, 10)
		}
		return ""
	}
	v := s.schema.NewVector()
	for k := range v {
		v[k], _ = get(gres.Kind(k))
	}
	return string(gres.AppendLimits(nil, s.schema, v))
}
