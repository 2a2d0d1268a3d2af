package topology

// nextRun returns the best run, or -1. Of the lightest class that is the
// smallest sufficient one, else the one with the most CPUs; the lowest on ties.
//
// A scan looks for a sufficient run only if the widest could be one, and only if
// something was taken, or the class is another, since the last scan found none.
func (s *Scratch) nextRun() int {
	for {
		for len(s.heap) > 0 && s.runs[s.heap[0]].nodes == 0 {
			s.dropTop()
		}
		if len(s.heap) > 0 {
			break
		}
		if !s.heapRuns() {
			return -1
		}
	}
	top := s.heap[0]
	class := s.runWeight(&s.runs[top])
	if s.widest >= s.needed() && s.widestCPUs >= s.cpuRem && (s.scanned != s.tally || s.scannedClass != class) {
		if best := s.smallestSufficient(class); best >= 0 {
			return best
		}
		s.scanned, s.scannedClass = s.tally, class
	}
	s.dropTop()
	return int(top)
}

// smallestSufficient returns the run of a class with the fewest CPUs that can
// finish the job, the lowest on ties, or -1, and bounds what is left anew.
func (s *Scratch) smallestSufficient(class int64) int {
	best := -1
	s.widest, s.widestCPUs = 0, 0
	for i := range s.runs {
		c := &s.runs[i]
		if c.nodes == 0 {
			continue
		}
		s.widest, s.widestCPUs = max(s.widest, int(c.nodes)), max(s.widestCPUs, c.cpus)
		if c.cpus >= s.cpuRem && (best < 0 || c.cpus < s.runs[best].cpus) && s.runWeight(c) == class && s.sufficient(c) {
			best = i
		}
	}
	s.res.Steps += int64(len(s.runs))
	return best
}

// heapRuns makes heap a heap of the best unused runs: lightest, then most CPUs,
// then lowest. As each gives a node or more, those for the nodes still allowed
// are enough; if some give none, it is made again. It reports whether there are
// any.
func (s *Scratch) heapRuns() bool {
	s.heap = s.heap[:0]
	room := max(s.maxRem, 1)
	for i := range s.runs {
		if s.runs[i].nodes == 0 {
			continue
		}
		switch {
		case len(s.heap) < room:
			s.heap = append(s.heap, int32(i))
			if len(s.heap) == room {
				s.heapify(true)
			}
		case s.runBefore(int32(i), s.heap[0], false):
			s.heap[0] = int32(i)
			s.sinkRun(0, true)
		}
	}
	s.heapify(false)
	s.res.Steps += int64(len(s.runs))
	return len(s.heap) > 0
}

func (s *Scratch) heapify(worst bool) {
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sinkRun(i, worst)
	}
}

// sinkRun moves heap[i] down; the best run is at the root, or the worst.
func (s *Scratch) sinkRun(i int, worst bool) {
	h := s.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && s.runBefore(h[c+1], h[c], worst) {
			c++
		}
		if !s.runBefore(h[c], h[i], worst) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// runBefore reports whether run i is better than j, or worse.
func (s *Scratch) runBefore(i, j int32, worst bool) bool {
	if worst {
		i, j = j, i
	}
	a, b := &s.runs[i], &s.runs[j]
	if x, y := s.runWeight(a), s.runWeight(b); x != y {
		return x < y
	}
	if a.cpus != b.cpus {
		return a.cpus > b.cpus
	}
	return i < j
}

func (s *Scratch) dropTop() {
	n := len(s.heap) - 1
	s.heap[0] = s.heap[n]
	s.heap = s.heap[:n]
	s.sinkRun(0, false)
}
