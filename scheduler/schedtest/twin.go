package schedtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
	"pgregory.net/rapid"
)

// The observing twin looks at the books after each pass, as an embedding program
// sees them, and judges every job that waits by the rules as they are written
// (spec: backfill 1-7, reservations 4, 5 and 7, topology 2.11 and 3): may it start
// now? Where it cannot say it says so, and claims nothing. It cannot say
//
//   - under limits of accounts and QOS, and for QOS that are not there any more
//   - what is left of a device that is cut, and what a job that names no memory gets
//   - on which nodes a plan lies that is one of several of its job, and what is left
//     beside a plan on a node of which both take a part
//   - what is left of a node of which cores or devices are reserved
//   - who is alone in a unit of the topology, and on nodes outside of it
//   - in strict order, whether an earlier job that waits blocks if it may wait for
//     something else than nodes
//   - what a count of features leaves to the other nodes, and slices that do not
//     divide
//
// [Tally] counts how often that is.

// A truth is what the twin knows of a condition. The least of several is what it
// knows of all, the greatest what it knows of any.
type truth int8

const (
	no truth = iota
	unsure
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// A Tally counts what the observing twin could say. The zero value is ready to
// use.
type Tally struct {
	// Starts counts the jobs that started, Missed those of them that the twin would
	// have missed had they been left waiting.
	Starts, Missed int
	// Waits counts jobs that waited after a pass, each time, Explained those for
	// which the twin knows a condition that does not hold.
	Waits, Explained int
}

// A memory is what the twin remembers of the events that were accepted.
type memory struct {
	cfg      *scheduler.Config
	hardware map[string]scheduler.NodeSpec
	pools    map[string]scheduler.LicenseSpec
	jobs     map[scheduler.JobID]*memo
	dropped  bool // a QOS or an account has been removed
	resv     map[string]resvMemo
	tally    *Tally
}

// A memo is what the twin remembers of a job.
type memo struct {
	user, name            string
	ended, ok             bool
	admin                 bool // an operator gave it a limit, which may exceed its partition's
	held                  bool // by its user, by an operator, or since its start failed
	requeued              scheduler.Time
	depends               string // its dependency, and which terms have come true
	met, before           []bool // before: when the last pass began
	pending               bool
	startedAt, startedFor scheduler.Time
	resv                  string // it started in
}

// A resvMemo is a reservation as it was last seen, and since when it is so.
type resvMemo struct {
	text  string
	since scheduler.Time
}

func newMemory(cfg *scheduler.Config, tally *Tally) *memory {
	m := &memory{
		cfg: cfg, hardware: map[string]scheduler.NodeSpec{}, pools: map[string]scheduler.LicenseSpec{}, jobs: map[scheduler.JobID]*memo{},
		resv: map[string]resvMemo{}, tally: tally,
	}
	for i := range cfg.Nodes {
		m.addNodes(&cfg.Nodes[i])
	}
	for _, l := range cfg.Licenses {
		m.pools[l.Name] = l
	}
	return m
}

func (m *memory) addNodes(s *scheduler.NodeSpec) {
	names, _ := topology.ParseHostlist(s.Names)
	for _, n := range names {
		m.hardware[n] = *s
	}
}

// note remembers an event that was accepted.
func (m *memory) note(ev *scheduler.Event) {
	switch ev.Kind {
	case scheduler.EventJobSubmit:
		m.jobs[ev.Job] = &memo{user: ev.Submit.User, name: ev.Submit.Name, requeued: -1, pending: true}
	case scheduler.EventJobHold:
		m.job(ev.Job).held = true
	case scheduler.EventJobFailed:
		m.job(ev.Job).held, m.job(ev.Job).pending = true, true // at once, not after a while
	case scheduler.EventJobRelease:
		m.job(ev.Job).held = false
	case scheduler.EventJobUpdate:
		m.job(ev.Job).admin = m.job(ev.Job).admin || ev.ByAdmin
	case scheduler.EventNodeAdd:
		m.addNodes(ev.Node)
	case scheduler.EventLicense:
		p := m.pools[ev.License.Name]
		p.Name, p.Total = ev.License.Name, ev.License.Total
		m.pools[p.Name] = p
	case scheduler.EventUser, scheduler.EventAccount, scheduler.EventQOS:
		m.dropped = m.dropped || ev.Remove
	}
}

func (m *memory) job(id scheduler.JobID) *memo {
	if m.jobs[id] == nil {
		m.jobs[id] = &memo{requeued: -1}
	}
	return m.jobs[id]
}

// noteStarts remembers what a pass started.
func (m *memory) noteStarts(now scheduler.Time, dec []scheduler.Decision) {
	for i := range dec {
		if d := &dec[i]; d.Op == scheduler.OpStart {
			j := m.job(d.Job)
			j.startedAt, j.startedFor, j.resv = now, now.Add(d.Limit), d.Reservation
		}
	}
}

// refresh looks at the books after an event or a pass.
func (m *memory) refresh(v scheduler.View, now scheduler.Time) {
	for j := range v.Jobs() {
		x := m.job(j.ID)
		if !x.pending && j.State == scheduler.StatePending {
			x.requeued = now
		}
		x.pending, x.ended, x.ok = j.State == scheduler.StatePending, j.State.Ended(), j.State == scheduler.StateCompleted
	}
	for j := range v.Jobs() {
		if j.State == scheduler.StatePending {
			m.settle(j.ID, v.Spec(j.ID).Dependency)
		}
	}
	for _, x := range reservationsOf(v) {
		text := strings.Join([]string{x.Nodes, time.Duration(x.Start).String(), time.Duration(x.End).String(), fmt.Sprint(x.CoreCount), strings.Join(x.Flags, ",")}, "/")
		if m.resv[x.Name].text != text {
			m.resv[x.Name] = resvMemo{text, now}
		}
	}
}

// beginPass fixes what is true when a pass begins.
func (m *memory) beginPass() {
	for _, j := range m.jobs {
		j.before = append(j.before[:0], j.met...)
	}
}

// A seenJob is a job as the view shows it.
type seenJob struct {
	scheduler.JobView
	spec  *scheduler.JobSpec
	alloc []scheduler.NodeAlloc
	plan  []string
}

func (j *seenJob) end(now scheduler.Time) scheduler.Time { return now.Add(j.spec.TimeLimit) }

// A seenNode is a node with what is in use on it.
type seenNode struct {
	scheduler.NodeView
	hw     scheduler.NodeSpec
	cores  int // free ones
	memory int64
	gpus   int  // in use
	busy   bool // a job is on it
	whole  bool // a job has it whole
	zone   string
}

// A world is what the view shows at an instant, without one job.
type world struct {
	*memory
	now   scheduler.Time
	jobs  []seenJob
	nodes []seenNode
	parts map[string]*scheduler.PartitionSpec
	resv  []resvSeen
	assoc map[[2]string]bool
	line  map[string]string // parents of accounts
	own   map[string]string // accounts that users have if they name none
	limit map[string]bool   // QOS and associations with limits
	order []scheduler.JobID // of the queue
}

// see looks at the books. A job of which gone is the id is regarded as one that
// waits and holds nothing.
func (m *memory) see(v scheduler.View, now scheduler.Time, order []scheduler.JobID, gone scheduler.JobID) *world {
	w := &world{
		memory: m, now: now, resv: reservationsOf(v), order: order, parts: map[string]*scheduler.PartitionSpec{},
		assoc: map[[2]string]bool{}, line: map[string]string{}, own: map[string]string{}, limit: map[string]bool{},
	}
	for x := range v.QOS() {
		w.limit[x.Name] = len(x.Limits) > 0
	}
	for x := range v.Accounts() {
		w.assoc[[2]string{x.Account, x.User}] = true
		w.limit[x.Account+"/"+x.User] = len(x.Limits) > 0
		if w.own[x.User] == "" || x.DefaultAccount {
			w.own[x.User] = x.Account
		}
		if x.User == "" {
			w.line[x.Account] = x.Parent
		}
	}
	for p := range v.Partitions() {
		w.parts[p.Name] = &p
		if p.Default {
			w.parts[""] = &p
		}
	}
	at := map[string]int{}
	for n := range v.Nodes() {
		hw := m.hardware[n.Name]
		at[n.Name] = len(w.nodes)
		w.nodes = append(w.nodes, seenNode{
			NodeView: n, hw: hw, cores: int(max(hw.Sockets, 1) * max(hw.CoresPerSocket, 1)), memory: hw.MemMiB, zone: w.domain(n.Name, "zone"),
		})
	}
	for j := range v.Jobs() {
		s := seenJob{JobView: j, spec: v.Spec(j.ID)}
		if j.ID == gone {
			s.State = scheduler.StatePending
			s.Planned = false
		} else {
			s.alloc = v.AppendAlloc(nil, j.ID)
			s.plan, _ = topology.ParseHostlist(string(v.AppendPlan(nil, j.ID)))
		}
		for _, a := range s.alloc {
			if i, ok := at[a.Node]; ok {
				n := &w.nodes[i]
				n.busy, n.whole = true, n.whole || s.spec.Exclusive == scheduler.ExclusiveNode
				n.cores -= len(a.Cores)
				n.memory -= a.MemMiB
				n.gpus += len(a.Devices)
			}
		}
		w.jobs = append(w.jobs, s)
	}
	return w
}

// judge says whether a job that waits may start now.
func (w *world) judge(j *seenJob) truth {
	m := w.job(j.ID)
	t := min(m.settled(true), w.free(j, m))
	if t == no {
		return no
	}
	any := no
	for _, p := range w.partitions(j) {
		for _, x := range w.choices(j, p) {
			any = max(any, w.record(j, p, x))
		}
	}
	return min(t, any)
}

// free says whether nothing but nodes keeps a job.
func (w *world) free(j *seenJob, m *memo) truth {
	switch {
	case m.held, w.cfg.Profile == scheduler.ProfileSlurm && m.requeued >= 0 && w.now < m.requeued.Add(121*time.Second):
		return no
	case w.lost(j) && (j.Reason == scheduler.ReasonReservationDeleted || j.Reason == scheduler.ReasonJobHeldAdmin):
		return no
	case w.lost(j), j.Reason == scheduler.ReasonReservationDeleted:
		return unsure // it may be held, also if others of that name have come since
	}
	return yes
}

// accountOf is the account that a job is charged to.
func (w *world) accountOf(s *scheduler.JobSpec) string {
	if s.Account == "" {
		return w.own[s.User]
	}
	return s.Account
}

// account says whether accounts and QOS let a job start in a partition. Where limits
// are enforced they do for sure if none is set on what the job is charged to.
func (w *world) account(j *seenJob, p *scheduler.PartitionSpec) truth {
	enforce, account := w.cfg.Parameters.Limits.Enforce, w.accountOf(j.spec)
	switch {
	case w.dropped:
		return unsure
	case len(w.cfg.Accounts) == 0, enforce == "":
		return yes
	case !w.assoc[[2]string{account, j.spec.User}]:
		return unsure
	case w.cfg.Parameters.Queue.AssocLimitStop && slices.ContainsFunc(w.jobs, limited):
		return unsure // that one may stop the association or QOS
	case enforce == "associations":
		return yes
	case len(j.spec.QOS) > 0 && !slices.Equal(j.spec.QOS, []string{"normal"}), w.limit["normal"], w.limit[p.QOS], w.limit[account+"/"+j.spec.User]:
		return unsure
	}
	for range len(w.line) + 1 {
		if w.limit[account+"/"] {
			return unsure
		}
		account = w.line[account]
	}
	return yes
}

// limited reports whether a job waits at a limit of an association or QOS.
func limited(j seenJob) bool {
	why := j.Reason.String()
	return j.State == scheduler.StatePending && (strings.HasPrefix(why, "QOS") || strings.HasPrefix(why, "Assoc"))
}

// partitions are those that let a job run.
func (w *world) partitions(j *seenJob) (out []*scheduler.PartitionSpec) {
	names := j.spec.Partitions
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		if p := w.parts[name]; p != nil && allows(p, j.spec.MinNodes, j.spec.TimeLimit) {
			out = append(out, p)
		}
	}
	return out
}

