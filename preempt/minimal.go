package preempt

import "slices"

// ExactUpTo is the number of candidates up to which Minimal's answer is exact
// whatever its budget of steps.
const ExactUpTo = 16

// A Result says how good a set of victims is.
type Result struct {
	// Cost is the sum of the victims' costs.
	Cost int64
	// Bound is a cost that no set can be below; equal to Cost if Exact.
	Bound int64
	// Exact says that no set costs less, if removing more never breaks a fit.
	Exact bool
	// Trials is the number of times that Fits was asked.
	Trials int
}

// A Start is where Minimal begins.
type Start struct {
	// Victims is a cheap set to begin with; it need not make the preemptor
	// fit. See Slots.
	Victims []int32
	// Bound is a cost that no set can be below; 0 if unknown.
	Bound int64
	// Budget is the most steps, removals and trials together; beyond
	// ExactUpTo candidates the search ends there. Dropping goes on, so that the
	// answer is always irredundant.
	Budget int
}

// Minimal chooses victims of least total cost: an irredundant set, from which no
// victim can be left out. costs has a row for each candidate, none negative. It
// drops what is not needed, the dearest first, swaps single victims for cheaper
// candidates, and then branches and bounds over all candidates in order of cost.
// Ties go to lower numbers. It reports false, with nothing appended, if the
// preemptor does not fit even without all candidates; true without victims says
// that it fits beside them.
func (s *Search) Minimal(dst []int32, costs []int64, start Start, t Trial) ([]int32, Result, bool) {
	m := minimal{s: s, costs: costs, t: t, bound: start.Bound, budget: start.Budget}
	if m.fits() {
		return dst, Result{Exact: true, Trials: m.trials}, true
	}
	m.mark()
	if !m.first(start.Victims) {
		return dst, Result{Trials: m.trials}, false
	}
	m.drop()
	exact := true
	if m.cost() > m.bound {
		m.sort(m.dearest())
		for m.left() && m.swap() {
			m.drop()
		}
		exact = m.sort(m.cost()) && m.branch()
		m.drop()
	}
	res := Result{Cost: m.cost(), Exact: exact, Trials: m.trials}
	if res.Bound = res.Cost; !exact {
		res.Bound = min(max(m.bound, m.cheapest()), res.Cost)
		res.Exact = res.Bound == res.Cost
	}
	return append(dst, s.best...), res, true
}

// minimal is one run of Minimal. The search's best holds the set at hand, in
// order of cost.
type minimal struct {
	s      *Search
	costs  []int64
	t      Trial
	bound  int64
	budget int
	steps  int
	trials int
	loaded int
}

func (m *minimal) fits() bool {
	m.trials++
	m.steps++
	return m.t.Fits()
}

// left reports whether steps are left.
func (m *minimal) left() bool { return len(m.costs) <= ExactUpTo || m.steps < m.budget }

func (m *minimal) remove(c int32) {
	m.t.Remove(c)
	m.loaded++
	m.steps++
}

func (m *minimal) undo(n int) {
	m.t.Undo(n)
	m.loaded -= n
}

// sort orders the candidates that cost less than limit by cost, ties by number.
// It reports false if they are more than the steps left.
func (m *minimal) sort(limit int64) bool {
	s := m.s
	s.sorted = s.sorted[:0]
	for i, c := range m.costs {
		if c < limit {
			s.sorted = append(s.sorted, int32(i))
		}
	}
	if len(m.costs) > ExactUpTo && m.steps+len(s.sorted) > m.budget {
		return false
	}
	m.byCost(s.sorted)
	return true
}

// mark readies the marks of the candidates in the set at hand.
func (m *minimal) mark() {
	s := m.s
	if n := len(m.costs); cap(s.marks) < n {
		s.marks = make([]bool, n)
	} else {
		s.marks = s.marks[:n]
		clear(s.marks)
	}
}

