package qos

import (
	"math"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
)

// twin is the slow, obvious ledger: limits in maps, every counter summed from
// the list of jobs when it is asked for, checks written from spec/qos.md in the
// order of its sections 3 and 4. It shares no code with Ledger.
type twin struct {
	safe   bool
	assocs map[AssocID]*twinAssoc
	quals  map[QOSID]*twinQOS
	jobs   []*twinJob // submitted
}

type slotOf struct {
	m Limit
	k int // -1 for limits without TRES
}

type twinAssoc struct {
	parent  AssocID
	account string
	user    string
	own     map[slotOf]int64
	history map[int]float64 // TRES seconds by kind; -1 is wall
}

type twinQOS struct {
	own         map[slotOf]int64
	over, deny  bool
	factorSafe  bool
	usageFactor float64
	limitFactor float64
	history     map[int]float64
}

type twinJob struct {
	job     Job
	tasks   int64
	running bool
	factor  float64
	left    time.Duration
	charge  ChargeID
	nodes   map[int32]bool
}

// said is a verdict of the twin.
type said struct {
	reason           string
	limit            Limit
	kind             int
	max, used, asked int64
}

const twinForever = math.MaxUint32 * 60

func seconds(d time.Duration) int64 {
	if d == 0 || d == Unlimited {
		return twinForever
	}
	return int64(math.Ceil(d.Seconds()))
}

// below reports whether job j counts in association id.
func (w *twin) below(j *Job, id AssocID) bool {
	for a := j.Assoc; a != 0; a = w.assocs[a].parent {
		if a == id {
			return true
		}
	}
	return false
}

// scope is an owner of limits as a predicate on jobs.
type scope struct {
	in      func(*Job) bool
	history map[int]float64
}

func (w *twin) ofAssoc(id AssocID) scope {
	return scope{func(j *Job) bool { return w.below(j, id) }, w.assocs[id].history}
}

func (w *twin) ofQOS(id QOSID) scope {
	return scope{func(j *Job) bool { return j.QOS == id || j.PartQOS == id }, w.quals[id].history}
}

func (w *twin) ofUser(id QOSID, user string) scope {
	return scope{func(j *Job) bool {
		return (j.QOS == id || j.PartQOS == id) && j.Assoc != 0 && w.assocs[j.Assoc].user == user
	}, nil}
}

func (w *twin) ofAccount(id QOSID, account string) scope {
	return scope{func(j *Job) bool {
		return (j.QOS == id || j.PartQOS == id) && j.Assoc != 0 && w.assocs[j.Assoc].account == account
	}, nil}
}

func (w *twin) running(s scope) int64 {
	n := int64(0)
	for _, j := range w.jobs {
		if j.running && s.in(&j.job) {
			n++
		}
	}
	return n
}

func (w *twin) submitted(s scope) int64 {
	n := int64(0)
	for _, j := range w.jobs {
		if s.in(&j.job) {
			n += j.tasks
		}
	}
	return n
}

// used sums what running jobs of a scope hold; nodes count once each.
func (w *twin) used(s scope, k int) int64 {
	n := int64(0)
	nodes := make(map[int32]bool)
	for _, j := range w.jobs {
		if j.running && s.in(&j.job) {
			n += j.job.TRES[k]
			for id := range j.nodes {
				nodes[id] = true
			}
		}
	}
	if k == int(gres.Node) {
		return int64(len(nodes))
	}
	return n
}

func (w *twin) usedNodes(s scope) map[int32]bool {
	nodes := make(map[int32]bool)
	for _, j := range w.jobs {
		if j.running && s.in(&j.job) {
			for id := range j.nodes {
				nodes[id] = true
			}
		}
	}
	return nodes
}

func (w *twin) committed(s scope, k int) int64 {
	n := int64(0)
	for _, j := range w.jobs {
		if j.running && s.in(&j.job) {
			n += int64(float64(j.job.TRES[k]*seconds(max(j.left, 1))) * j.factor)
			if j.left <= 0 {
				n -= int64(float64(j.job.TRES[k]) * j.factor)
			}
		}
	}
	return n
}

