package scheduler

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/priority"
)

// buildRanker makes the priority computation follow parameters, partitions and
// nodes.
func (e *engine) buildRanker() error {
	p := &e.par.Priority
	flags, err := priorityFlags(p.Flags)
	if err != nil {
		return fmt.Errorf("scheduler: read priority flags: %w", err)
	}
	cfg := priority.Config{MaxAge: p.MaxAge, FavorSmall: p.FavorSmall, Flags: flags, OwnZeroQOS: e.cfg.Profile != ProfileSlurm}
	cfg.Age, cfg.JobSize, cfg.Partition = p.Age, p.JobSize, p.Partition
	cfg.Assoc, cfg.FairShare, cfg.QOS = p.Assoc, p.FairShare, p.QOS
	cl := priority.Cluster{Nodes: int64(e.there.Count()), Kinds: e.schema.Len()}
	for i := range e.there.All() {
		cl.CPUs += e.pool.Shape(int32(i)).MilliCPU() / 1000
	}
	for i := range e.parts {
		cl.PartitionFactor = append(cl.PartitionFactor, e.parts[i].factor)
		cl.PartitionTRES = append(cl.PartitionTRES, e.totalTRES(&e.parts[i].nodes)...)
	}
	if p.TRES != "" {
		w, err := e.tresWeights(p.TRES)
		if err != nil {
			return err
		}
		cfg.TRES = w
	}
	e.rankAccounts(&cl)
	e.rank.mf = priority.NewMultifactor(cfg, &cl)
	e.rank.cfg, e.rank.cluster = cfg, cl
	was := e.rank.kinds
	if e.rank.kinds = 0; cfg.TRES != nil {
		e.rank.kinds = e.schema.Len()
	}
	e.rank.jobs.Prev, e.rank.held = nil, make([]int64, e.schema.Len())
	e.rank.always, e.rank.rising = flags&priority.AccrueAlways != 0, flags&priority.IncrOnly != 0
	e.rank.running = flags&priority.CalculateRunning != 0
	e.rank.grow(len(e.jobs.rows))
	if e.rank.kinds > was {
		e.fillRows()
	}
	return nil
}

// fillRows fills the column of TRES, which is there only if they weigh.
func (e *engine) fillRows() {
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.id != 0 && !j.state.Ended() && len(j.classes) > 0 {
			e.fillTRES(int32(r))
		}
	}
}

// fillTRES copies what a job asks into its row, if it is looked at.
func (e *engine) fillTRES(r int32) {
	j := &e.jobs.rows[r]
	row := e.rank.tresRow(r)
	clear(row)
	copy(row, e.classes.rows[j.classes[firstPlain(j.spec)]].tres)
}

// tresRow is a job's row of TRES, empty if they do not weigh.
func (r *ranker) tresRow(row int32) []int64 { return r.jobs.TRES[int(row)*r.kinds:][:r.kinds] }

// A ranker computes priorities over columns with one row a job.
type ranker struct {
	mf       *priority.Multifactor
	cfg      priority.Config // what mf was made of: views make their own
	cluster  priority.Cluster
	jobs     priority.Jobs
	pairs    priority.Pairs
	pairPrio []uint32
	kinds    int
	prio     []uint32
	rows     []int32
	held     []int64 // scratch
	always   bool    // age counts from submission
	rising   bool    // priorities are only raised
	running  bool    // those of running jobs are computed too
	basic    uint32  // next priority handed out by priority/basic, counted down
}

// grow gives the columns n rows.
func (r *ranker) grow(n int) {
	if have := len(r.jobs.Partition); n > have {
		k := n - have + n/4
		r.jobs.Partition = append(r.jobs.Partition, make([]int32, k)...)
		r.jobs.QOS = append(r.jobs.QOS, make([]int32, k)...)
		r.jobs.Assoc = append(r.jobs.Assoc, make([]int32, k)...)
		r.jobs.Age = append(r.jobs.Age, make([]time.Duration, k)...)
		r.jobs.Nodes = append(r.jobs.Nodes, make([]int32, k)...)
		r.jobs.CPUs = append(r.jobs.CPUs, make([]int32, k)...)
		r.jobs.TimeLimit = append(r.jobs.TimeLimit, make([]time.Duration, k)...)
		r.jobs.Nice = append(r.jobs.Nice, make([]int32, k)...)
		r.jobs.Site = append(r.jobs.Site, make([]int32, k)...)
		r.prio = append(r.prio, make([]uint32, k)...)
	}
	if n := len(r.jobs.Partition) - len(r.jobs.Prev); r.rising && n > 0 {
		r.jobs.Prev = append(r.jobs.Prev, make([]uint32, n)...)
	}
	if r.kinds == 0 {
		r.jobs.TRES = nil
	}
	if want := len(r.jobs.Partition) * r.kinds; len(r.jobs.TRES) < want {
		r.jobs.TRES = append(r.jobs.TRES, make([]int64, want-len(r.jobs.TRES))...)
	}
}

