package qos

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
)

// Flags are the flags of a QOS.
//
// Source: sacctmgr(1), QOS flags; spec/qos.md 6.
type Flags uint16

// The flags.
const (
	DenyOnLimit           Flags = 1 << iota // refuse at submission what is over a limit
	EnforceUsageThreshold                   // hold jobs whose fair share is below UsageThreshold
	NoReserve                               // plan no start for jobs that wait
	NoDecay                                 // usage of the QOS does not decay
	OverPartQOS                             // limits of the job QOS beat those of the partition QOS
	PartitionMaxNodes                       // jobs may exceed the partition's MaxNodes
	PartitionMinNodes                       // jobs may go below its MinNodes
	PartitionTimeLimit                      // jobs may exceed its MaxTime
	Relative                                // limits are percentages
	RequiresReservation                     // only jobs with a reservation
	UsageFactorSafe                         // UsageFactor counts in checks of minutes
)

var flagNames = [...]string{
	"DenyOnLimit", "EnforceUsageThreshold", "NoReserve", "NoDecay", "OverPartQOS", "PartitionMaxNodes",
	"PartitionMinNodes", "PartitionTimeLimit", "Relative", "RequiresReservation", "UsageFactorSafe",
}

// AppendFlags appends the names of f in alphabetical order of Slurm's list,
// separated by commas.
func AppendFlags(dst []byte, f Flags) []byte {
	start := len(dst)
	for i, name := range flagNames {
		if f>>i&1 == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, name...)
	}
	return dst
}

// ParseFlags applies a list of flag names to old, as sacctmgr does: "A,B" sets
// just these, "+A,B" adds, "-A" takes away, "-1" clears all. Names are read in
// any case. Errors are *[ParseError].
func ParseFlags(old Flags, text string) (Flags, error) {
	if text == "-1" {
		return 0, nil
	}
	op, off := byte('='), 0
	if text != "" && (text[0] == '+' || text[0] == '-') {
		op, off = text[0], 1
		off += strings.IndexFunc(text[1:]+"x", func(r rune) bool { return r != '=' })
	}
	var f Flags
next:
	for word := range strings.SplitSeq(text[off:], ",") {
		for i, name := range flagNames {
			if strings.EqualFold(word, name) {
				f |= 1 << i
				off += len(word) + 1
				continue next
			}
		}
		return old, &ParseError{text, off, ErrUnknownName}
	}
	switch op {
	case '+':
		return old | f, nil
	case '-':
		return old &^ f, nil
	}
	return f, nil
}

// Attributes are what a QOS says beside its limits.
type Attributes struct {
	Flags       Flags
	Priority    uint32  // for the multifactor sum; default 0
	UsageFactor float64 // multiplies what jobs are charged; default 1; 0 is free
	LimitFactor float64 // multiplies GrpTRES and MaxTRES of associations; 0 is unset
	// GraceTime is how long a preempted job may go on. Default: 0.
	GraceTime time.Duration
	// PreemptExemptTime is how long a job runs before it may be preempted;
	// negative is unset, the cluster's own applies. Default: unset.
	PreemptExemptTime time.Duration
	// PreemptMode is the mode for jobs of this QOS, in Slurm's words; "" or
	// "cluster" is the cluster's own.
	PreemptMode string
	// Preempt lists the QOS whose jobs this one may preempt, ascending.
	Preempt []QOSID
}

// quality is a row of the QOS table.
type quality struct {
	name string
	attr Attributes
	set  limits      // as configured
	eff  limits      // as enforced: percentages turned into amounts
	row  int32       // counters of the whole QOS; 0: never used
	of   gres.Vector // what a Relative QOS is a part of; nil: the cluster
	part bool        // a partition uses it
	live bool
}

// compile computes the limits in force. Percentages apply to amounts in use
// and per job, not to minutes, jobs or time.
func (q *quality) compile(total gres.Vector) {
	q.eff = q.set
	if q.attr.Flags&Relative == 0 {
		return
	}
	if q.of != nil {
		total = q.of
	}
	for _, m := range [...]Limit{GrpTRES, MaxTRESPerJob, MaxTRESPerNode, MaxTRESPerUser, MaxTRESPerAccount, MinTRESPerJob} {
		f := q.set.fam[m.family()]
		if f == nil {
			continue
		}
		v := append(gres.Vector(nil), f.val...)
		for k, pct := range v {
			if pct != gres.Unlimited {
				// ⌊min(pct, 100) · total / 100⌋ without overflow.
				pct = min(pct, 100)
				v[k] = total[k]/100*pct + total[k]%100*pct/100
			}
		}
		q.eff.setVector(m, v)
	}
}

// AddQOS adds a QOS without limits.
func (l *Ledger) AddQOS(name string) (QOSID, error) {
	if name == "" {
		return 0, fmt.Errorf("qos: add QOS: empty name: %w", ErrValue)
	}
	if l.qosByID[name] != 0 {
		return 0, fmt.Errorf("qos: add QOS %q: %w", name, ErrExists)
	}
	l.configure()
	id := QOSID(len(l.qos))
	l.qos = append(l.qos, quality{name: name, live: true,
		attr: Attributes{UsageFactor: 1, PreemptExemptTime: -1}})
	l.qosByID[name] = id
	return id, nil
}

// FindQOS returns the QOS of that name, 0 if there is none.
func (l *Ledger) FindQOS(name string) QOSID { return l.qosByID[name] }