// first finds a set that fits: the proposed one, or else it and a shortest
// prefix of the other candidates in order of cost.
func (m *minimal) first(proposed []int32) bool {
	s := m.s
	s.best = append(s.best[:0], proposed...)
	for _, c := range proposed {
		s.marks[c] = true
		m.remove(c)
	}
	from := len(s.best)
	if len(proposed) > 0 && m.fits() {
		m.undo(m.loaded)
		m.byCost(s.best)
		return true
	}
	s.sorted = s.sorted[:0]
	for i := range m.costs {
		s.sorted = append(s.sorted, int32(i))
	}
	m.byCost(s.sorted)
	for _, c := range s.sorted {
		if !s.marks[c] {
			s.best = append(s.best, c)
		}
	}
	for _, c := range s.best[from:] {
		m.remove(c)
	}
	if !m.fits() {
		m.undo(m.loaded)
		return false
	}
	// The shortest prefix, by halving: lo does not fit, hi does.
	lo, hi := from, len(s.best)
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		for m.loaded > mid {
			m.undo(m.loaded - mid)
		}
		for m.loaded < mid {
			m.remove(s.best[m.loaded])
		}
		if m.fits() {
			hi = mid
		} else {
			lo = mid
		}
	}
	m.undo(m.loaded)
	s.best = s.best[:hi]
	m.byCost(s.best)
	return true
}

// drop leaves out what is not needed, the dearest first, until nothing is.
func (m *minimal) drop() {
	s := m.s
	for again := true; again; {
		again = false
		for _, c := range s.best {
			m.remove(c)
		}
		s.now = s.now[:0] // needed ones, dearest first
		for i := len(s.best) - 1; i >= 0; i-- {
			c := s.best[i]
			m.undo(1 + len(s.now))
			for _, k := range s.now {
				m.remove(k)
			}
			if m.fits() {
				again = true
				continue
			}
			s.now = append(s.now, c)
			m.remove(c)
		}
		m.undo(m.loaded)
		s.best = s.best[:0]
		for i := len(s.now) - 1; i >= 0; i-- {
			s.best = append(s.best, s.now[i])
		}
	}
	clear(s.marks)
	for _, c := range s.best {
		s.marks[c] = true
	}
}

// swap replaces one victim by a cheaper candidate, and reports whether it could.
func (m *minimal) swap() bool {
	s := m.s
	for i := len(s.best) - 1; i >= 0 && m.left(); i-- {
		old := s.best[i]
		for k, c := range s.best {
			if k != i {
				m.remove(c)
			}
		}
		for _, c := range s.sorted {
			if m.costs[c] >= m.costs[old] || !m.left() {
				break
			}
			if s.marks[c] {
				continue
			}
			m.remove(c)
			ok := m.fits()
			m.undo(1)
			if ok {
				m.undo(m.loaded)
				s.best[i] = c
				m.byCost(s.best)
				return true
			}
		}
		m.undo(m.loaded)
	}
	return false
}

// branch searches all sets in order of cost for one below the best, and reports
// whether it came to an end within the budget.
func (m *minimal) branch() bool {
	m.s.now = m.s.now[:0]
	done := m.descend(0, 0)
	m.undo(m.loaded)
	return done
}

// descend extends the chosen ones, which do not fit, by candidates of the order
// from position at.
func (m *minimal) descend(at int, cost int64) bool {
	s := m.s
	small := len(m.costs) <= ExactUpTo
	for i := at; i < len(s.sorted); i++ {
		c := s.sorted[i]
		if cost+m.costs[c] >= m.cost() {
			return true // later ones cost no less
		}
		if !m.left() || !small && m.steps+len(s.sorted)-i > m.budget {
			return false
		}
		// Without the candidates before i the rest must suffice. A better set holds
		// none that costs more than the best one, so those in order are all.
		for _, k := range s.sorted[i:] {
			m.remove(k)
		}
		ok := m.fits()
		m.undo(len(s.sorted) - i)
		if !ok {
			return true
		}
		m.remove(c)
		s.now = append(s.now, c)
		done := true
		if m.fits() {
			s.best = append(s.best[:0], s.now...)
		} else {
			done = m.descend(i+1, cost+m.costs[c])
		}
		m.undo(1)
		s.now = s.now[:len(s.now)-1]
		if !done {
			return false
		}
	}
	return true
}

// cost is that of the set at hand.
func (m *minimal) cost() int64 {
	sum := int64(0)
	for _, c := range m.s.best {
		sum = addCost(sum, m.costs[c])
	}
	return sum
}

// cheapest is the least cost of any candidate: one at least must go.
func (m *minimal) cheapest() int64 { return slices.Min(m.costs) }

// dearest is the cost of the dearest victim of the set at hand.
func (m *minimal) dearest() int64 { return m.costs[m.s.best[len(m.s.best)-1]] }

// byCost sorts candidates by cost, ties by number.
func (m *minimal) byCost(list []int32) { m.s.keys = sortByCost(list, m.costs, m.s.keys) }

// addCost adds costs and stays at the largest number.
func addCost(a, b int64) int64 {
	if c := a + b; c >= a {
		return c
	}
	return 1<<63 - 1
}
