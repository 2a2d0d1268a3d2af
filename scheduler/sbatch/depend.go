package sbatch

import (
	"strconv"
	"strings"
	"time"
)

// A DependencyKind is what must have happened.
type DependencyKind uint8

// The kinds of dependencies. Source: spec/backfill.md 5.
const (
	After DependencyKind = iota
	AfterAny
	AfterOK
	AfterNotOK
	AfterCorr
	AfterBurstBuffer
	Expand
	Singleton
)

var dependencyNames = [...]string{"after", "afterany", "afterok", "afternotok", "aftercorr", "afterburstbuffer", "expand", "singleton"}

// String returns sbatch's word.
func (k DependencyKind) String() string { return dependencyNames[k] }

// A Dependency is a list of conditions, all of which must hold, or any.
type Dependency struct {
	// Any says that one condition is enough (separated by ?).
	Any   bool
	Terms []DependencyTerm
}

// A DependencyTerm is one condition on one job; Singleton has no job.
type DependencyTerm struct {
	Kind DependencyKind
	Job  uint64
	// Task is the array task, AllTasks for all of them.
	Task int32
	// Delay is the time after the start of Job, for After; whole minutes.
	Delay time.Duration
}

// AllTasks is the task of a condition on a whole array or a plain job.
const AllTasks = -1

// ParseDependency reads "afterok:12:13,after:14+5,singleton" or the same with ?
// instead of commas; a list without a kind, "12:13", is afterany. Several jobs
// of a kind become several terms. Errors are [*GrammarError].
//
// Source: sbatch(1), --dependency.
func ParseDependency(text string) (Dependency, error) {
	p := scanner{grammar: "dependency", text: text, end: len(text)}
	var d Dependency
	comma := false
	for {
		if err := p.dependency(&d); err != nil {
			return Dependency{}, err
		}
		switch {
		case p.at == p.end:
			return d, nil
		case p.peek() == ',' && d.Any, p.peek() == '?' && comma:
			return Dependency{}, p.fail(p.at, "commas and question marks cannot be mixed")
		case p.take(','):
			comma = true
		case p.take('?'):
			d.Any = true
		default:
			return Dependency{}, p.fail(p.at, "a comma or a question mark is wanted")
		}
	}
}

// dependency reads one kind with its jobs.
func (p *scanner) dependency(d *Dependency) error {
	t := DependencyTerm{Kind: AfterAny, Task: AllTasks}
	start := p.at
	if c := p.peek(); c < '0' || c > '9' {
		word := p.until(":,?")
		kind := -1
		for i, n := range dependencyNames {
			if strings.EqualFold(word, n) {
				kind = i
			}
		}
		if kind < 0 {
			return p.fail(start, "no such kind of dependency")
		}
		t.Kind = DependencyKind(kind)
		if t.Kind == Singleton {
			d.Terms = append(d.Terms, t)
			return nil
		}
		if !p.take(':') {
			return p.fail(p.at, "a job is wanted")
		}
	}
	for {
		if err := p.dependencyJob(&t); err != nil {
			return err
		}
		d.Terms = append(d.Terms, t)
		if !p.take(':') {
			return nil
		}
	}
}

func (p *scanner) dependencyJob(t *DependencyTerm) error {
	start := p.at
	for ; p.peek() >= '0' && p.peek() <= '9'; p.at++ {
	}
	n, err := strconv.ParseUint(p.text[start:p.at], 10, 63)
	if err != nil || n == 0 {
		return p.fail(start, "a job number is wanted")
	}
	t.Job, t.Task, t.Delay = n, AllTasks, 0
	if p.take('_') {
		if p.take('*') {
			t.Task = AllTasks
		} else if t.Task, err = p.number(maxIndex, "an array index"); err != nil {
			return err
		}
	}
	if p.peek() == '+' {
		if t.Kind != After {
			return p.fail(p.at, "a delay is for after only")
		}
		p.at++
		m, err := p.number(1<<24, "a number of minutes")
		if err != nil {
			return err
		}
		t.Delay = time.Duration(m) * time.Minute
	}
	return nil
}

// AppendDependency appends d in sbatch's grammar, one term at a time.
// [ParseDependency] reads it back.
func AppendDependency(dst []byte, d Dependency) []byte {
	for i, t := range d.Terms {
		if i > 0 {
			if d.Any {
				dst = append(dst, '?')
			} else {
				dst = append(dst, ',')
			}
		}
		dst = append(dst, t.Kind.String()...)
		if t.Kind == Singleton {
			continue
		}
		dst = strconv.AppendUint(append(dst, ':'), t.Job, 10)
		if t.Task != AllTasks {
			dst = strconv.AppendInt(append(dst, '_'), int64(t.Task), 10)
		}
		if t.Delay > 0 {
			dst = strconv.AppendInt(append(dst, '+'), int64(t.Delay/time.Minute), 10)
		}
	}
	return dst
}