// allows reports whether a partition starts jobs of so many nodes and that limit.
func allows(p *scheduler.PartitionSpec, nodes int32, limit time.Duration) bool {
	return (p.State == scheduler.PartitionUp || p.State == scheduler.PartitionDrain) && (p.MaxTime == 0 || limit <= p.MaxTime) &&
		(p.MaxNodes == 0 || nodes <= p.MaxNodes)
}

// has reports whether a node is in a partition.
func (w *world) has(p *scheduler.PartitionSpec, n *seenNode) bool {
	list, sets, _ := strings.Cut(p.Nodes, ",f-nodes")
	if sets != "" || list != p.Nodes {
		if slices.Contains(n.hw.Features, "f") {
			return true
		}
	}
	if list == "ALL" {
		return true
	}
	names, _ := topology.ParseHostlist(list)
	return slices.Contains(names, n.Name)
}

// record says whether a job may start now in a partition and a reservation, nil for
// none.
func (w *world) record(j *seenJob, p *scheduler.PartitionSpec, x *resvSeen) truth {
	t := min(w.account(j, p), w.admits(j, p, x), w.licensed(j, x))
	if t == no {
		return no
	}
	block := w.blocked(j, p)
	if block(nil) == yes {
		return no
	}
	var sure, could []*seenNode
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.State != scheduler.NodeUp || !w.has(p, n) {
			continue
		}
		ok := min(w.reservedFor(j, x, n), w.supplied(j, n), yes-block(n), yes-block(nil), w.unit(j, n))
		if ok == yes {
			sure = append(sure, n)
		}
		if ok >= unsure {
			could = append(could, n)
		}
	}
	return min(t, w.fits(j, p, sure, could))
}

