package outcome

import (
	"cmp"
	"slices"
	"strconv"
)

// An Eviction says what jobs of one kind took from jobs of another.
type Eviction struct {
	By, Of     string // kinds: the QOS, or the partition where all have one QOS
	Jobs       int    // evictions: a job may go more than once
	Suspended  int
	Preemptors int // jobs that others made room for
	// LostGPUSeconds and LostCPUSeconds are work that is done again: what the
	// victims held since they started.
	LostGPUSeconds, LostCPUSeconds float64
	// PausedSeconds is how long victims were suspended.
	PausedSeconds float64
}

// evictions groups who preempted whom.
func (f *Figures) evictions(r *Run) {
	row := make(map[uint64]int, len(r.Jobs))
	byQOS := false
	for i := range r.Jobs {
		row[r.Jobs[i].ID] = i
		byQOS = byQOS || r.Jobs[i].QOS != r.Jobs[0].QOS
	}
	kind := func(i int, ok bool) string {
		switch {
		case !ok:
			return "(gone)"
		case byQOS:
			return r.Jobs[i].QOS
		}
		return r.Jobs[i].Partition
	}
	type pair struct{ by, of string }
	index := make(map[pair]int)
	taken := make(map[pair]map[uint64]bool)
	at := func(by uint64, of int) *Eviction {
		i, ok := row[by]
		p := pair{kind(i, ok), kind(of, true)}
		k, ok := index[p]
		if !ok {
			k = len(f.Evictions)
			index[p], taken[p] = k, make(map[uint64]bool)
			f.Evictions = append(f.Evictions, Eviction{By: p.by, Of: p.of})
		}
		if taken[p][by] = true; len(taken[p]) > f.Evictions[k].Preemptors {
			f.Evictions[k].Preemptors = len(taken[p])
		}
		return &f.Evictions[k]
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		for k := range j.Stays {
			s := &j.Stays[k]
			if !s.Evicted {
				continue
			}
			e := at(s.For, i)
			e.Jobs++
			gpu, cpu := s.held()
			ran := seconds(s.End - s.Start)
			e.LostGPUSeconds += float64(gpu) / 1000 * ran
			e.LostCPUSeconds += float64(cpu) / 1000 * ran
		}
		for _, p := range j.Pauses {
			e := at(p.For, i)
			e.Suspended++
			e.PausedSeconds += seconds(p.End - p.Start)
		}
	}
	slices.SortFunc(f.Evictions, func(a, b Eviction) int {
		return cmp.Or(cmp.Compare(b.LostGPUSeconds, a.LostGPUSeconds), cmp.Compare(b.LostCPUSeconds, a.LostCPUSeconds), cmp.Compare(a.By, b.By), cmp.Compare(a.Of, b.Of))
	})
	for i := range f.Evictions {
		f.LostGPUSeconds += f.Evictions[i].LostGPUSeconds
		f.LostCPUSeconds += f.Evictions[i].LostCPUSeconds
	}
}

func (f *Figures) evictionTable() Table {
	t := Table{Title: "Who preempted whom", Head: []string{"preempted", "by", "evictions", "for jobs", "lost GPU hours", "lost CPU hours", "suspensions", "suspended"}}
	for i, e := range f.Evictions {
		if i == mostRows {
			t.Rows = append(t.Rows, []string{strconv.Itoa(len(f.Evictions)-i) + " more", "", "", "", "", "", "", ""})
			break
		}
		t.Rows = append(t.Rows, []string{orNone(e.Of), orNone(e.By), strconv.Itoa(e.Jobs), strconv.Itoa(e.Preemptors), hours(e.LostGPUSeconds),
			hours(e.LostCPUSeconds), strconv.Itoa(e.Suspended), Span(e.PausedSeconds)})
	}
	return t
}

func orNone(name string) string {
	if name == "" {
		return "(none)"
	}
	return name
}

// Promises says how first plans compare with actual starts.
type Promises struct {
	Jobs        int // that had a plan before they started
	Early, Late int // that started before, or after it
	// Latest is the longest delay after a plan, MeanEarly how much earlier than
	// planned jobs started, on the mean over all with a plan; seconds.
	Latest, MeanEarly float64
}

func (f *Figures) promises(r *Run) {
	p := &f.Promises
	var early float64
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if !j.Promised || len(j.Stays) == 0 {
			continue
		}
		p.Jobs++
		switch d := j.Start() - j.Promise; {
		case d < 0:
			p.Early++
			early -= seconds(d)
		case d > 0:
			p.Late++
			p.Latest = max(p.Latest, seconds(d))
		}
	}
	p.MeanEarly = share(early, float64(p.Jobs))
}
