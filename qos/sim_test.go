package qos_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/qos"
)

// sim is a tiny cluster around a ledger: equal nodes, jobs placed first fit on
// CPUs, memory, GPUs and licences. Golden scripts and recorded cases run on it.
type sim struct {
	schema    *gres.Schema
	l         *qos.Ledger
	parts     map[string]*partition
	first     string // the default partition
	node      []room // free, by node
	full      room
	licences  int64
	memPerCPU int64
	billing   func(gres.Vector) float64
	jobs      []*simJob
	seen      map[seenAt]bool // which limits have spoken in which phase
}

type seenAt struct {
	limit qos.Limit
	phase qos.Phase
}

type room struct{ cpu, mem, gpu int64 }

type partition struct {
	qos                          qos.QOSID
	maxTime, defaultTime         time.Duration
	maxNodes, minNodes, nodes, _ int
}

// simJob is a submitted job; an array holds its waiting tasks in one, each task
// that starts becomes another.
type simJob struct {
	name, state, reason, error, tres string
	v                                qos.Verdict
	ask                              request
	job                              qos.Job
	parts                            []qos.QOSID
	gpus                             int64
	waiting                          int64
	charge                           qos.ChargeID
	nodes                            []int32
	given                            []room
	age                              time.Duration
	prio                             int64
	fairshare                        float64
}

// request is what the options of a job ask for.
type request struct {
	tasks, nodes, gpusPerNode, gpus, mem, licences, array int64
	typed, exclusive, nodesGiven, reservation             bool
	parts                                                 []string
	limit                                                 time.Duration
	limitGiven                                            bool
	account, qos, nodelist, user                          string
	prio                                                  int64
	fairshare                                             float64
}

