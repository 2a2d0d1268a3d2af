package qos_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/qos"
)

// The recorded limits cases, replayed on a tiny cluster that places jobs first
// fit on CPUs, memory, GPUs and licences: enough for their four equal nodes.

type recording struct {
	Files struct {
		Conf     string   `json:"slurm.conf"`
		Sacctmgr []string `json:"sacctmgr"`
	} `json:"files"`
	Cases []struct {
		ID    string `json:"id"`
		State struct {
			Limits []struct{ Entity, Limit, Value string }
		}
		Submit []struct {
			Name, User string
			Args       []string
		}
		Expect map[string]struct {
			State, Reason, Error string
			ReasonAlso           []string `json:"reason_also"`
			TRES                 string   `json:"tres"`
		}
		Suspect []string
	}
}

func TestRecordedLimits(t *testing.T) {
	files, err := filepath.Glob("../../shared/vectors/limits/*.json")
	if err != nil || len(files) == 0 {
		t.Skip("no recorded limits cases beside the repository: ../../shared/vectors/limits")
	}
	cases, agree := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rec recording
		if err := json.Unmarshal(data, &rec); err != nil {
			t.Fatal(err)
		}
		for i := range rec.Cases {
			c := &rec.Cases[i]
			cases++
			r := newReplay(t, &rec)
			for _, s := range c.State.Limits {
				r.limit(s.Entity, s.Limit, s.Value)
			}
			for _, s := range c.Submit {
				r.submit(s.Name, s.User, s.Args)
			}
			r.settle()
			ok := true
			for _, j := range r.jobs {
				want := c.Expect[j.name]
				same := j.state == want.State
				if same && want.State == "PENDING" {
					same = j.reason == want.Reason || slices.Contains(want.ReasonAlso, j.reason) ||
						soft(j.reason) && soft(want.Reason)
				}
				if same && want.State == "REJECTED" {
					same = j.error == want.Error
				}
				if same && want.TRES != "" {
					same = j.tres == want.TRES
				}
				if !same {
					ok = false
					t.Errorf("%s %s %s: got %s %s %q %s, want %s %s %q %s", filepath.Base(file), c.ID, j.name,
						j.state, j.reason, j.error, j.tres, want.State, want.Reason, want.Error, want.TRES)
				}
			}
			if ok {
				agree++
			}
		}
	}
	t.Logf("%d of %d recorded limits cases agree in every state, reason and allocation", agree, cases)
}

// soft reports whether a reason is about room and order, which this replay does
// not decide.
func soft(reason string) bool { return reason == "Resources" || reason == "Priority" }

type partition struct {
	qos                  qos.QOSID
	maxTime, defaultTime time.Duration
	maxNodes, nodes      int
}

type replay struct {
	t         *testing.T
	schema    *gres.Schema
	l         *qos.Ledger
	parts     map[string]*partition
	node      []room // free
	full      room
	licences  int64
	memPerCPU int64
	jobs      []*replayJob
}

type room struct{ cpu, mem, gpu int64 }

type replayJob struct {
	name, state, reason, error, tres string
	ask                              request
	job                              qos.Job
	gpus                             int64
}

// settle tries the waiting jobs in order until a round starts none: a limit
// reason is written anew at every attempt.
func (r *replay) settle() {
	for started := true; started; {
		started = false
		for _, rj := range r.jobs {
			if rj.state == "PENDING" {
				r.try(rj)
				started = started || rj.state == "RUNNING"
			}
		}
	}
}

func newReplay(t *testing.T, rec *recording) *replay {
	r := &replay{t: t, parts: make(map[string]*partition)}
	var enforce qos.Enforce
	partLines := []map[string]string{}
	for line := range strings.SplitSeq(rec.Files.Conf, "\n") {
		kv := fields(line)
		switch {
		case kv["AccountingStorageEnforce"] != "":
			enforce, _ = qos.ParseEnforce(kv["AccountingStorageEnforce"])
		case kv["AccountingStorageTRES"] != "":
			r.schema, _ = gres.NewSchema(strings.Split(kv["AccountingStorageTRES"], ",")...)
		case kv["Licenses"] != "":
			_, n, _ := strings.Cut(kv["Licenses"], ":")
			r.licences = number(n)
		case kv["DefMemPerCPU"] != "":
			r.memPerCPU = number(kv["DefMemPerCPU"])
		case kv["NodeName"] != "":
			r.full = room{number(kv["CPUs"]), number(kv["RealMemory"]), number(kv["Gres"][strings.LastIndex(kv["Gres"], ":")+1:])}
			r.node = make([]room, span(kv["NodeName"]))
			for i := range r.node {
				r.node[i] = r.full
			}
		case kv["PartitionName"] != "":
			partLines = append(partLines, kv)
		}
	}
	var err error
	if r.l, err = qos.New(qos.Config{Schema: r.schema, Enforce: enforce}); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range rec.Files.Sacctmgr {
		r.command(cmd)
	}
	for _, kv := range partLines {
		p := &partition{nodes: len(r.node), maxNodes: len(r.node), maxTime: limit(kv["MaxTime"]), defaultTime: limit(kv["DefaultTime"])}
		if kv["Nodes"] != "ALL" {
			p.nodes = span(kv["Nodes"])
		}
		if kv["MaxNodes"] != "" {
			p.maxNodes = int(number(kv["MaxNodes"]))
		}
		if kv["QOS"] != "" {
			p.qos = r.l.FindQOS(kv["QOS"])
		}
		r.parts[kv["PartitionName"]] = p
	}
	return r
}

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

