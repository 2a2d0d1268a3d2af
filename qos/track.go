package qos

import "github.com/berth-sched/berth/gres"

// track says whether the nodes of a row that has no jobs are counted uniquely.
func (l *Ledger) track(r int32, unique bool) {
	b := &l.books
	if unique && b.rows[r].refs == 0 {
		b.refs = append(b.refs, nodeCounts{})
		b.rows[r].refs = int32(len(b.refs))
	}
	if b.rows[r].refs != 0 {
		b.refs[b.rows[r].refs-1].reset()
	}
	if !unique {
		// The node counts are left to the collector: limits on nodes seldom go.
		b.rows[r].refs = 0
	}
	b.useOf(r)[gres.Node] = 0
}

// retrack counts all nodes anew, after a limit on nodes came or went or an
// account moved. It costs O(owners + nodes of running jobs).
func (l *Ledger) retrack() {
	b := &l.books
	for i := range l.assocs {
		if a := &l.assocs[i]; a.row != 0 {
			l.track(a.row, hasNodes(a.own, GrpTRES))
		}
	}
	for i := range l.qos {
		if q := &l.qos[i]; q.row != 0 {
			l.track(q.row, hasNodes(&q.set, GrpTRES))
		}
	}
	for i, key := range b.pairs.keys {
		if key == 0 {
			continue
		}
		m := MaxTRESPerUser
		if key&1 != 0 {
			m = MaxTRESPerAccount
		}
		l.track(b.pairs.rows[i], hasNodes(&l.qos[key>>33].set, m))
	}
	for i := range b.charges {
		c := &b.charges[i]
		if !c.live {
			continue
		}
		rows, _ := l.rowsOf(c.assoc, c.qos)
		for _, r := range rows {
			b.addNodes(r, c.nodes, b.held(ChargeID(i))[gres.Node], 1)
		}
	}
}
