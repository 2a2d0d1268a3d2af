package priority

import (
	"math"
	"time"
)

// Ceiling is the largest priority there is. Slurm: 4294967295.
const Ceiling = 1<<32 - 1

// Standing says whether a job's priority is computed at all.
type Standing uint8

const (
	// Computed jobs get the sum of their factors.
	Computed Standing = iota
	// Held jobs have priority 0 and are not recomputed.
	Held
	// Fixed jobs keep the priority in [Jobs.Prev] exactly: an administrator
	// set it, and neither nice nor any factor changes it.
	Fixed
)

// Jobs are the columns of the jobs to be ranked, one row a job. A column whose
// factor is off, and a column with a stated default, may be nil; the others
// have the same length as Partition.
type Jobs struct {
	// Partition is the partition whose factor and totals count: the job's
	// current one. It is never nil.
	Partition []int32
	// QOS is the job's own QOS (with several the one of highest priority),
	// never the partition's; -1 is none.
	QOS []int32
	// Assoc is the job's association; -1 is none.
	Assoc []int32
	// Age is how long the job has earned age, 0 or less while it earns none:
	// held, dependent, not yet begun, or kept from it by an accrue limit
	// (which the ledger counts). With [AccrueAlways] it is the time since
	// submission.
	Age []time.Duration
	// Nodes is the least number of nodes the job can run on.
	Nodes []int32
	// CPUs is what the job holds or is estimated to get; else the most it
	// states; else the least. 0 is not known.
	CPUs []int32
	// TimeLimit is the job's, or else its partition's; [NoLimit] is none. It
	// is read with [SmallRelativeToTime] only.
	TimeLimit []time.Duration
	// TRES has one row of Kinds counts for each job, in the order of the
	// schema: what the job holds, or else asks for.
	TRES []int64
	// Nice is subtracted. Default: 0.
	Nice []int32
	// Site is added. Default: 0.
	Site []int32
	// Standing says which rows are computed. Default: all.
	Standing []Standing
	// Prev are the priorities before: what [Fixed] rows keep and [IncrOnly]
	// never goes below (0: none yet). It may be the slice that is written to.
	// Default: all 0.
	Prev []uint32
}

// Len is the number of rows.
func (j *Jobs) Len() int { return len(j.Partition) }

// Pairs are the (partition, QOS) pairs of jobs that list several: one row a
// pair. Slurm orders a job's pairs by its partition list, QOS inner.
type Pairs struct {
	Job       []int32 // row in [Jobs]
	Partition []int32 // instead of the job's
	QOS       []int32 // instead of the job's; -1 is none
}

// blockRows is how many rows are summed at a time: the sums stay in the first
// cache while one factor after the other is added.
const blockRows = 256

// Multifactor computes job priorities: the sum of weighted factors that Slurm's
// priority/multifactor computes, in the same order of additions and so with
// the same bits. Make it with [NewMultifactor]. It holds scratch: one caller
// at a time.
//
// Source: spec priority 1.
type Multifactor struct {
	cfg    Config
	maxAge float64 // seconds
	size   sizeRule
	kinds  int

	// Weighted factors, ready to add.
	part  []float64 // by partition
	qos   []float64 // by QOS
	assoc []float64 // by association

	// What factors are without their weights, for breakdowns.
	partRaw, qosRaw, assocRaw table

	// TRES weights that are on, and for each partition what they divide by.
	tresKind   []int32
	tresWeight []float64
	tresTotal  [][]float64 // by weight, then partition; +Inf: the partition has none

	sums, tres [blockRows]float64
	gathered   Jobs // rows of a block that are not neighbours
}

// table are the raw values of one factor and what they are divided by.
type table struct {
	raw []uint32
	by  float64 // 0: all are 0
}

// factor is the normalised factor of row i; -1 is none.
func (t *table) factor(i int32) float64 {
	if i < 0 || t.by == 0 {
		return 0
	}
	return float64(t.raw[i]) / t.by
}

// set reads raw, and stores in dst the weighted factors if weight is not 0.
func (t *table) set(dst []float64, raw []uint32, weight uint32, plain bool) []float64 {
	t.raw = append(t.raw[:0], raw...)
	t.by = 0
	for _, v := range raw {
		t.by = max(t.by, float64(v))
	}
	if plain && t.by != 0 {
		t.by = 1
	}
	dst = dst[:0]
	if weight == 0 {
		return dst
	}
	for i := range raw {
		dst = append(dst, float64(float64(weight)*t.factor(int32(i))))
	}
	return dst
}

// NewMultifactor returns a Multifactor for cfg on cluster c. Nothing of either
// is kept.
func NewMultifactor(cfg Config, c *Cluster) *Multifactor {
	m := &Multifactor{cfg: cfg}
	if m.cfg.MaxAge <= 0 {
		m.cfg.MaxAge = DefaultMaxAge
	}
	m.maxAge = float64(m.cfg.MaxAge / time.Second)
	m.cfg.TRES = nil
	for k, w := range cfg.TRES {
		if w != 0 {
			m.tresKind = append(m.tresKind, int32(k))
			m.tresWeight = append(m.tresWeight, w)
		}
	}
	m.tresTotal = make([][]float64, len(m.tresKind))
	m.SetCluster(c)
	return m
}

