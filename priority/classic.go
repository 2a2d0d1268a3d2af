package priority

// Classic computes the fair-share that Slurm had before Fair Tree: 2 to the
// power of minus effective usage over share. Make it with [NewClassic]. It
// holds scratch: one caller at a time.
//
// Source: spec priority 3; slurm.conf(5), PriorityFlags=NO_FAIR_TREE,
// DEPTH_OBLIVIOUS, FairShareDampeningFactor.
type Classic struct {
	lv        levels
	damp      float64
	oblivious bool

	// By entry, the root last: normalised share of the whole, effective
	// usage, and usage of the whole.
	norm, effective, used []float64
}

// NewClassic returns a Classic of t. damp divides the ratio of usage to share
// in the exponent; 0 is 1. oblivious takes the depth-oblivious usage. Nothing
// of t is kept.
func NewClassic(t *Tree, damp uint32, oblivious bool) *Classic {
	c := &Classic{damp: float64(max(damp, 1)), oblivious: oblivious}
	c.SetTree(t)
	return c
}

// SetTree takes over t; see [FairTree.SetTree].
func (c *Classic) SetTree(t *Tree) {
	c.lv.build(t)
	n := len(c.lv.row) + 1
	c.norm, c.effective, c.used = fill(c.norm, n, 0), fill(c.effective, n, 0), fill(c.used, n, 0)
	c.norm[n-1], c.effective[n-1], c.used[n-1] = 1, 1, 1
}

// Rank stores in dst the fair-share factor of every row, accounts too; 0 for
// the root and for rows not in the tree. usage is as in [FairTree.Rank]. It
// takes a few steps a row and allocates nothing. It panics if dst or usage is
// shorter than the tree.
func (c *Classic) Rank(dst, usage []float64) {
	v := &c.lv
	dst = dst[:len(v.entry)]
	clear(dst)
	c.spread(usage)
	for r, l := range v.above {
		if r != 0 && l >= 0 {
			dst[r] = c.factor(c.standsFor(int32(r)))
		}
	}
}

// standsFor is the entry whose values row r has: its own, or its effective
// parent's if its share is the parent's.
func (c *Classic) standsFor(r int32) int32 {
	v := &c.lv
	e := v.entry[r]
	if e < 0 || v.share[e] == parentUser {
		e = v.ownerEnt[v.above[r]]
	}
	if e < 0 {
		e = int32(len(v.row))
	}
	return e
}

func (c *Classic) factor(e int32) float64 {
	if c.norm[e] <= 0 {
		return 0
	}
	return exp2(-(c.effective[e] / c.norm[e] / c.damp))
}

// spread computes shares and usages from the root down: levels come before
// those below.
func (c *Classic) spread(usage []float64) {
	v := &c.lv
	all := cleanUsage(usage[0])
	for l, owner := range v.ownerEnt {
		p := owner
		if owner < 0 {
			p = int32(len(v.row))
		}
		var siblings float64
		for e := v.start[l]; e < v.start[l+1]; e++ {
			c.norm[e] = float64(max(v.share[e], 0) * c.norm[p])
			c.used[e] = 0
			if all > 0 {
				c.used[e] = min(cleanUsage(usage[v.row[e]])/all, 1)
			}
			if v.share[e] != parentUser {
				siblings += c.used[e]
			}
		}
		for e := v.start[l]; e < v.start[l+1]; e++ {
			switch {
			case c.oblivious:
				c.effective[e] = c.obliviousUsage(e, p, siblings)
			case owner < 0:
				c.effective[e] = c.used[e]
			case v.total[l] == 0:
				c.effective[e] = c.effective[p]
			default:
				c.effective[e] = c.used[e] + float64((c.effective[p]-c.used[e])*v.share[e])
			}
		}
	}
}

// obliviousUsage is the effective usage of entry e below p with
// DEPTH_OBLIVIOUS: one that makes usage over share R(p)·r^k, where r compares
// e with its siblings, and k draws R towards its parent's.
func (c *Classic) obliviousUsage(e, p int32, siblings float64) float64 {
	if c.norm[e] <= 0 || c.norm[p] <= 0 || c.effective[p] <= 0 || c.used[e] <= 0 {
		return c.used[e]
	}
	above := c.effective[p] / c.norm[p]
	r := (c.used[e] / c.norm[e]) / (siblings / c.norm[p])
	lnAbove, lnR := log(above), log(r)
	k := 1.0
	if float64(lnAbove*lnR) < 0 {
		k = 1 / (1 + float64(float64(5*lnAbove)*float64(5*lnAbove)))
	}
	return float64(float64(above*exp2(float64(k*lnR)/ln2)) * c.norm[e])
}

const ln2 = 0.693147180559945309417232121458176568