var twinWords = map[int][4]string{
	int(gres.CPU):  {"CpuLimit", "Cpu", "CPU", "Limit"},
	int(gres.Node): {"NodeLimit", "Node", "Node", ""},
	8:              {"GRES", "GRES", "GRES", ""},
}

// name spells a reason from the words of spec/qos.md 2.
func twinName(m Limit, k int, isQOS bool) string {
	side := "Assoc"
	if isQOS {
		side = "QOS"
	}
	w := twinWords[k]
	perLimit := map[bool]string{true: "Limit"}[k == int(gres.CPU) || k == int(gres.Node)]
	cpuLimit := map[bool]string{true: "Limit"}[k == int(gres.CPU)]
	switch m {
	case GrpTRES:
		return side + "Grp" + w[0]
	case GrpTRESMins:
		return side + "Grp" + w[2] + "Minutes" + w[3]
	case GrpTRESRunMins:
		return side + "Grp" + w[2] + "RunMinutes" + w[3]
	case MaxTRESPerJob:
		return side + "Max" + w[1] + "PerJob" + perLimit
	case MaxTRESPerNode:
		if k == int(gres.Node) {
			return side + "MaxUnknownPerNode"
		}
		return side + "Max" + w[1] + "PerNode"
	case MaxTRESMinsPerJob:
		return side + "Max" + w[1] + "MinutesPerJob" + cpuLimit
	case MaxTRESPerUser:
		return "QOSMax" + w[1] + "PerUser" + perLimit
	case MaxTRESPerAccount:
		return "Max" + w[1] + "PerAccount"
	case MaxTRESRunMinsPerUser:
		return "Max" + w[1] + "RunMinsPerUser"
	case MaxTRESRunMinsPerAccount:
		return "Max" + w[1] + "RunMinsPerAccount"
	case MinTRESPerJob:
		if k == int(gres.CPU) {
			return "QOSMinCpuNotSatisfied"
		}
		return "QOSMin" + w[1]
	case GrpJobs, GrpSubmitJobs, GrpWall:
		return side + m.String() + "Limit"
	case MaxJobs:
		return "AssocMaxJobsLimit"
	case MaxSubmitJobs:
		return "AssocMaxSubmitJobLimit"
	case MaxWall:
		return side + "MaxWallDurationPerJobLimit"
	case MaxJobsPerUser:
		return "QOSMaxJobsPerUserLimit"
	case MaxJobsPerAccount:
		return "MaxJobsPerAccount"
	case MaxSubmitJobsPerUser:
		return "QOSMaxSubmitJobPerUserLimit"
	case MaxSubmitJobsPerAccount:
		return "MaxSubmitJobsPerAccount"
	case UsageThreshold:
		return "QOSUsageThreshold"
	}
	return strings.ToUpper(m.String())
}

// owner of limits for one job, with those that come before it.
type twinOwner struct {
	own    map[slotOf]int64
	before []map[slotOf]int64
	isQOS  bool
	factor float64
	whole  scope
	user   scope
	acct   scope
}

// get returns a limit in force. An association's MaxJobs is also beaten by the
// per-user and per-account limits of a QOS, MaxSubmitJobs likewise.
func (o *twinOwner) get(m Limit, k int) (int64, bool) {
	n, ok := o.own[slotOf{m, k}]
	if !ok {
		return 0, false
	}
	same := []Limit{m}
	if m == MaxJobs {
		same = []Limit{MaxJobsPerUser, MaxJobsPerAccount}
	}
	if m == MaxSubmitJobs {
		same = []Limit{MaxSubmitJobsPerUser, MaxSubmitJobsPerAccount}
	}
	for _, b := range o.before {
		for _, s := range same {
			if _, set := b[slotOf{s, k}]; set {
				return 0, false
			}
		}
	}
	if o.factor != 0 && (m == GrpTRES || m == MaxTRESPerJob) {
		n = int64(float64(n) * o.factor)
	}
	return n, true
}

