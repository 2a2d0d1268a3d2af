package gres

// linkState is Slurm's state of link-aware picking on one node.
type linkState struct {
	ready bool
	score []int32 // by device
	visit []int16 // devices in visiting order
}

// linked reports whether links steer the picker.
func (pk *picker) linked() bool { return pk.p.tracked && pk.gr.links && pk.r.Links == LinkCompat }

// startLinks resets scores and order.
func (pk *picker) startLinks() {
	l := &pk.s.sel.links
	l.ready = true
	l.score, l.visit = l.score[:0], l.visit[:0]
	for x := range pk.gr.devs {
		l.score = append(l.score, 0)
		l.visit = append(l.visit, int16(x))
	}
}

// startSecondPhase gives every device the sum of its links to those that the
// job holds already.
func (pk *picker) startSecondPhase(g *Grant) {
	if !pk.linked() {
		return
	}
	pk.startLinks()
	l := &pk.s.sel.links
	for i := range g.Devices {
		e := &g.Devices[i]
		if int(e.Group) != pk.p.group || e.Device < 0 {
			continue
		}
		for x := range l.score {
			if x != int(e.Device) {
				l.score[x] += pk.gr.devs[x].links[e.Device]
			}
		}
	}
	l.sort()
}

// sort orders the visit by score, lowest first, stable.
func (l *linkState) sort() {
	for i := 1; i < len(l.visit); i++ {
		for j := i; j > 0 && l.score[l.visit[j-1]] > l.score[l.visit[j]]; j-- {
			l.visit[j-1], l.visit[j] = l.visit[j], l.visit[j-1]
		}
	}
}

// takeLinked takes up to n devices that match, each time from the front of an
// order that the links of the devices taken push linked ones back in. That
// the first position is passed over after each device is Slurm's.
//
// Source: spec/gres.md 11.2.
func (pk *picker) takeLinked(match func(int) bool, n int64) int64 {
	l := &pk.s.sel.links
	if !l.ready || len(l.visit) != len(pk.gr.devs) {
		pk.startLinks()
	}
	var got int64
	for i := 0; i < len(l.visit) && got < n; {
		x := int(l.visit[i])
		if pk.left(x) <= 0 || !match(x) {
			i++
			continue
		}
		pk.s.sel.taken[x]++
		got++
		for y := range l.score {
			if y != x && pk.p.units[y] > 0 {
				l.score[y] += pk.gr.devs[y].links[x]
			}
		}
		l.sort()
		i = 1
	}
	return got
}

// perJobLinked takes the m devices of used sockets and any that are best
// linked to one device.
func (pk *picker) perJobLinked(m int64) Refusal {
	n := int64(0)
	for x := range pk.gr.devs {
		if q := pk.sockets(x); pk.left(x) > 0 && (q == 0 || q&pk.used != 0) {
			pk.s.sel.taken[x] = 1
			n++
		}
	}
	if n == 0 {
		if pk.r.Has(EnforceBinding) || pk.take(inOther, 0, 1) == 0 {
			return RefuseNotEnough
		}
		return RefuseNone
	}
	if n > m {
		pk.prune(n, m)
	}
	return RefuseNone
}

// prune drops from the taken devices those least linked to the best one until
// m of n remain.
func (pk *picker) prune(n, m int64) {
	taken := pk.s.sel.taken
	best, high := -1, int32(-1<<31)
	for a := range taken {
		for b := a + 1; taken[a] > 0 && b < len(taken); b++ {
			if k := pk.gr.devs[a].links[b]; taken[b] > 0 && k > high {
				best, high = a, k
			}
		}
	}
	for ; n > m; n-- {
		worst := -1
		for x := range taken {
			if taken[x] > 0 && x != best && (worst < 0 || pk.gr.devs[best].links[x] < pk.gr.devs[best].links[worst]) {
				worst = x
			}
		}
		taken[worst] = 0
	}
}
