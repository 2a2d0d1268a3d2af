package priority

// A Factor is one term of a job's priority.
type Factor struct {
	// Norm is the factor itself, in [0, 1] unless a NoNormal flag says
	// otherwise; 0 if its weight is 0.
	Norm float64
	// Points is the weight times Norm: what the term adds.
	Points float64
}

// A TRESFactor is the term of one weighted TRES kind.
type TRESFactor struct {
	Kind int32 // index into the schema
	Factor
}

// A Breakdown says how one job's priority came about: a line of sprio as data.
// The zero value is ready; it may be used again.
type Breakdown struct {
	// Priority is what [Multifactor.Rank] gives.
	Priority uint32
	// Sum is the sum of the terms before it is cut to a whole number, within
	// [1, Ceiling]. Over [Ceiling] it is the normalised priority of sprio -n.
	Sum float64
	// Standing says whether the terms count at all.
	Standing Standing

	Age, Assoc, FairShare, JobSize, Partition, QOS Factor

	// TRES has the kinds whose weight is not 0, ascending.
	TRES []TRESFactor
	// Site is added and Nice subtracted, as they are.
	Site, Nice int32
}

// Breakdown stores in b how the priority of row row of j comes about. It reuses
// b.TRES and allocates only to let it grow.
func (m *Multifactor) Breakdown(b *Breakdown, j *Jobs, share []float64, row int) {
	var p [1]uint32
	one := j.slice(row, row+1, m.kinds)
	m.block(p[:], &one, share)
	m.explain(b, &one, share, p[0])
}

// PairBreakdown stores in b how the priority of pair i of p comes about, as
// [Multifactor.RankPairs] computes it.
func (m *Multifactor) PairBreakdown(b *Breakdown, j *Jobs, share []float64, p *Pairs, i int) {
	var got [1]uint32
	one := Pairs{Job: p.Job[i : i+1], Partition: p.Partition[i : i+1], QOS: p.QOS[i : i+1]}
	m.RankPairs(got[:], j, share, &one)
	m.explain(b, &m.gathered, share, got[0])
}

// explain fills b for the only row of j.
func (m *Multifactor) explain(b *Breakdown, j *Jobs, share []float64, p uint32) {
	w := &m.cfg.Weights
	*b = Breakdown{Priority: p, Sum: min(max(m.sums[0], 1), Ceiling), TRES: b.TRES[:0]}
	if len(j.Standing) != 0 {
		b.Standing = j.Standing[0]
	}
	if w.Age != 0 && len(j.Age) != 0 {
		b.Age = weigh(w.Age, ageFactor(j.Age[0], m.maxAge))
	}
	if len(j.Assoc) != 0 && j.Assoc[0] >= 0 {
		if w.Assoc != 0 {
			b.Assoc = weigh(w.Assoc, m.assocRaw.factor(j.Assoc[0]))
		}
		if w.FairShare != 0 {
			b.FairShare = weigh(w.FairShare, share[j.Assoc[0]])
		}
	}
	if w.JobSize != 0 {
		limit := NoLimit
		if m.size.timed {
			limit = j.TimeLimit[0]
		}
		b.JobSize = weigh(w.JobSize, m.size.factor(j.Nodes[0], j.CPUs[0], limit))
	}
	if w.Partition != 0 {
		b.Partition = weigh(w.Partition, m.partRaw.factor(j.Partition[0]))
	}
	if w.QOS != 0 && len(j.QOS) != 0 {
		b.QOS = weigh(w.QOS, m.qosRaw.factor(j.QOS[0]))
	}
	for n, k := range m.tresKind {
		norm := float64(j.TRES[k]) / m.tresTotal[n][j.Partition[0]]
		b.TRES = append(b.TRES, TRESFactor{Kind: k, Factor: Factor{Norm: norm, Points: float64(m.tresWeight[n] * norm)}})
	}
	if len(j.Site) != 0 {
		b.Site = j.Site[0]
	}
	if len(j.Nice) != 0 {
		b.Nice = j.Nice[0]
	}
}

func weigh(weight uint32, norm float64) Factor {
	return Factor{Norm: norm, Points: float64(float64(weight) * norm)}
}