// fillRow copies what priority needs of a job into its row of the columns.
func (e *engine) fillRow(r int32) {
	j := &e.jobs.rows[r]
	c := &e.classes.rows[j.classes[firstPlain(j.spec)]]
	k := &e.rank.jobs
	k.Partition[r] = j.parts[0]
	k.QOS[r], k.Assoc[r] = int32(j.acct.qos), int32(j.acct.assoc)
	if j.acct.qos == 0 {
		k.QOS[r] = -1
	}
	if j.acct.assoc == 0 {
		k.Assoc[r] = -1
	}
	k.Age[r] = e.age(j)
	k.Nodes[r] = c.min
	k.CPUs[r] = c.req.MinCPUs
	k.TimeLimit[r] = j.limit
	k.Nice[r] = clamp32(j.spec.Nice)
	k.Site[r] = clamp32(j.spec.SiteFactor)
	if e.rank.rising {
		k.Prev[r] = j.prio
	}
	e.fillTRES(r)
}

func clamp32(v int64) int32 { return int32(max(math.MinInt32, min(math.MaxInt32, v))) }

// age is how long the job has earned age.
func (e *engine) age(j *job) time.Duration {
	from := e.ageFrom(j)
	if from == Never || from >= e.now {
		return 0
	}
	return e.now.Sub(from)
}

// computePriority sets the priority of a job that is new or has changed.
func (e *engine) computePriority(r int32) {
	j := &e.jobs.rows[r]
	switch {
	case j.flags&(flagHeldUser|flagHeldAdmin) != 0:
		j.prio = 0
		return
	case j.spec.Priority > 0:
		j.prio = j.spec.Priority
		return
	case e.par.Priority.Basic:
		j.prios = j.prios[:0]
		if j.prio == 0 {
			e.rank.basic--
			j.prio = e.rank.basic
		}
		return
	}
	e.fillRow(r)
	e.rank.rows = append(e.rank.rows[:0], r)
	e.rankRows(e.rank.rows)
}

// rankRows computes the priorities of jobs whose columns are filled, and those
// of their pairs.
func (e *engine) rankRows(rows []int32) {
	e.rank.mf.RankRows(e.rank.prio[:len(rows)], &e.rank.jobs, e.shareColumn(), rows)
	for i, r := range rows {
		e.jobs.rows[r].prio = e.rank.prio[i]
	}
	e.rankPairs(rows)
}

// ages reports whether priorities change with time alone.
func (e *engine) ages() bool { return e.par.Priority.Age > 0 && !e.par.Priority.Basic }

// tick recomputes the priorities of waiting jobs when a calculation period has
// passed.
func (e *engine) tick() {
	if e.now < e.nextCal {
		return
	}
	period := Time(e.par.Priority.CalcPeriod / time.Microsecond)
	e.nextCal = e.now + period - (e.now-e.nextCal)%period
	e.accountTick()
	if !e.ages() && !e.wantsShares() {
		return
	}
	if e.rank.running {
		e.rankRunning()
	}
	if len(e.queue.sorted) == 0 {
		return
	}
	rows := e.rank.rows[:0]
	for i := range e.queue.sorted {
		q := &e.queue.sorted[i]
		if j := &e.jobs.rows[q.row]; q.gen == j.qgen && q.pair == j.firstPair && q.order == 0 && j.spec.Priority == 0 {
			e.ageRow(q.row)
			rows = append(rows, q.row)
		}
	}
	e.rank.rows = rows
	e.rankRows(rows)
	for i := range e.queue.sorted {
		q := &e.queue.sorted[i]
		if j := &e.jobs.rows[q.row]; q.gen == j.qgen {
			q.key = e.keyOf(j, int(q.pair), q.resv)
		}
	}
	e.queue.resort()
	e.arrivals++
}

// ageRow brings what changes with time alone in a job's row up to date.
func (e *engine) ageRow(r int32) {
	j := &e.jobs.rows[r]
	e.rank.jobs.Age[r] = e.age(j)
	if e.rank.rising {
		e.rank.jobs.Prev[r] = j.prio
	}
}

// rerank gives every pending job its priority, reason and records anew.
func (e *engine) rerank(now Time) {
	e.queue.reset()
	for r := range e.jobs.rows {
		if e.jobs.rows[r].state == StatePending {
			e.jobs.rows[r].flags &^= flagQueued
			e.jobs.rows[r].qgen++
			e.setEligible(now, int32(r))
			e.requeueRecords(int32(r))
		}
	}
}

// tresWeights reads PriorityWeightTRES: "cpu=100,gres/gpu=-2.5".
func (e *engine) tresWeights(text string) ([]float64, error) {
	w := make([]float64, e.schema.Len())
	for item := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(item, "=")
		k, ok := e.schema.Kind(name)
		x, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("scheduler: read TRES weights %q: item %q: %w", text, item, ErrSpec)
		}
		w[k] = x
	}
	return w, nil
}