func span(s string) int {
	_, hi, _ := strings.Cut(strings.TrimSuffix(s, "]"), "-")
	return int(number(hi))
}

func limit(s string) time.Duration {
	d, _ := qos.ParseTimeLimit(s)
	return d
}

func (r *replay) command(cmd string) {
	f := strings.Fields(cmd)
	kv := fields(cmd)
	var err error
	switch {
	case strings.HasPrefix(cmd, "add qos"):
		_, err = r.l.AddQOS(f[2])
	case strings.HasPrefix(cmd, "add account"):
		_, err = r.l.AddAccount(f[2], r.l.FindAccount(kv["parent"]))
	case strings.HasPrefix(cmd, "add user"):
		_, err = r.l.AddUser(f[2], r.l.FindAccount(kv["account"]), "")
	case strings.HasPrefix(cmd, "modify qos"):
		id := r.l.FindQOS(f[2])
		a := r.l.QOS(id)
		if a.Flags, err = qos.ParseFlags(a.Flags, kv["flags"]); err == nil {
			err = r.l.SetQOS(id, a)
		}
	case strings.HasPrefix(cmd, "modify user"):
		for u := range strings.SplitSeq(f[2], ",") {
			for _, id := range r.l.AppendAssocsOf(nil, r.l.FindUser(u)) {
				for q := range strings.SplitSeq(kv["qos+"], ",") {
					r.l.Allow(id, r.l.FindQOS(q))
				}
			}
		}
	default:
		err = fmt.Errorf("unknown command %q", cmd)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *replay) limit(entity, name, value string) {
	m, ok := qos.LimitNamed(name)
	if !ok {
		r.t.Fatalf("no limit %q", name)
	}
	f := strings.Fields(entity)
	var err error
	switch f[0] {
	case "qos":
		err = r.l.SetQOSLimits(r.l.FindQOS(f[1]), qos.Setting{Limit: m, Value: value})
	case "account":
		err = r.l.SetLimits(r.l.FindAccount(f[1]), qos.Setting{Limit: m, Value: value})
	case "user":
		err = r.l.SetLimits(r.l.FindExact(fields(entity)["account"], f[1], ""), qos.Setting{Limit: m, Value: value})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// request is what a job asks for.
type request struct {
	tasks, nodes, gpusPerNode, gpus, mem, licences int64
	exclusive                                      bool
	nodesGiven                                     bool
	part                                           *partition
	limit                                          time.Duration
	account, qos                                   string
}

func (r *replay) parse(args []string) request {
	q := request{tasks: 1, nodes: 1, part: r.parts["p"]}
	for i := 0; i < len(args); i++ {
		a := args[i]
		arg := func(short, long string) (string, bool) {
			if v, ok := strings.CutPrefix(a, long+"="); ok && long != "" {
				return v, true
			}
			if v, ok := strings.CutPrefix(a, short); ok && short != "" && !strings.HasPrefix(a, "--") {
				if v == "" {
					i++
					v = args[i]
				}
				return v, true
			}
			return "", false
		}
		if v, ok := arg("-A", "--account"); ok {
			q.account = v
		} else if v, ok := arg("-n", "--ntasks"); ok {
			q.tasks = number(v)
		} else if v, ok := arg("-N", "--nodes"); ok {
			q.nodes, q.nodesGiven = number(v), true
		} else if v, ok := arg("-t", "--time"); ok {
			q.limit = limit(v)
		} else if v, ok := arg("-p", "--partition"); ok {
			q.part = r.parts[v]
		} else if v, ok := arg("-L", "--licenses"); ok {
			_, n, _ := strings.Cut(v, ":")
			q.licences = number(n)
		} else if v, ok := arg("-q", "--qos"); ok {
			q.qos = v
		} else if v, ok := arg("", "--mem"); ok {
			q.mem = number(v)
		} else if v, ok := arg("", "--gres"); ok {
			q.gpusPerNode = number(v[strings.LastIndex(v, ":")+1:])
		} else if v, ok := arg("", "--gpus"); ok {
			q.gpus = number(v)
		} else if a == "--exclusive" {
			q.exclusive = true
		} else {
			r.t.Fatalf("unknown option %q", a)
		}
	}
	if q.nodesGiven {
		q.tasks = max(q.tasks, q.nodes)
	}
	return q
}

func (r *replay) vector(q request, cpus, mem, nodes, gpus int64) gres.Vector {
	v := r.schema.NewVector()
	v[gres.CPU], v[gres.Mem], v[gres.Node], v[gres.Billing] = cpus, mem, nodes, cpus
	if k, ok := r.schema.Kind("gres/gpu"); ok {
		v[k] = gpus
	}
	if k, ok := r.schema.Kind("license/matlab"); ok {
		v[k] = q.licences
	}
	return v
}

func (r *replay) submit(name, user string, args []string) {
	q := r.parse(args)
	rj := &replayJob{name: name, state: "PENDING"}
	r.jobs = append(r.jobs, rj)
	refuse := func(v qos.Verdict) {
		rj.state, rj.error = "REJECTED", string(v.AppendRejection(nil))
	}
	assoc := r.l.Find(q.account, user, "")
	if v := r.l.CheckAssoc(assoc); !v.OK() {
		refuse(v)
		return
	}
	id := r.l.DefaultQOS(assoc)
	if q.qos != "" {
		id = r.l.FindQOS(q.qos)
	}
	if v := r.l.CheckQOS(assoc, id, false); !v.OK() {
		refuse(v)
		return
	}
	if q.limit == 0 {
		q.limit = q.part.defaultTime
	}
	gpus := q.gpus + q.gpusPerNode*q.nodes
	mem := q.mem * q.nodes
	if q.mem == 0 {
		mem = r.memPerCPU * q.tasks
	}
	asked := r.vector(q, q.tasks, mem, q.nodes, gpus)
	j := qos.Job{Assoc: assoc, QOS: id, PartQOS: q.part.qos, TRES: asked, Limit: q.limit}
	if _, v := r.l.CheckSubmit(&j); !v.OK() {
		refuse(v)
		return
	}
	r.l.ChargeSubmit(&j, nil)
	rj.ask, rj.job, rj.gpus = q, j, gpus
	r.try(rj)
}

// try makes one attempt to start a job.
func (r *replay) try(rj *replayJob) {
	q, j, gpus := rj.ask, rj.job, rj.gpus
	switch {
	case q.limit > q.part.maxTime:
		rj.reason = "PartitionTimeLimit"
		return
	case q.nodes > int64(min(q.part.maxNodes, q.part.nodes)):
		rj.reason = "PartitionNodeLimit"
		return
	case q.tasks > r.full.cpu*int64(q.part.nodes):
		rj.reason = "PartitionConfig"
		return
	}
	if v := r.l.CheckEligible(&j); !v.OK() {
		rj.reason = v.Reason.String()
		return
	}
	if _, v := r.l.NodeCap(&j, nil); !v.OK() {
		rj.reason = v.Reason.String()
		return
	}
	nodes, given, ok := r.place(q)
	if !ok {
		rj.reason = "Resources"
		return
	}
	var cpus, held, mem int64
	for _, g := range given {
		cpus, mem, held = cpus+g.cpu, mem+g.mem, held+g.gpu
	}
	j.TRES = r.vector(q, cpus, mem, int64(len(nodes)), gpus)
	j.Alloc = r.vector(q, cpus, mem, int64(len(nodes)), held)
	if k, ok := r.schema.Kind("gres/gpu:a100"); ok {
		j.Alloc[k] = held
	}
	j.Nodes = nodes
	if v := r.l.Admit(&j); !v.OK() {
		rj.reason = v.Reason.String()
		return
	}
	for i, n := range nodes {
		r.node[n].cpu -= given[i].cpu
		r.node[n].mem -= given[i].mem
		r.node[n].gpu -= given[i].gpu
	}
	r.licences -= q.licences
	r.l.Charge(&j)
	rj.state = "RUNNING"
	rj.tres = printTRES(r.schema, j.Alloc)
}

// place finds nodes first fit: all on one node if it can be, else spread over
// the least number of nodes.
func (r *replay) place(q request) (nodes []int32, given []room, ok bool) {
	for want := max(q.nodes, 1); want <= int64(q.part.nodes); want++ {
		nodes, given = nil, nil
		left := q.tasks
		for n := 0; n < q.part.nodes && int64(len(nodes)) < want; n++ {
			after := want - int64(len(nodes)) - 1
			per := min((q.tasks+want-1)/want, left-after)
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
			nodes, given = append(nodes, int32(n)), append(given, g)
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

// printTRES writes an allocation as the recorder saw it: memory in M below a GiB.
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
