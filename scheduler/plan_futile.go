package scheduler

import "time"

// maxFutile is how many changes are looked at one by one for a class that could
// not start before them.
const maxFutile = 64

// futile reports whether records of a class are known not to fit now beside the
// plans for at least limit: none did, and no node on which something has become
// free since would take one.
func (e *engine) futile(c *class, limit time.Duration) bool {
	p := &e.plans
	at := p.logBase + uint64(len(p.log))
	if limit < c.futileLimit || c.futileAt < p.logBase || c.futileAt == 0 {
		return false
	}
	if c.futileAt == at {
		return true
	}
	ask, ok := e.pool.Ask(c.pool)
	rest := p.log[c.futileAt-p.logBase:]
	if !ok || len(rest) > maxFutile || c.unitsAlone || e.holders > 0 || len(p.alone) > 0 {
		return false
	}
	for _, n := range rest {
		if !c.nodes.Has(n) || !e.up.Has(n) {
			continue
		}
		if start, _ := p.cal[n].window(ask, spanOf(c.futileLimit), e.now, 1); start <= e.now {
			return false
		}
	}
	c.futileAt = at
	return true
}
