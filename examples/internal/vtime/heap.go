package vtime

import "github.com/berth-sched/berth/scheduler"

// An end is when a job's own work is done. It is stale if the job's stay is no
// longer seq.
type end struct {
	at  scheduler.Time
	job int32
	seq uint32
}

func (e end) before(o end) bool { return e.at < o.at || e.at == o.at && e.job < o.job }

// heap is a binary heap, earliest first, equal times by job.
type heap []end

func (h *heap) push(e end) {
	*h = append(*h, e)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *heap) pop() end {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(s); c++ {
			if s[c].before(s[least]) {
				least = c
			}
		}
		if least == i {
			return top
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}
