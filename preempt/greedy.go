package preempt

import "slices"

// A Trial is the caller's tentative state of the cluster: the preemptor and a
// stack of removed candidates. A search leaves it with nothing removed.
type Trial interface {
	// Remove takes candidate c's resources away.
	Remove(c int32)
	// Undo puts back the candidates removed last, n of them.
	Undo(n int)
	// Fits reports whether the preemptor fits now, and remembers the place for
	// Touches.
	Fits() bool
	// Touches returns the number of nodes of candidate c among those of the
	// last place found, or 1 for a candidate that helps otherwise (licences).
	Touches(c int32) int32
}

// A Search holds the memory of both searches. The zero value is ready.
type Search struct {
	order  []int32
	weight []int32
	marks  []bool
	best   []int32
	now    []int32
	sorted []int32
	keys   []uint64
}

// Greedy chooses victims as Slurm does (spec: preempt 5.1): candidates are
// removed in the given order until the preemptor fits; the order is tried anew
// up to reorders times with the decisive candidate first; those of the last try
// that touch the place found are the victims, in its order. With strict only the
// decisive one moves. It reports false, with nothing appended, if the preemptor
// does not fit even without all candidates. An answer true without victims says
// that it fits beside them all.
func (s *Search) Greedy(dst []int32, order []int32, reorders int, strict bool, t Trial) ([]int32, bool) {
	s.order = append(s.order[:0], order...)
	for pass := 0; ; pass++ {
		n, ok := s.tryInOrder(t)
		if !ok {
			t.Undo(n)
			return dst, false
		}
		// A list as short as the passes made is not tried again.
		if pass < reorders && n > pass {
			s.reorder(n, strict, t)
			t.Undo(n)
			continue
		}
		for _, c := range s.order[:n] {
			if t.Touches(c) > 0 {
				dst = append(dst, c)
			}
		}
		t.Undo(n)
		return dst, true
	}
}

// tryInOrder removes candidates until the preemptor fits, and returns how many.
func (s *Search) tryInOrder(t Trial) (int, bool) {
	if t.Fits() {
		return 0, true
	}
	for i, c := range s.order {
		t.Remove(c)
		if t.Fits() {
			return i + 1, true
		}
	}
	return len(s.order), false
}

// reorder puts the decisive candidate, the last of the first n, first, and
// unless strict sorts the others by how much they touch the place found.
func (s *Search) reorder(n int, strict bool, t Trial) {
	head := s.order[:n]
	decisive := head[n-1]
	copy(head[1:], head[:n-1])
	head[0] = decisive
	if strict {
		return
	}
	s.weight = s.weight[:0]
	for _, c := range head {
		s.weight = append(s.weight, t.Touches(c))
	}
	// Insertion keeps equal ones in order and needs no memory.
	for i := 2; i < n; i++ {
		for k := i; k > 1 && s.weight[k] > s.weight[k-1]; k-- {
			s.weight[k], s.weight[k-1] = s.weight[k-1], s.weight[k]
			head[k], head[k-1] = head[k-1], head[k]
		}
	}
}

// Suspended chooses victims to stop (spec: preempt 5.2): candidates are removed
// in order, by a Trial that frees their CPUs alone, until the preemptor fits.
func (s *Search) Suspended(dst []int32, order []int32, t Trial) ([]int32, bool) {
	s.order = append(s.order[:0], order...)
	n, ok := s.tryInOrder(t)
	if ok {
		for _, c := range s.order[:n] {
			if t.Touches(c) > 0 {
				dst = append(dst, c)
			}
		}
	}
	t.Undo(n)
	return dst, ok
}

// sortByKey orders candidates by key, ties by number.
func sortByKey(order []int32, keys []uint64) {
	slices.SortFunc(order, func(a, b int32) int {
		switch {
		case keys[a] < keys[b]:
			return -1
		case keys[a] > keys[b]:
			return 1
		}
		return int(a) - int(b)
	})
}

// AppendOrder appends the numbers of candidates in the order in which Slurm
// takes them: by keys, ties by number, which the caller gives in order of
// submission.
func AppendOrder(dst []int32, keys []uint64) []int32 {
	from := len(dst)
	for i := range keys {
		dst = append(dst, int32(i))
	}
	sortByKey(dst[from:], keys)
	return dst
}
