package scheduler

import (
	"strconv"
	"time"
)

// A DependencyFate says what became of a condition.
type DependencyFate uint8

// Fates of a condition.
const (
	// DependencyOpen can still come true.
	DependencyOpen DependencyFate = iota
	// DependencyMet has come true, and stays so.
	DependencyMet
	// DependencyFailed cannot come true any more.
	DependencyFailed
)

// A DependencyWait is one condition of the dependency of a waiting job.
type DependencyWait struct {
	DependencyTerm
	// Fate says whether it holds.
	Fate DependencyFate
	// State of the job that it is on: as it is, or as it ended; StateNone of a
	// singleton and of a job that is not known.
	State JobState
	// At is when the condition holds at the latest if that job goes as it can
	// and not worse: the end of its time limit, or that of its plan; of a
	// DependAfter, when it comes true. Never if unknown.
	At Time
	// Others is the number of jobs that a singleton waits for, and Behind the
	// first of them.
	Others int
	// Behind has the least id of those jobs.
	Behind JobID
}

// dependencyOf lists the conditions of a waiting job.
func (e *engine) dependencyOf(j *job) []DependencyWait {
	var out []DependencyWait
	for at := j.depend.first; at > 0; {
		t := &e.depends.terms[at-1]
		at = t.next
		w := DependencyWait{DependencyTerm: t.DependencyTerm, Fate: t.fate, State: t.ended, At: t.at}
		if t.Kind == DependSingleton && t.fate == DependencyOpen {
			for _, x := range e.depends.singles.groups[j.nameKey()] {
				if x.id >= j.id {
					break
				}
				if w.Others++; w.Others == 1 {
					w.Behind = x.id
				}
			}
		}
		if t.on >= 0 {
			o := &e.jobs.rows[t.on]
			w.State = o.state
			switch {
			case t.Kind == DependAfter:
				if w.At == Never && o.state == StatePending && o.plan > 0 {
					w.At = o.start.Add(t.Delay)
				}
			case o.running(), o.plan > 0:
				w.At = o.end
			}
		}
		out = append(out, w)
	}
	return out
}

// explainDependency says what a job's dependency waits for. What would let the
// job start now is to depend on nothing, if its nodes are free.
func (e *engine) explainDependency(x *Explanation, j *job) {
	if !j.depend.blocks() {
		return
	}
	x.Dependency, x.AnyDependency = e.dependencyOf(j), j.depend.any
	nodes := ""
	for i := range x.Changes {
		nodes = x.Changes[i].Nodes
	}
	x.Changes = nil
	n := len(x.Funnel)
	free := n > 0 && x.Funnel[n-1].Stage == StageTopology && x.Topology == nil
	if free && len(x.Limits) == 0 && j.begin <= e.now && j.flags&(flagHeldUser|flagHeldAdmin) == 0 {
		x.Changes = []Change{{Text: "if it depended on nothing", Nodes: nodes}}
	}
}

// appendDependency appends a line for each condition that is not met.
func (e *Explanation) appendDependency(b []byte) []byte {
	if len(e.Dependency) == 0 {
		return b
	}
	indent := "  waits for "
	switch {
	case e.Reason == ReasonDependencyNever && e.AnyDependency:
		b = append(b, "  can never start, none of these can come true any more:\n"...)
		indent = "    "
	case e.Reason == ReasonDependencyNever:
		b = append(b, "  can never start:\n"...)
		indent = "    it wanted "
	case e.AnyDependency && len(e.Dependency) > 1:
		b = append(b, "  waits for one of these:\n"...)
		indent = "    "
	}
	for i := range e.Dependency {
		w := &e.Dependency[i]
		if w.Fate == DependencyMet || w.Fate == DependencyOpen && e.Reason == ReasonDependencyNever {
			continue
		}
		b = w.appendText(append(b, indent...), e.Now)
		b = append(b, '\n')
	}
	return b
}

// dependencyWords complete "job 12 …".
var dependencyWords = [dependencyKinds]string{
	DependAfterAny: "to end", DependAfterOK: "to end well", DependAfterNotOK: "to fail", DependAfterCorr: "to end well",
}

// appendText appends the condition and how far it is: "job 12 to end well
// (RUNNING, ends in 5m0s at the latest)".
func (w *DependencyWait) appendText(b []byte, now Time) []byte {
	if w.Kind == DependSingleton {
		b = append(b, "the earlier jobs of its user and name to end ("...)
		b = strconv.AppendInt(b, int64(w.Others), 10)
		b = append(b, ", the first is job "...)
		return append(strconv.AppendUint(b, uint64(w.Behind), 10), ')')
	}
	b = strconv.AppendUint(append(b, "job "...), uint64(w.Job), 10)
	b = append(b, ' ')
	switch {
	case w.Kind != DependAfter:
		b = append(b, dependencyWords[w.Kind]...)
	case w.Delay == 0:
		b = append(b, "to start"...)
	default:
		b = append(append(append(b, "to have started "...), w.Delay.String()...), " ago"...)
	}
	b = append(b, " ("...)
	b = append(b, w.State.String()...)
	if w.At != Never && w.Fate == DependencyOpen {
		in := w.At.Sub(now).Round(time.Second).String()
		switch {
		case w.Kind == DependAfter && w.State == StatePending:
			b = append(append(b, ", planned for in "...), in...)
		case w.Kind == DependAfter:
			b = append(append(b, ", in "...), in...)
		case w.State == StatePending:
			b = append(append(b, ", its plan ends in "...), in...)
		default:
			b = append(append(append(b, ", ends in "...), in...), " at the latest"...)
		}
	}
	return append(b, ')')
}

// AppendDependency appends what a job waits for; see View.
func (v *view) AppendDependency(dst []byte, id JobID) []byte {
	r := v.e.jobs.find(id)
	if r < 0 {
		return dst
	}
	j := &v.e.jobs.rows[r]
	first := true
	for at := j.depend.first; at > 0; {
		t := &v.e.depends.terms[at-1]
		at = t.next
		if t.fate == DependencyMet {
			continue
		}
		if !first {
			d := Dependency{Any: j.depend.any}
			dst = append(dst, d.separator())
		}
		first = false
		dst = t.append(dst)
		if t.fate == DependencyFailed {
			dst = append(dst, "(failed)"...)
		} else {
			dst = append(dst, "(unfulfilled)"...)
		}
	}
	return dst
}