// fields returns the words key=value of a line.
func fields(line string) map[string]string {
	kv := make(map[string]string)
	for f := range strings.FieldsSeq(line) {
		k, v, _ := strings.Cut(f, "=")
		kv[k] = v
	}
	return kv
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func duration(s string) time.Duration {
	d, _ := qos.ParseTimeLimit(s)
	return d
}

func (r *sim) addPartition(kv map[string]string) {
	p := &partition{nodes: len(r.node), maxNodes: len(r.node), maxTime: qos.Unlimited}
	if v := kv["Nodes"]; v != "" && v != "ALL" {
		p.nodes = span(v)
	}
	if v := kv["MaxNodes"]; v != "" {
		p.maxNodes = int(number(v))
	}
	if v := kv["MinNodes"]; v != "" {
		p.minNodes = int(number(v))
	}
	if v := kv["MaxTime"]; v != "" {
		p.maxTime = duration(v)
	}
	if v := kv["DefaultTime"]; v != "" {
		p.defaultTime = duration(v)
	}
	if v := kv["QOS"]; v != "" {
		p.qos = r.l.FindQOS(v)
	}
	if r.first == "" {
		r.first = kv["PartitionName"]
	}
	r.parts[kv["PartitionName"]] = p
}

// span returns n of "n[1-N]" or "N".
func span(s string) int {
	_, hi, ok := strings.Cut(strings.TrimSuffix(s, "]"), "-")
	if !ok {
		hi = s
	}
	return int(number(hi))
}

// parse reads sbatch options.
func (r *sim) parse(args []string) (request, error) {
	q := request{tasks: 1, nodes: 1, parts: []string{r.first}, fairshare: 1}
	for i := 0; i < len(args); i++ {
		a := args[i]
		arg := func(short, long string) (string, bool) {
			if v, ok := strings.CutPrefix(a, long+"="); ok && long != "" {
				return v, true
			}
			if v, ok := strings.CutPrefix(a, short); ok && short != "" && !strings.HasPrefix(a, "--") {
				if v == "" && i+1 < len(args) {
					i++
					v = args[i]
				}
				return v, true
			}
			return "", false
		}
		if v, ok := arg("-A", "--account"); ok {
			q.account = v
		} else if v, ok := arg("-u", "--user"); ok {
			q.user = v
		} else if v, ok := arg("-n", "--ntasks"); ok {
			q.tasks = number(v)
		} else if v, ok := arg("-N", "--nodes"); ok {
			q.nodes, q.nodesGiven = number(v), true
		} else if v, ok := arg("-t", "--time"); ok {
			q.limit, q.limitGiven = duration(v), true
		} else if v, ok := arg("-p", "--partition"); ok {
			q.parts = strings.Split(v, ",")
		} else if v, ok := arg("-L", "--licenses"); ok {
			_, n, _ := strings.Cut(v, ":")
			q.licences = max(number(n), 1)
		} else if v, ok := arg("-q", "--qos"); ok {
			q.qos = v
		} else if v, ok := arg("-w", "--nodelist"); ok {
			q.nodelist = v
		} else if v, ok := arg("-a", "--array"); ok {
			lo, hi, _ := strings.Cut(v, "-")
			q.array = number(hi) - number(lo) + 1
		} else if v, ok := arg("", "--mem"); ok {
			q.mem = number(v)
		} else if v, ok := arg("", "--gres"); ok {
			q.gpusPerNode = number(v[strings.LastIndex(v, ":")+1:])
			q.typed = strings.Count(v, ":") == 2
		} else if v, ok := arg("", "--gpus"); ok {
			q.gpus = number(v[strings.LastIndex(v, ":")+1:])
			q.typed = strings.Contains(v, ":")
		} else if v, ok := arg("", "--priority"); ok {
			q.prio = number(v)
		} else if v, ok := arg("", "--fairshare"); ok {
			q.fairshare, _ = strconv.ParseFloat(v, 64)
		} else if _, ok := arg("", "--reservation"); ok {
			q.reservation = true
		} else if a == "--exclusive" {
			q.exclusive = true
		} else {
			return q, fmt.Errorf("unknown option %q", a)
		}
	}
	for _, p := range q.parts {
		if r.parts[p] == nil {
			return q, fmt.Errorf("no partition %q", p)
		}
	}
	if q.nodesGiven {
		q.tasks = max(q.tasks, q.nodes)
	}
	return q, nil
}

func (r *sim) vector(q request, cpus, mem, nodes, gpus int64, typed bool) gres.Vector {
	v := r.schema.NewVector()
	v[gres.CPU], v[gres.Mem], v[gres.Node], v[gres.Billing] = cpus, mem, nodes, cpus
	if k, ok := r.schema.Kind("gres/gpu"); ok {
		v[k] = gpus
	}
	if k, ok := r.schema.Kind("gres/gpu:a100"); ok && typed {
		v[k] = gpus
	}
	if k, ok := r.schema.Kind("license/matlab"); ok {
		v[k] = q.licences
	}
	if r.billing != nil {
		v[gres.Billing] = int64(r.billing(v))
	}
	return v
}

// submit makes a job of a request; it waits or is refused.
func (r *sim) submit(name string, q request) *simJob {
	rj := &simJob{name: name, state: "PENDING", ask: q, prio: q.prio, fairshare: q.fairshare, waiting: max(q.array, 1)}
	r.jobs = append(r.jobs, rj)
	refuse := func(v qos.Verdict) *simJob {
		r.note(v)
		rj.state, rj.v, rj.error = "REJECTED", v, string(v.AppendRejection(nil))
		return rj
	}
	assoc := r.l.Find(q.account, q.user, q.parts[0])
	if v := r.l.CheckAssoc(assoc); !v.OK() {
		return refuse(v)
	}
	id := r.l.DefaultQOS(assoc)
	if q.qos != "" {
		id = r.l.FindQOS(q.qos)
	}
	if v := r.l.CheckQOS(assoc, id, q.reservation); !v.OK() {
		return refuse(v)
	}
	rj.gpus = q.gpus + q.gpusPerNode*q.nodes
	mem := q.mem * q.nodes
	if q.mem == 0 {
		mem = r.memPerCPU * q.tasks
	}
	rj.job = qos.Job{Assoc: assoc, QOS: id, Limit: q.limit, Tasks: rj.waiting, Fairshare: q.fairshare,
		TRES: r.vector(q, q.tasks, mem, q.nodes, rj.gpus, q.typed)}
	limit := q.limit
	for _, name := range q.parts {
		p := r.parts[name]
		j := rj.job
		j.PartQOS = p.qos
		if !q.limitGiven {
			j.Limit = p.defaultTime
		}
		got, v := r.l.CheckSubmit(&j)
		if !v.OK() {
			return refuse(v)
		}
		if limit == 0 || got != 0 && got < limit {
			limit = got
		}
		rj.parts = append(rj.parts, p.qos)
	}
	rj.job.Limit = limit
	r.l.ChargeSubmit(&rj.job, rj.parts)
	return rj
}

func (r *sim) note(v qos.Verdict) {
	if r.seen != nil && v.Limit != qos.NoLimit {
		r.seen[seenAt{v.Limit, v.Phase}] = true
	}
}

// pass tries the waiting jobs by priority and submission, once each, and
// returns those that started.
func (r *sim) pass() []*simJob {
	order := slices.Clone(r.jobs)
	slices.SortStableFunc(order, func(a, b *simJob) int { return int(b.prio - a.prio) })
	var started []*simJob
	for _, rj := range order {
		for rj.state == "PENDING" && rj.waiting > 0 {
			s := r.try(rj)
			if s == nil {
				break
			}
			started = append(started, s)
		}
	}
	return started
}

// try makes one attempt to start a job, or the next task of an array.
func (r *sim) try(rj *simJob) *simJob {
	for _, name := range rj.ask.parts {
		if s := r.tryIn(rj, r.parts[name]); s != nil {
			return s
		}
	}
	return nil
}

func (r *sim) tryIn(rj *simJob, p *partition) *simJob {
	q, j := rj.ask, rj.job
	j.PartQOS, j.Tasks = p.qos, 1
	flags := r.l.FlagsOf(j.QOS, j.PartQOS)
	if j.Limit == 0 {
		j.Limit = p.maxTime
	}
	rj.v = qos.Verdict{}
	switch {
	case j.Limit > p.maxTime && flags&qos.PartitionTimeLimit == 0 && !j.AdminLimit:
		rj.reason = "PartitionTimeLimit"
		return nil
	case q.nodes > int64(p.maxNodes) && flags&qos.PartitionMaxNodes == 0, q.nodes > int64(p.nodes),
		q.nodes < int64(p.minNodes) && flags&qos.PartitionMinNodes == 0:
		rj.reason = "PartitionNodeLimit"
		return nil
	case q.tasks > r.full.cpu*int64(p.nodes):
		rj.reason = "PartitionConfig"
		return nil
	}
	if v := r.l.CheckEligible(&j); !v.OK() {
		r.wait(rj, v)
		return nil
	}
	if _, v := r.l.NodeCap(&j, nil); !v.OK() {
		r.wait(rj, v)
		return nil
	}
	nodes, given, ok := r.place(q, p, &j)
	if !ok {
		rj.reason = "Resources"
		return nil
	}
	var cpus, held, mem int64
	for _, g := range given {
		cpus, mem, held = cpus+g.cpu, mem+g.mem, held+g.gpu
	}
	j.TRES = r.vector(q, cpus, mem, int64(len(nodes)), rj.gpus, q.typed)
	j.Alloc = r.vector(q, cpus, mem, int64(len(nodes)), held, true)
	j.Nodes, j.Billing = nodes, float64(cpus)
	if r.billing != nil {
		j.Billing = r.billing(j.Alloc)
	}
	if v := r.l.Admit(&j); !v.OK() {
		r.wait(rj, v)
		return nil
	}
	for i, n := range nodes {
		r.node[n].take(given[i], 1)
	}
	r.licences -= q.licences
	s := rj
	if q.array > 0 {
		s = &simJob{name: fmt.Sprintf("%s_%d", rj.name, q.array-rj.waiting), ask: q, gpus: rj.gpus, job: j, parts: rj.parts}
		r.jobs = append(r.jobs, s)
		if rj.waiting == 1 {
			rj.state = "STARTED"
		}
	}
	rj.waiting--
	if len(rj.parts) > 1 {
		one := rj.job
		one.Tasks = 1
		r.l.UnchargeSubmit(&one, rj.parts)
		s.parts = []qos.QOSID{p.qos}
		r.l.ChargeSubmit(&one, s.parts)
	}
	s.nodes, s.given, s.state, s.charge = nodes, given, "RUNNING", r.l.Charge(&j)
	s.tres = printTRES(r.schema, j.Alloc)
	s.job.Limit = j.Limit
	r.l.Forget()
	return s
}

func (r *sim) wait(rj *simJob, v qos.Verdict) {
	r.note(v)
	rj.v, rj.reason = v, v.Reason.String()
}

func (a *room) take(g room, sign int64) {
	a.cpu -= sign * g.cpu
	a.mem -= sign * g.mem
	a.gpu -= sign * g.gpu
}

// end takes a running job off the cluster, a waiting one out of the queue.
func (r *sim) end(rj *simJob) {
	one := rj.job
	one.Tasks = 1
	if rj.state == "RUNNING" {
		r.l.Uncharge(rj.charge)
		for i, n := range rj.nodes {
			r.node[n].take(rj.given[i], -1)
		}
		r.licences += rj.ask.licences
	} else {
		one.Tasks = rj.waiting
	}
	r.l.UnchargeSubmit(&one, rj.parts)
	r.l.Forget()
	rj.state = "ENDED"
}

// advance lets running jobs run for d without decay, in one period.
func (r *sim) advance(d time.Duration) {
	for _, rj := range r.jobs {
		if rj.state == "RUNNING" {
			r.l.Accrue(rj.charge, d, d.Seconds())
			rj.age += d
		}
	}
	r.l.Forget()
}

// place finds nodes first fit, those that a limit on nodes makes free first: all
// on one node if it can be, else spread over the least number of nodes.
func (r *sim) place(q request, p *partition, j *qos.Job) (nodes []int32, given []room, ok bool) {
	used := make([]uint64, (len(r.node)+63)/64)
	r.l.NodesInUse(used, j)
	order := make([]int32, 0, p.nodes)
	for _, inUse := range []uint64{1, 0} {
		for n := range int32(p.nodes) {
			if used[n>>6]>>(n&63)&1 == inUse && (q.nodelist == "" || slices.Contains(strings.Split(q.nodelist, ","), fmt.Sprint("n", n+1))) {
				order = append(order, n)
			}
		}
	}
	for want := max(q.nodes, 1); want <= int64(len(order)); want++ {
		nodes, given = nil, nil
		left := q.tasks
		for _, n := range order {
			if int64(len(nodes)) == want {
				break
			}
			per := min((q.tasks+want-1)/want, left-(want-int64(len(nodes))-1))
			if q.exclusive {
				per = max(per, 1)
			}
			g := room{per, r.memPerCPU * per, q.gpusPerNode}
			if q.mem > 0 {
				g.mem = q.mem
			}
			if want == 1 {
				g.gpu += q.gpus
			}
			if q.exclusive {
				if r.node[n] != r.full {
					continue
				}
				if q.mem == 0 {
					g.mem = r.memPerCPU * r.full.cpu
				}
				g.cpu, g.gpu = r.full.cpu, r.full.gpu
			}
			if g.cpu > r.node[n].cpu || g.mem > r.node[n].mem || g.gpu > r.node[n].gpu {
				continue
			}
			left -= per
			nodes, given = append(nodes, n), append(given, g)
		}
		if int64(len(nodes)) == want && left <= 0 && q.licences <= r.licences {
			return nodes, given, true
		}
		if q.nodesGiven {
			break
		}
	}
	return nil, nil, false
}

// printTRES writes an allocation as the recorder saw it: memory in M.
func printTRES(s *gres.Schema, v gres.Vector) string {
	var out []string
	for k, n := range v {
		switch {
		case n == 0:
		case gres.Kind(k) == gres.Mem:
			out = append(out, fmt.Sprintf("mem=%dM", n))
		default:
			out = append(out, fmt.Sprintf("%s=%d", s.Name(gres.Kind(k)), n))
		}
	}
	return strings.Join(out, ",")
}