// AppendQOS appends the numbers of all QOS, ascending.
func (l *Ledger) AppendQOS(dst []QOSID) []QOSID {
	for i := range l.qos {
		if l.qos[i].live {
			dst = append(dst, QOSID(i))
		}
	}
	return dst
}

// QOSName returns the name of a QOS, "" if there is none.
func (l *Ledger) QOSName(id QOSID) string {
	if !l.validQOS(id) {
		return ""
	}
	return l.qos[id].name
}

func (l *Ledger) validQOS(id QOSID) bool {
	return id > 0 && int(id) < len(l.qos) && l.qos[id].live
}

// QOS returns what a QOS says beside its limits. The Preempt slice must not be
// changed. It panics if there is no such QOS.
func (l *Ledger) QOS(id QOSID) Attributes { return l.quality(id).attr }

func (l *Ledger) quality(id QOSID) *quality {
	if !l.validQOS(id) {
		panic("qos: no such QOS")
	}
	return &l.qos[id]
}

// SetQOS replaces what a QOS says beside its limits. Running jobs keep the
// UsageFactor they started with; jobs of a QOS that becomes NoDecay or ceases
// to be keep their usage as it is at that moment.
func (l *Ledger) SetQOS(id QOSID, a Attributes) error {
	if !l.validQOS(id) {
		return fmt.Errorf("qos: modify QOS %d: %w", id, ErrUnknownName)
	}
	q := &l.qos[id]
	if err := q.checkAttributes(a); err != nil {
		return fmt.Errorf("qos: modify QOS %q: %w", q.name, err)
	}
	for _, p := range a.Preempt {
		if !l.validQOS(p) {
			return fmt.Errorf("qos: modify QOS %q: preempt %d: %w", q.name, p, ErrUnknownName)
		}
	}
	l.configure()
	if q.attr.Flags&NoDecay != a.Flags&NoDecay {
		l.books.rescale(q.row, a.Flags&NoDecay != 0)
	}
	a.Preempt = append([]QOSID(nil), a.Preempt...)
	q.attr = a
	q.compile(l.total)
	return nil
}

func (q *quality) checkAttributes(a Attributes) error {
	switch {
	case !(a.UsageFactor >= 0) || math.IsInf(a.UsageFactor, 0):
		return fmt.Errorf("UsageFactor %v: %w", a.UsageFactor, ErrValue)
	case !(a.LimitFactor >= 0) || math.IsInf(a.LimitFactor, 0):
		return fmt.Errorf("LimitFactor %v: %w", a.LimitFactor, ErrValue)
	case a.GraceTime < 0:
		return fmt.Errorf("GraceTime %v: %w", a.GraceTime, ErrValue)
	}
	return nil
}

// RenameQOS gives a QOS another name; its number, jobs and usage stay.
func (l *Ledger) RenameQOS(id QOSID, name string) error {
	switch {
	case !l.validQOS(id):
		return fmt.Errorf("qos: rename QOS %d: %w", id, ErrUnknownName)
	case name == "":
		return fmt.Errorf("qos: rename QOS %q: empty name: %w", l.qos[id].name, ErrValue)
	case name == l.qos[id].name:
		return nil
	case l.qosByID[name] != 0:
		return fmt.Errorf("qos: rename QOS %q to %q: %w", l.qos[id].name, name, ErrExists)
	}
	delete(l.qosByID, l.qos[id].name)
	l.qos[id].name = name
	l.qosByID[name] = id
	return nil
}

// DeleteQOS removes a QOS that no job has. It leaves the lists of associations
// and of other QOS.
func (l *Ledger) DeleteQOS(id QOSID) error {
	if !l.validQOS(id) {
		return fmt.Errorf("qos: delete QOS %d: %w", id, ErrUnknownName)
	}
	q := &l.qos[id]
	if !l.books.quiet(q.row) {
		return fmt.Errorf("qos: delete QOS %q: %w", q.name, ErrBusy)
	}
	l.configure()
	l.books.release(q.row)
	delete(l.qosByID, q.name)
	l.qos[id] = quality{}
	for i := range l.qos {
		if p := l.qos[i].attr.Preempt; len(p) > 0 {
			l.qos[i].attr.Preempt = without(p, id)
		}
	}
	for i := range l.assocs {
		a := &l.assocs[i]
		if a.defQOS == id {
			a.defQOS = 0
		}
		if a.access != nil {
			a.access = a.access.without(id)
		}
	}
	return nil
}

func without(list []QOSID, id QOSID) []QOSID {
	var kept []QOSID
	for _, q := range list {
		if q != id {
			kept = append(kept, q)
		}
	}
	return kept
}

// AttachPartition says that a partition has id as its QOS. total is what the
// partition's nodes have, of which a Relative QOS is a part; nil is the
// cluster. A Relative QOS belongs to one partition and to no job.
func (l *Ledger) AttachPartition(id QOSID, total gres.Vector) error {
	if !l.validQOS(id) {
		return fmt.Errorf("qos: attach QOS %d: %w", id, ErrUnknownName)
	}
	q := &l.qos[id]
	if q.attr.Flags&Relative != 0 && q.part {
		return fmt.Errorf("qos: attach QOS %q: %w", q.name, ErrRelative)
	}
	l.configure()
	q.part = true
	if total != nil {
		q.of = l.schema.NewVector()
		copyVector(q.of, total)
	}
	q.compile(l.total)
	return nil
}

// DetachPartition takes back [Ledger.AttachPartition].
func (l *Ledger) DetachPartition(id QOSID) {
	q := l.quality(id)
	q.part, q.of = false, nil
	q.compile(l.total)
}
