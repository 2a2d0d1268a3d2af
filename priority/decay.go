package priority

import (
	"math"
	"time"
)

// Decay says how use is forgotten. Its zero value forgets nothing, which is
// also how a QOS with NoDecay keeps its books.
//
// Source: spec priority 5.2, 5.3; slurm.conf(5), PriorityDecayHalfLife.
type Decay struct {
	// HalfLife is the time after which half of the use is left; 0 is for
	// ever.
	HalfLife time.Duration
	// Exact charges and decays by the exact integral, at any instant: one
	// step or a thousand give the same books. Without it a period counts in
	// whole seconds with Slurm's first-order factor, and what was used in
	// the period is decayed by all of it.
	Exact bool
}

// DefaultHalfLife is Slurm's PriorityDecayHalfLife.
const DefaultHalfLife = 7 * 24 * time.Hour

// smallestNormal is what a factor never goes below, so that usage decays to
// nothing only by itself.
const smallestNormal = 0x1p-1022

// Keep is the fraction of use that is left after t.
func (d Decay) Keep(t time.Duration) float64 {
	switch {
	case d.HalfLife <= 0 || t <= 0:
		return 1
	case d.Exact:
		return max(exp2(-(float64(t) / float64(d.HalfLife))), smallestNormal)
	}
	perSecond := 1 - .693/(float64(d.HalfLife)/float64(time.Second))
	return max(powInt(max(perSecond, 0), int64(t/time.Second)), smallestNormal)
}

// Charge is what use at the given points a second during the last t adds to
// the books at its end. A job's points are those of its [Billing] times the
// UsageFactor of its QOS.
func (d Decay) Charge(points float64, t time.Duration) float64 {
	switch {
	case t <= 0:
		return 0
	case !d.Exact:
		return float64(float64(float64(t/time.Second)*points) * d.Keep(t))
	case d.HalfLife <= 0:
		return float64(points * (float64(t) / float64(time.Second)))
	}
	h := float64(d.HalfLife) / float64(time.Second)
	return float64(points * float64(h/ln2*forgotten(float64(t)/float64(d.HalfLife))))
}

// forgotten is 1-2^-x for x > 0, right to a few last places for small x too.
func forgotten(x float64) float64 {
	if x > .5 {
		return 1 - exp2(-x)
	}
	y := float64(x * ln2)
	sum := 0.0
	for i := 18; i > 0; i-- {
		sum = float64((1-sum)*y) / float64(i)
	}
	return sum
}

// Fade multiplies every element of usage by what is left after t. It is one
// pass's decay of a column; the accounts above decay like their users.
func (d Decay) Fade(usage []float64, t time.Duration) {
	keep := d.Keep(t)
	if keep == 1 {
		return
	}
	for i, u := range usage {
		usage[i] = float64(u * keep)
	}
}

// Charges are the columns of the jobs to be charged, one row a job.
type Charges struct {
	Assoc  []int32         // the row that is charged, with all above it
	Points []float64       // a second, see [Billing.Points]
	Factor []float64       // UsageFactor of the job's QOS. Default: 1
	For    []time.Duration // how long up to now, since it was last charged
}

// Add charges c to usage: each job to its association and to every one above
// up to the root, whose parent is negative. In a pass it comes after
// [Decay.Fade]. Jobs are charged in order, so the same rows give the same bits.
func (d Decay) Add(usage []float64, parent []int32, c *Charges) {
	for i, a := range c.Assoc {
		points := c.Points[i]
		if len(c.Factor) != 0 {
			points = float64(points * c.Factor[i])
		}
		u := d.Charge(points, c.For[i])
		for ; a > 0; a = parent[a] {
			usage[a] += u
		}
		if a == 0 {
			usage[0] += u
		}
	}
}

// Average turns decayed use in point-seconds into an average in points, as
// admission fair sharing orders queues by: use times ln 2 over the half-life.
// Without a half-life it returns use as it is.
func (d Decay) Average(use float64) float64 {
	if d.HalfLife <= 0 {
		return use
	}
	return float64(use*math.Ln2) / (float64(d.HalfLife) / float64(time.Second))
}
