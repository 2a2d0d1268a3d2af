package scheduler

import (
	"strconv"
	"strings"
	"time"
)

// A DependencyKind is what must have happened to another job.
type DependencyKind uint8

// The kinds of dependencies. Source: sbatch(1), --dependency.
const (
	// DependAfter: the job has started or was cancelled, Delay ago.
	DependAfter DependencyKind = iota
	// DependAfterAny: the job has ended.
	DependAfterAny
	// DependAfterOK: the job has ended with exit code 0.
	DependAfterOK
	// DependAfterNotOK: the job has ended otherwise.
	DependAfterNotOK
	// DependAfterCorr: the task of the same index has ended with exit code 0;
	// the job, if it has no tasks.
	DependAfterCorr
	// DependAfterBurstBuffer: the job has ended and its files are staged out.
	DependAfterBurstBuffer
	// DependExpand: what this job gets is added to the other.
	DependExpand
	// DependSingleton: no earlier job of the same user and name is left.
	DependSingleton
	dependencyKinds
)

var dependencyNames = [dependencyKinds]string{
	"after", "afterany", "afterok", "afternotok", "aftercorr", "afterburstbuffer", "expand", "singleton",
}

// String returns sbatch's word.
func (k DependencyKind) String() string { return enumName(dependencyNames[:], uint8(k)) }

// A Dependency is a list of conditions, all of which must hold, or any.
type Dependency struct {
	// Any says that one condition is enough (separated by ?).
	Any bool
	// Terms are the conditions in their order.
	Terms []DependencyTerm
}

// A DependencyTerm is one condition on one job; a singleton has no job.
type DependencyTerm struct {
	Kind DependencyKind
	// Job that the condition is on; 0 for a singleton.
	Job JobID
	// Task is the array task, AllTasks for all of them and for a plain job.
	Task int32
	// Delay after the start of Job, for DependAfter; whole minutes.
	Delay time.Duration
}

// AllTasks is the task of a condition on a whole array or a plain job.
const AllTasks = -1

// A DependencyError says which part of a dependency could not be read. It is an
// [ErrDependency].
type DependencyError struct {
	// Text is the whole dependency.
	Text string
	// Offset of the first bad byte, 0 <= Offset <= len(Text).
	Offset int
	// Why says what was wanted.
	Why string
}

// Error returns the text, the offset and what was wanted.
func (e *DependencyError) Error() string {
	return "scheduler: parse dependency " + strconv.Quote(e.Text) + " at " + strconv.Itoa(e.Offset) + ": " + e.Why
}

// Unwrap returns ErrDependency.
func (e *DependencyError) Unwrap() error { return ErrDependency }

// ParseDependency reads "afterok:12:13,after:14+5,singleton", or the same with ?
// instead of commas; a list without a kind, "12:13", is afterany. Several jobs
// of a kind become several terms. Case does not matter. Errors are
// [*DependencyError].
//
// Source: sbatch(1), --dependency.
func ParseDependency(text string) (Dependency, error) {
	p := dependParser{text: text}
	var d Dependency
	comma := false
	for {
		if err := p.kind(&d); err != nil {
			return Dependency{}, err
		}
		switch {
		case p.at == len(text):
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

// A dependParser walks over a dependency.
type dependParser struct {
	text string
	at   int
}

func (p *dependParser) fail(at int, why string) error { return &DependencyError{p.text, at, why} }

// peek returns the next byte, 0 at the end.
func (p *dependParser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// take steps over c if it comes next.
func (p *dependParser) take(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// number reads decimal digits up to most.
func (p *dependParser) number(most uint64, what string) (uint64, error) {
	start := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	n, err := strconv.ParseUint(p.text[start:p.at], 10, 63)
	switch {
	case p.at == start:
		return 0, p.fail(start, what+" is wanted")
	case err != nil || n > most:
		return 0, p.fail(start, what+" is too large")
	}
	return n, nil
}

// kind reads one kind with its jobs.
func (p *dependParser) kind(d *Dependency) error {
	t := DependencyTerm{Kind: DependAfterAny, Task: AllTasks}
	if c := p.peek(); c < '0' || c > '9' {
		start := p.at
		for c := p.peek(); c|0x20 >= 'a' && c|0x20 <= 'z'; c = p.peek() {
			p.at++
		}
		if t.Kind = dependencyKind(p.text[start:p.at]); t.Kind == dependencyKinds {
			return p.fail(start, "no such kind of dependency")
		}
		if t.Kind == DependSingleton {
			d.Terms = append(d.Terms, t)
			return nil
		}
		if !p.take(':') {
			return p.fail(p.at, "a job is wanted")
		}
	}
	for {
		if err := p.job(&t); err != nil {
			return err
		}
		d.Terms = append(d.Terms, t)
		if !p.take(':') {
			return nil
		}
	}
}

// dependencyKind is the kind of a word, dependencyKinds if it is none.
func dependencyKind(word string) DependencyKind {
	for k, n := range dependencyNames {
		if strings.EqualFold(word, n) {
			return DependencyKind(k)
		}
	}
	return dependencyKinds
}

// Largest values: Slurm's MaxArraySize cannot be larger, and no sum of an
// instant and a delay overflows.
const (
	maxDependTask    = 4_000_000
	maxDependMinutes = 1 << 24
)

// job reads a job's number with its task and delay.
func (p *dependParser) job(t *DependencyTerm) error {
	start := p.at
	n, err := p.number(1<<63-1, "a job number")
	if err == nil && n == 0 {
		err = p.fail(start, "a job number is wanted")
	}
	if err != nil {
		return err
	}
	t.Job, t.Task, t.Delay = JobID(n), AllTasks, 0
	if p.take('_') && !p.take('*') {
		if n, err = p.number(maxDependTask, "an array index"); err != nil {
			return err
		}
		t.Task = int32(n)
	}
	if p.peek() == '+' {
		if t.Kind != DependAfter {
			return p.fail(p.at, "a delay is for after only")
		}
		p.at++
		if n, err = p.number(maxDependMinutes, "a number of minutes"); err != nil {
			return err
		}
		t.Delay = time.Duration(n) * time.Minute
	}
	return nil
}

// AppendDependency appends d in sbatch's grammar, one term at a time.
// [ParseDependency] reads it back.
func AppendDependency(dst []byte, d Dependency) []byte {
	for i := range d.Terms {
		if i > 0 {
			dst = append(dst, d.separator())
		}
		dst = d.Terms[i].append(dst)
	}
	return dst
}

func (d *Dependency) separator() byte {
	if d.Any {
		return '?'
	}
	return ','
}

func (t *DependencyTerm) append(dst []byte) []byte {
	dst = append(dst, t.Kind.String()...)
	if t.Kind == DependSingleton {
		return dst
	}
	dst = strconv.AppendUint(append(dst, ':'), uint64(t.Job), 10)
	if t.Task != AllTasks {
		dst = strconv.AppendInt(append(dst, '_'), int64(t.Task), 10)
	}
	if t.Delay > 0 {
		dst = strconv.AppendInt(append(dst, '+'), int64(t.Delay/time.Minute), 10)
	}
	return dst
}