// SetCluster takes over what factors are measured against; call it when
// partitions, QOS, associations or the nodes change. It costs a step for each
// of their rows and allocates only to grow. Nothing of c is kept. It panics if
// a weighted kind lies beyond c.Kinds or the rows do not match.
func (m *Multifactor) SetCluster(c *Cluster) {
	w, f := &m.cfg.Weights, m.cfg.Flags
	m.size = sizeRule{nodes: float64(c.Nodes), cpus: float64(c.CPUs), small: m.cfg.FavorSmall, timed: f&SmallRelativeToTime != 0}
	m.part = m.partRaw.set(m.part, c.PartitionFactor, w.Partition, f&NoNormalPart != 0)
	m.qos = m.qosRaw.set(m.qos, c.QOSPriority, w.QOS, f&NoNormalQOS != 0)
	m.assoc = m.assocRaw.set(m.assoc, c.AssocPriority, w.Assoc, f&NoNormalAssoc != 0)
	m.kinds = c.Kinds
	for n, k := range m.tresKind {
		if int(k) >= c.Kinds || len(c.PartitionTRES) != c.Kinds*len(c.PartitionFactor) {
			panic("priority: partition totals do not match the schema")
		}
		t := m.tresTotal[n][:0]
		for p := range c.PartitionFactor {
			v := float64(c.PartitionTRES[p*c.Kinds+int(k)])
			switch {
			case f&NoNormalTRES != 0:
				v = 1
			case v <= 0:
				v = math.Inf(1)
			}
			t = append(t, v)
		}
		m.tresTotal[n] = t
	}
}

// Rank stores in dst[i] the priority of row i of j; higher goes first. Equal
// priorities go to the caller's next key, in the end the job's id: submission,
// then id (spec priority 6). share has the fair-share factor of every
// association; it may be nil if that weight is 0.
//
// It takes a step for each row and factor and allocates nothing. It panics if
// dst is shorter than j or an index lies outside the cluster.
func (m *Multifactor) Rank(dst []uint32, j *Jobs, share []float64) {
	for lo := 0; lo < j.Len(); lo += blockRows {
		hi := min(lo+blockRows, j.Len())
		b := j.slice(lo, hi, m.kinds)
		m.block(dst[lo:hi], &b, share)
	}
}

// RankRows stores in dst[i] the priority of row rows[i] of j, as
// [Multifactor.Rank] does. It allocates its scratch at the first call.
func (m *Multifactor) RankRows(dst []uint32, j *Jobs, share []float64, rows []int32) {
	for lo := 0; lo < len(rows); lo += blockRows {
		hi := min(lo+blockRows, len(rows))
		m.gather(j, rows[lo:hi])
		m.block(dst[lo:hi], &m.gathered, share)
	}
}

// RankPairs stores in dst[i] the priority of pair i: its job's, with the
// partition factor, the TRES totals and the QOS factor of the pair. It
// allocates its scratch at the first call.
//
// As in Slurm, a pair whose QOS has priority 0 takes the factor of the job's
// headline QOS; [Config.OwnZeroQOS] makes it 0. With several QOS in a single
// partition Slurm orders the queue by the job's headline priority instead.
// Source: spec priority 1.10.
func (m *Multifactor) RankPairs(dst []uint32, j *Jobs, share []float64, p *Pairs) {
	for lo := 0; lo < len(p.Job); lo += blockRows {
		hi := min(lo+blockRows, len(p.Job))
		m.gather(j, p.Job[lo:hi])
		g := &m.gathered
		copy(g.Partition, p.Partition[lo:hi])
		for i, q := range p.QOS[lo:hi] {
			if len(g.QOS) > 0 {
				g.QOS[i] = m.pairQOS(q, g.QOS[i])
			}
		}
		m.block(dst[lo:hi], g, share)
	}
}

// pairQOS is the QOS whose factor counts in a pair of QOS q of a job whose
// headline QOS is head.
func (m *Multifactor) pairQOS(q, head int32) int32 {
	if q >= 0 && m.qosRaw.raw[q] == 0 && !m.cfg.OwnZeroQOS {
		return head
	}
	return q
}

// block ranks the rows of j, blockRows at most. Factors are added one by one in
// Slurm's order, so every sum has Slurm's bits.
func (m *Multifactor) block(dst []uint32, j *Jobs, share []float64) {
	n, w := j.Len(), &m.cfg.Weights
	sums := m.sums[:n]
	clear(sums)
	if w.Age != 0 {
		for i, d := range j.Age {
			sums[i] = float64(float64(w.Age) * ageFactor(d, m.maxAge))
		}
	}
	if w.Assoc != 0 {
		addTable(sums, m.assoc, j.Assoc)
	}
	if w.FairShare != 0 {
		fw := float64(w.FairShare)
		for i, a := range j.Assoc {
			if a >= 0 {
				sums[i] += float64(fw * share[a])
			}
		}
	}
	if w.JobSize != 0 {
		m.addSizes(sums, j)
	}
	if w.Partition != 0 {
		addTable(sums, m.part, j.Partition)
	}
	if w.QOS != 0 {
		addTable(sums, m.qos, j.QOS)
	}
	if len(m.tresKind) != 0 {
		m.addTRES(sums, j)
	}
	for i, s := range j.Site {
		sums[i] += float64(s)
	}
	for i, v := range j.Nice {
		sums[i] -= float64(v)
	}
	m.store(dst, sums, j)
}

