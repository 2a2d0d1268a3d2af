package gres

// layCores stores in cores the cores, among the candidates of the last
// evaluation, that carry cpus CPUs.
//
// Source: spec/cores.md 4.2 to 4.4.
func (s *Scratch) layCores(cores []uint64, sh *Shape, r *Request, cpus int) Refusal {
	v := r.threads(sh)
	l := layout{sh: sh, v: v, c: r.perTask(), need: cpus, apart: r.TasksPerCore == 1 && r.perTask() > v}
	l.left = l.c
	block := r.Dist == DistBlock || r.Unit == UnitCPU || r.PlaneSize > 0
	f := RefuseNone
	switch {
	case block:
		f = s.layBlock(cores, &l)
	default:
		f = s.layCyclic(cores, &l, int(r.TasksPerSocket))
	}
	if f != RefuseNone {
		return f
	}
	if r.Unit == UnitSocket {
		for q := range sh.sockets {
			lo, hi := q*sh.perSocket, (q+1)*sh.perSocket
			if countRange(cores, lo, hi) > 0 {
				for k := lo; k < hi; k++ {
					cores[k>>6] |= 1 << (k & 63) & sh.usable[k>>6]
				}
			}
		}
	}
	return RefuseNone
}

// A layout is what layBlock and layCyclic work on.
type layout struct {
	sh   *Shape
	v, c int // usable CPUs of a core, CPUs of a task
	need int // CPUs wanted
	// apart says that tasks do not share cores: the core that completes a
	// task carries only the rest of it, left.
	apart bool
	left  int
}

// carry books one core.
func (l *layout) carry() {
	k := l.v
	if l.apart {
		k = min(k, l.left)
		if l.left -= k; l.left == 0 {
			l.left = l.c
		}
	}
	l.need -= k
}

// takeLowest moves the lowest candidate core of socket q to cores; ok is
// false if the socket has none.
func (s *Scratch) takeLowest(cores []uint64, sh *Shape, q int) (ok bool) {
	if s.count[q] == 0 {
		return false
	}
	k := nextBit(s.cand, q*sh.perSocket)
	s.cand[k>>6] &^= 1 << (k & 63)
	cores[k>>6] |= 1 << (k & 63)
	s.count[q]--
	return true
}

// layCyclic goes round the sockets, or fills them task by task.
func (s *Scratch) layCyclic(cores []uint64, l *layout, perSock int) Refusal {
	s.countSockets(l.sh)
	if perSock > 0 {
		s.capSockets(l, perSock*l.c)
	} else if l.c > 1 {
		s.fillSockets(cores, l)
	}
	for l.need > 0 {
		progress := false
		for q := range s.count {
			if l.need > 0 && s.takeLowest(cores, l.sh, q) {
				l.carry()
				progress = true
			}
		}
		if !progress {
			return RefuseHold
		}
	}
	return RefuseNone
}

// capSockets holds every socket at most CPUs while enough remain, then drops
// whole sockets, low ones first.
func (s *Scratch) capSockets(l *layout, most int) {
	sh, total := l.sh, s.sumCount()*l.v
	for q := range s.count {
		if over := s.count[q]*l.v - most; over > 0 && total > l.need {
			k := min(over, total-l.need) / l.v
			dropHighest(s.cand, q*sh.perSocket, (q+1)*sh.perSocket, k)
			s.count[q] -= k
			total -= k * l.v
		}
	}
	for q := range s.count {
		if k := s.count[q] * l.v; k > 0 && total-k >= l.need {
			clearRange(s.cand, q*sh.perSocket, (q+1)*sh.perSocket)
			s.count[q] = 0
			total -= k
		}
	}
}

// fillSockets fills socket after socket with whole tasks.
func (s *Scratch) fillSockets(cores []uint64, l *layout) {
	for q := range s.count {
		room := s.count[q] * l.v / l.c * l.c
		for l.need > 0 && room > 0 && s.takeLowest(cores, l.sh, q) {
			l.carry()
			room -= l.v
		}
	}
}

// layBlock takes the socket that holds what is needed with the least to spare,
// or else the fullest, until there is enough.
func (s *Scratch) layBlock(cores []uint64, l *layout) Refusal {
	s.countSockets(l.sh)
	q := ceilDiv(l.need, l.v)
	if l.apart {
		q = l.need / l.c * ceilDiv(l.c, l.v)
	}
	s.chooseBoards(l.sh, q)
	for left := q; left > 0; {
		best := -1
		for k := range s.count {
			if s.count[k] == 0 {
				continue
			}
			switch {
			case best < 0,
				s.count[k] >= q && (s.count[best] < q || s.count[k] < s.count[best]),
				s.count[k] < q && s.count[best] < q && s.count[k] > s.count[best]:
				best = k
			}
		}
		if best < 0 {
			return RefuseHold
		}
		for left > 0 && s.takeLowest(cores, l.sh, best) {
			left--
		}
	}
	return RefuseNone
}

// chooseBoards leaves candidates only on the boards to use: the fewest that
// hold q cores; of such the fewest sockets, then the fewest free cores, then
// the last combination.
func (s *Scratch) chooseBoards(sh *Shape, q int) {
	if sh.boards <= 1 || sh.boards > 8 {
		return
	}
	per := sh.sockets / sh.boards
	best, bestBoards, bestSockets, bestFree := 0, 0, 0, 0
	for set := 1; set < 1<<sh.boards; set++ {
		boards, free := 0, 0
		for b := range sh.boards {
			if set>>b&1 == 0 {
				continue
			}
			boards++
			for k := b * per; k < (b+1)*per; k++ {
				free += s.count[k]
			}
		}
		if free < q {
			continue
		}
		sockets := s.socketsFor(set, per, q)
		better := best == 0 || boards < bestBoards ||
			boards == bestBoards && (sockets < bestSockets || sockets == bestSockets && free <= bestFree)
		if better {
			best, bestBoards, bestSockets, bestFree = set, boards, sockets, free
		}
	}
	for k := range s.count {
		if best != 0 && best>>(k/per)&1 == 0 {
			clearRange(s.cand, k*sh.perSocket, (k+1)*sh.perSocket)
			s.count[k] = 0
		}
	}
}

// socketsFor returns the least number of sockets of the boards in set that
// hold q cores.
func (s *Scratch) socketsFor(set, per, q int) int {
	n, seen := 0, uint64(0)
	for q > 0 {
		most := -1
		for k := range s.count {
			if set>>(k/per)&1 != 0 && seen>>k&1 == 0 && (most < 0 || s.count[k] > s.count[most]) {
				most = k
			}
		}
		if most < 0 {
			break
		}
		seen |= 1 << most
		q -= s.count[most]
		n++
	}
	return n
}