// checkWaits judges all jobs after a pass, and counts what can be said of those that
// started. order is the queue before the pass.
func (r *run) checkWaits(t *rapid.T, order []scheduler.JobID, dec []scheduler.Decision) {
	r.s.View(func(v scheduler.View) {
		w := r.twin.see(v, r.now, slices.Collect(v.Queue()), 0)
		// A job that started by a later record may have blocked the partition of an
		// earlier one in this pass (spec: backfill 1.3).
		blocked := w.strict() && slices.ContainsFunc(w.jobs, func(j seenJob) bool {
			return w.several(&j) && slices.ContainsFunc(dec, func(d scheduler.Decision) bool { return d.Op == scheduler.OpStart && d.Job == j.ID })
		})
		for i := range w.jobs {
			j := &w.jobs[i]
			if j.State != scheduler.StatePending {
				continue
			}
			r.twin.tally.Waits++
			switch judged := w.judge(j); {
			case judged == no:
				r.twin.tally.Explained++
			case judged == yes && !blocked:
				t.Fatalf("at %d job %d waits (%s) though it may start: %s", r.now, j.ID, j.Reason, w.describe(j))
			}
		}
		for i := range dec {
			if dec[i].Op != scheduler.OpStart {
				continue
			}
			w := r.twin.see(v, r.now, order, dec[i].Job)
			at := slices.IndexFunc(w.jobs, func(j seenJob) bool { return j.ID == dec[i].Job })
			r.twin.tally.Starts++
			if w.judge(&w.jobs[at]) != yes {
				r.twin.tally.Missed++
			}
		}
	})
}