func addTable(sums, factors []float64, rows []int32) {
	for i, r := range rows {
		if r >= 0 {
			sums[i] += factors[r]
		}
	}
}

func (m *Multifactor) addSizes(sums []float64, j *Jobs) {
	w, r := float64(m.cfg.JobSize), &m.size
	nodes, cpus := j.Nodes[:len(sums)], j.CPUs[:len(sums)]
	switch {
	case r.timed:
		for i := range sums {
			sums[i] += float64(w * r.factor(nodes[i], cpus[i], j.TimeLimit[i]))
		}
	case r.nodes <= 0 || r.cpus <= 0:
	case r.small:
		for i := range sums {
			sums[i] += float64(w * r.smallFactor(nodes[i], cpus[i]))
		}
	default:
		for i := range sums {
			sums[i] += float64(w * r.largeFactor(nodes[i], cpus[i]))
		}
	}
}

// addTRES adds the sum of the weighted TRES factors: summed apart first, as
// Slurm does.
func (m *Multifactor) addTRES(sums []float64, j *Jobs) {
	tres := m.tres[:len(sums)]
	clear(tres)
	parts := j.Partition[:len(sums)]
	for n, k := range m.tresKind {
		w, total := m.tresWeight[n], m.tresTotal[n]
		counts := j.TRES[k:]
		for i := range tres {
			// A partition that has none of the kind divides by infinity.
			tres[i] += float64(w * (float64(counts[i*m.kinds]) / total[parts[i]]))
		}
	}
	for i, t := range tres {
		sums[i] += t
	}
}

// store turns sums into priorities. dst may be j.Prev.
func (m *Multifactor) store(dst []uint32, sums []float64, j *Jobs) {
	incr := m.cfg.Flags&IncrOnly != 0 && len(j.Prev) != 0
	if !incr && len(j.Standing) == 0 {
		for i, s := range sums {
			dst[i] = whole(s)
		}
		return
	}
	for i, s := range sums {
		p := whole(s)
		switch {
		case len(j.Standing) != 0 && j.Standing[i] == Held:
			p = 0
		case len(j.Standing) != 0 && j.Standing[i] == Fixed:
			p = j.Prev[i]
		case incr:
			p = max(p, j.Prev[i])
		}
		dst[i] = p
	}
}

// slice is rows lo to hi of j.
func (j *Jobs) slice(lo, hi, kinds int) Jobs {
	b := Jobs{
		Partition: j.Partition[lo:hi],
		QOS:       cut(j.QOS, lo, hi),
		Assoc:     cut(j.Assoc, lo, hi),
		Age:       cut(j.Age, lo, hi),
		Nodes:     cut(j.Nodes, lo, hi),
		CPUs:      cut(j.CPUs, lo, hi),
		TimeLimit: cut(j.TimeLimit, lo, hi),
		TRES:      cut(j.TRES, lo*kinds, hi*kinds),
		Nice:      cut(j.Nice, lo, hi),
		Site:      cut(j.Site, lo, hi),
		Standing:  cut(j.Standing, lo, hi),
		Prev:      cut(j.Prev, lo, hi),
	}
	return b
}

// cut is c[lo:hi], or nil if the column is not there.
func cut[T any](c []T, lo, hi int) []T {
	if len(c) == 0 {
		return nil
	}
	return c[lo:hi]
}

// gather copies rows of j, blockRows at most, into the block of scratch.
func (m *Multifactor) gather(j *Jobs, rows []int32) {
	g := &m.gathered
	g.Partition = pick(g.Partition, j.Partition, rows)
	g.QOS = pick(g.QOS, j.QOS, rows)
	g.Assoc = pick(g.Assoc, j.Assoc, rows)
	g.Age = pick(g.Age, j.Age, rows)
	g.Nodes = pick(g.Nodes, j.Nodes, rows)
	g.CPUs = pick(g.CPUs, j.CPUs, rows)
	g.TimeLimit = pick(g.TimeLimit, j.TimeLimit, rows)
	g.Nice = pick(g.Nice, j.Nice, rows)
	g.Site = pick(g.Site, j.Site, rows)
	g.Standing = pick(g.Standing, j.Standing, rows)
	g.Prev = pick(g.Prev, j.Prev, rows)
	g.TRES = g.TRES[:0]
	if len(m.tresKind) != 0 {
		for _, r := range rows {
			g.TRES = append(g.TRES, j.TRES[int(r)*m.kinds:(int(r)+1)*m.kinds]...)
		}
	}
}

func pick[T any](dst, column []T, rows []int32) []T {
	dst = dst[:0]
	if len(column) == 0 {
		return dst
	}
	for _, r := range rows {
		dst = append(dst, column[r])
	}
	return dst
}