// owners lists the QOS of a job in their order and then the associations, the
// leaf first; the leaf has what accounts above hand down merged in.
func (w *twin) owners(j *Job) (quals, assocs []*twinOwner) {
	ids := []QOSID{j.PartQOS, j.QOS}
	if j.QOS != 0 && w.quals[j.QOS].over {
		ids = []QOSID{j.QOS, j.PartQOS}
	}
	factor := 0.0
	var before []map[slotOf]int64
	for i, id := range ids {
		if id == 0 || i == 1 && id == ids[0] {
			continue
		}
		q := w.quals[id]
		if factor == 0 {
			factor = q.limitFactor
		}
		o := &twinOwner{own: q.own, before: before, isQOS: true, whole: w.ofQOS(id)}
		if j.Assoc != 0 {
			o.user, o.acct = w.ofUser(id, w.assocs[j.Assoc].user), w.ofAccount(id, w.assocs[j.Assoc].account)
		}
		quals = append(quals, o)
		before = append(before[:len(before):len(before)], q.own)
	}
	for a := j.Assoc; a != 0; a = w.assocs[a].parent {
		own := w.assocs[a].own
		if a == j.Assoc {
			own = make(map[slotOf]int64)
			for up := a; up != 0; up = w.assocs[up].parent {
				for s, n := range w.assocs[up].own {
					group := strings.HasPrefix(s.m.String(), "Grp")
					if _, set := own[s]; !set && (!group || up == a) {
						own[s] = n
					}
				}
			}
		}
		assocs = append(assocs, &twinOwner{own: own, before: before, factor: factor, whole: w.ofAssoc(a)})
	}
	return quals, assocs
}

type twinCheck struct {
	w    *twin
	j    *Job
	list []said
	sec  int64
	uf   float64
}

func (w *twin) check(j *Job) *twinCheck {
	c := &twinCheck{w: w, j: j, sec: seconds(j.Limit), uf: 1}
	if j.QOS != 0 && w.quals[j.QOS].factorSafe {
		c.uf = w.quals[j.QOS].usageFactor
	}
	return c
}

func (c *twinCheck) say(o *twinOwner, m Limit, k int, max, used, asked int64) {
	c.list = append(c.list, said{twinName(m, k, o.isQOS), m, k, max, used, asked})
}

func (c *twinCheck) product(k int) int64 { return int64(float64(c.j.TRES[k]*c.sec) * c.uf) }

func ceilMinutes(sec int64) int64 { return (sec + 59) / 60 }

func (c *twinCheck) eachKind(f func(k int)) {
	for k := range c.j.TRES {
		f(k)
	}
}

func (c *twinCheck) use(o *twinOwner, m Limit, s scope) {
	c.eachKind(func(k int) {
		limit, ok := o.get(m, k)
		need := c.j.TRES[k]
		if !ok || need == 0 {
			return
		}
		used, add := c.w.used(s, k), need
		if k == int(gres.Node) && len(c.j.Nodes) > 0 {
			has := c.w.usedNodes(s)
			add = 0
			for _, n := range c.j.Nodes {
				if !has[n] {
					add++
				}
			}
		}
		if need > limit || used+add > limit {
			c.say(o, m, k, limit, used, need)
		}
	})
}

func (c *twinCheck) run(o *twinOwner, m Limit, s scope) {
	c.eachKind(func(k int) {
		limit, ok := o.get(m, k)
		if has, need := c.w.committed(s, k), c.product(k); ok && need > 0 && has+need > limit*60 {
			c.say(o, m, k, limit, has/60, ceilMinutes(need))
		}
	})
}

func (c *twinCheck) minutes(o *twinOwner, s scope) {
	c.eachKind(func(k int) {
		limit, ok := o.get(GrpTRESMins, k)
		if !ok || c.j.TRES[k] == 0 {
			return
		}
		used := int64(s.history[k] / 60)
		has, need := c.w.committed(s, k), c.product(k)
		switch {
		case used >= limit:
			c.say(o, GrpTRESMins, k, limit, used, 1)
		case c.w.safe && has+need > (limit-used)*60:
			c.say(o, GrpTRESMins, k, limit, used+has/60, ceilMinutes(need))
		}
	})
}

