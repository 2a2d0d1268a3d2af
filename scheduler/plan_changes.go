package scheduler

import (
	"math"
	"time"

	"github.com/berth-sched/berth/topology"
)

// compressSteps is the work that a pass spends on moving plans to earlier starts,
// in looks at a node, if MaxSteps does not say otherwise. What is left is looked
// at for starts at this instant alone. It keeps a pass after an early end short;
// plans of small clusters and of small depths never need so much.
const compressSteps = 12_000

// grantWork is what it takes to take out and put back what a plan holds on a node.
const grantWork = 8

// roundPause is how long what a pass left over waits for the next if nothing
// happens meanwhile: as long as Slurm's bf_interval.
const roundPause = 30 * time.Second

// wholeQueue is a round that is not divided.
const wholeQueue = math.MaxInt

// changes say what plans have to be compared with. The log lists nodes in order
// in which something became free on them; a plan has been compared with the
// first so many (plan.checked), for all starts before its own. A pass that
// compares all plans with the whole log forgets it. One that has no steps left
// keeps it: those that it did not come to are a round, which the next passes
// finish before they look at others again, in order of the queue. So each has its
// turn however much changes, and where a pass stopped is in the state.
type changes struct {
	anywhere  int  // of the log up to here, all nodes may have become free
	put       int  // changes that earlier passes left
	round     int  // plans that have been compared with fewer changes are of the round
	sweepFrom int  // length of the log when the sweep began that used up the steps
	behind    bool // this sweep put a plan off
	nextRound Time // when to go on though nothing happens; Never if nothing is left
}

// noteAll notes that something has changed that concerns any node.
func (p *planner) noteAll() {
	p.logBase += 1 << 32     // what classes know of failing is void
	p.log = append(p.log, 0) // a change of its own
	p.anywhere = len(p.log)
}

// beginSweep opens a walk through the queue.
func (p *planner) beginSweep() {
	p.behind = false
	if p.left > 0 {
		p.sweepFrom = len(p.log)
	}
}

// endRound reports whether a sweep came to all plans of a round with steps left:
// another may look at the others.
func (p *planner) endRound() bool {
	if !p.behind || p.left <= 0 || p.round == wholeQueue {
		return false
	}
	p.round = wholeQueue
	return true
}

// closeChanges forgets the changes that all plans have been compared with. If
// some have not, it keeps the last of each node, and so the work of a pass with
// many left over is bounded by the nodes.
func (e *engine) closeChanges() {
	p := &e.plans
	p.logBase += uint64(len(p.log))
	if !p.behind {
		for id := range p.all[:p.n] {
			p.all[id].checked = 0
		}
		p.log = p.log[:0]
		p.anywhere, p.put, p.round, p.nextRound = 0, 0, wholeQueue, Never
		return
	}
	if p.round == wholeQueue {
		p.round = p.sweepFrom
	}
	if len(p.kept) <= len(p.log) {
		p.kept = append(p.kept[:0], make([]int32, len(p.log)+len(p.log)/2+1)...)
	}
	// kept[i]: of the first i changes so many are the last of their node.
	p.only.Clear()
	for i := len(p.log) - 1; i >= 0; i-- {
		p.kept[i+1] = 0
		if n := p.log[i]; !p.only.Has(n) {
			p.only.Add(n)
			p.kept[i+1] = 1
		}
	}
	p.kept[0] = 0
	for i, n := range p.log {
		if p.kept[i+1] > 0 {
			p.log[p.kept[i]] = n
		}
		p.kept[i+1] += p.kept[i]
	}
	for id := range p.all[:p.n] {
		x := &p.all[id]
		x.checked = int(p.kept[min(x.checked, len(p.log))])
	}
	p.anywhere, p.round = int(p.kept[p.anywhere]), int(p.kept[p.round])
	p.log = p.log[:p.kept[len(p.log)]]
	p.put = len(p.log)
	p.logBase -= uint64(p.put)
	p.nextRound = e.now.Add(roundPause)
}

// visitChanges visits what passes left over.
func (e *engine) visitChanges(c *codec) {
	p := &e.plans
	log := p.log[:p.put]
	list(c, &log, num[topology.NodeID])
	num(c, &p.anywhere)
	num(c, &p.round)
	num(c, &p.nextRound)
	if !c.reading || c.err != nil {
		return
	}
	p.log, p.put = log, len(log)
	sound := p.anywhere >= 0 && p.anywhere <= p.put && (p.round == wholeQueue || p.round >= 0 && p.round <= p.put)
	for _, n := range log {
		sound = sound && n >= 0 && int(n) < len(e.nodes)
	}
	if !sound {
		c.fail("changes that plans wait for")
	}
}
