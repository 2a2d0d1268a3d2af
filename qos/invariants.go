package qos

import (
	"fmt"

	"github.com/berth-sched/berth/gres"
)

// check walks the books and panics at the first counter that is not the sum of
// what is charged: in use, running and committed by charges, nodes by nodes,
// history of an account at least that of its children. Tests and invariants
// builds call it.
func (l *Ledger) check() {
	b := &l.books
	running := make([]int64, len(b.rows))
	use := make([]int64, len(b.use))
	commit := make([]wide, len(b.commit))
	nodes := make([]map[int32]int32, len(b.rows))
	for i := range b.charges {
		c := &b.charges[i]
		if !c.live {
			continue
		}
		hold := b.held(ChargeID(i))
		rows, _ := l.rowsOf(c.assoc, c.qos)
		for _, r := range rows {
			running[r]++
			for k, n := range hold {
				at := int(r)*b.k + k
				use[at] += n
				commit[at] = commit[at].add(wideOf(committed(n, secondsOf(c.left), c.factor)))
			}
			if nodes[r] == nil {
				nodes[r] = make(map[int32]int32)
			}
			for _, n := range c.nodes {
				nodes[r][n]++
			}
		}
	}
	for r := range b.rows {
		if refs := b.rows[r].refs; refs != 0 {
			use[r*b.k+int(gres.Node)] = int64(len(nodes[r]))
			t := &b.refs[refs-1]
			for i, n := range t.node {
				if n >= 0 && t.count[i] != nodes[r][n] {
					panic(fmt.Sprintf("qos: row %d: node %d has %d jobs, %d are charged", r, n, t.count[i], nodes[r][n]))
				}
			}
		}
		if b.rows[r].running != running[r] {
			panic(fmt.Sprintf("qos: row %d: %d running, %d are charged", r, b.rows[r].running, running[r]))
		}
	}
	for i := range use {
		if b.use[i] != use[i] || b.commit[i] != commit[i] {
			panic(fmt.Sprintf("qos: row %d kind %d: %d in use and %v committed, %d and %v are charged",
				i/b.k, i%b.k, b.use[i], b.commit[i], use[i], commit[i]))
		}
	}
	l.checkTree()
}

// checkTree compares the counters of accounts with those of their children.
func (l *Ledger) checkTree() {
	b := &l.books
	for id := range l.assocs {
		a := &l.assocs[id]
		if !a.live || a.first == 0 {
			continue
		}
		var submitted, accruing int64
		for c := a.first; c != 0; c = l.assocs[c].next {
			submitted += b.rows[l.assocs[c].row].submitted
			accruing += b.rows[l.assocs[c].row].accruing
		}
		r := &b.rows[a.row]
		if r.submitted < submitted || r.accruing < accruing {
			panic(fmt.Sprintf("qos: association %d: %d submitted and %d accruing, children have %d and %d",
				id, r.submitted, r.accruing, submitted, accruing))
		}
		for i := range b.history(a.row) {
			sum := wide{}
			for c := a.first; c != 0; c = l.assocs[c].next {
				if h := b.history(l.assocs[c].row); h != nil {
					sum = sum.add(h[i])
				}
			}
			if b.history(a.row)[i].less(sum) {
				panic(fmt.Sprintf("qos: association %d: history %d is below that of its children", id, i))
			}
		}
	}
}