func (c *twinCheck) perJob(o *twinOwner, m Limit) {
	c.eachKind(func(k int) {
		limit, ok := o.get(m, k)
		need := c.j.TRES[k]
		if !ok {
			return
		}
		switch m {
		case MaxTRESMinsPerJob, GrpTRESMins, GrpTRESRunMins, MaxTRESRunMinsPerUser, MaxTRESRunMinsPerAccount:
			if p := c.product(k); p > limit*60 {
				c.say(o, m, k, limit, 0, ceilMinutes(p))
			}
		case MaxTRESPerNode:
			if per := need / max(c.j.TRES[gres.Node], 1); per > limit {
				c.say(o, m, k, limit, 0, per)
			}
		case MinTRESPerJob:
			if need < limit {
				c.say(o, m, k, limit, 0, need)
			}
		default:
			if need > limit {
				c.say(o, m, k, limit, 0, need)
			}
		}
	})
}

func (c *twinCheck) count(o *twinOwner, m Limit, used, asked int64) {
	if limit, ok := o.get(m, -1); ok && used+asked > limit {
		c.say(o, m, -1, limit, used, asked)
	}
}

func (c *twinCheck) groupWall(o *twinOwner) {
	limit, ok := o.get(GrpWall, -1)
	used, asked := int64(o.whole.history[-1]/60), int64(1)
	if c.w.safe {
		asked = max(ceilMinutes(c.sec), 1)
	}
	if ok && used+asked > limit {
		c.say(o, GrpWall, -1, limit, used, asked)
	}
}

func (c *twinCheck) maxWall(o *twinOwner, m Limit) {
	if limit, ok := o.get(m, -1); ok && c.sec > limit*60 {
		c.say(o, m, -1, limit, 0, ceilMinutes(c.sec))
	}
}

// before is phase B: spec/qos.md 4.1.
func (w *twin) before(j *Job) []said {
	c := w.check(j)
	quals, assocs := w.owners(j)
	for _, o := range quals {
		c.count(o, GrpJobs, w.running(o.whole), 1)
		c.groupWall(o)
		if j.Assoc != 0 {
			c.count(o, MaxJobsPerAccount, w.running(o.acct), 1)
			c.count(o, MaxJobsPerUser, w.running(o.user), 1)
		}
		c.maxWall(o, MaxWall)
	}
	for i, o := range assocs {
		c.count(o, GrpJobs, w.running(o.whole), 1)
		c.groupWall(o)
		if i == 0 {
			c.count(o, MaxJobs, w.running(o.whole), 1)
			c.maxWall(o, MaxWall)
		}
	}
	return c.list
}

// after is phase C: spec/qos.md 4.3.
func (w *twin) after(j *Job) []said {
	c := w.check(j)
	quals, assocs := w.owners(j)
	for _, o := range quals {
		c.minutes(o, o.whole)
		c.use(o, GrpTRES, o.whole)
		c.run(o, GrpTRESRunMins, o.whole)
		c.perJob(o, MaxTRESMinsPerJob)
		c.perJob(o, MaxTRESPerJob)
		c.perJob(o, MaxTRESPerNode)
		c.perJob(o, MinTRESPerJob)
		if j.Assoc != 0 {
			c.use(o, MaxTRESPerAccount, o.acct)
			c.use(o, MaxTRESPerUser, o.user)
			c.run(o, MaxTRESRunMinsPerAccount, o.acct)
			c.run(o, MaxTRESRunMinsPerUser, o.user)
		}
	}
	for i, o := range assocs {
		c.minutes(o, o.whole)
		c.use(o, GrpTRES, o.whole)
		c.run(o, GrpTRESRunMins, o.whole)
		if i == 0 {
			c.perJob(o, MaxTRESMinsPerJob)
			c.perJob(o, MaxTRESPerJob)
			c.perJob(o, MaxTRESPerNode)
		}
	}
	return c.list
}
