package preempt

import (
	"errors"
	"fmt"
	"strings"
)

// Type says by what jobs preempt each other. Slurm: PreemptType.
type Type uint8

// The types.
const (
	// TypeNone: nobody preempts.
	TypeNone Type = iota
	// TypePartition: jobs of partitions of a higher tier preempt. Slurm:
	// preempt/partition_prio.
	TypePartition
	// TypeQOS: jobs preempt those of the QOS that theirs lists. Slurm:
	// preempt/qos.
	TypeQOS
)

// ErrSyntax says that a text is none of the grammar's words.
var ErrSyntax = errors.New("unknown word")

// ErrConflict says that words exclude each other or miss one.
var ErrConflict = errors.New("words do not go together")

// ParseType reads "", "none", "partition_prio" or "qos", with or without
// Slurm's "preempt/" in front.
func ParseType(text string) (Type, error) {
	switch strings.TrimPrefix(strings.ToLower(text), "preempt/") {
	case "", "none":
		return TypeNone, nil
	case "partition_prio":
		return TypePartition, nil
	case "qos":
		return TypeQOS, nil
	}
	return TypeNone, fmt.Errorf("preempt: read type: %q: %w", text, ErrSyntax)
}

// String returns Slurm's word without "preempt/".
func (t Type) String() string {
	switch t {
	case TypePartition:
		return "partition_prio"
	case TypeQOS:
		return "qos"
	}
	return "none"
}

// Mode is what happens to a victim. Slurm: PreemptMode.
type Mode uint8

// The modes, in rising order of what a heterogeneous job prefers.
const (
	// ModeOff: the job is no victim.
	ModeOff Mode = iota
	// ModeCancel: the job ends.
	ModeCancel
	// ModeRequeue: the job ends and waits again.
	ModeRequeue
	// ModeSuspend: the job stops and keeps its memory and devices.
	ModeSuspend
)

// String returns Slurm's word, upper case.
func (m Mode) String() string {
	switch m {
	case ModeCancel:
		return "CANCEL"
	case ModeRequeue:
		return "REQUEUE"
	case ModeSuspend:
		return "SUSPEND"
	}
	return "OFF"
}

// Modes is a value of PreemptMode: a mode and its modifiers.
type Modes struct {
	// Mode of victims.
	Mode Mode
	// Set says that a mode was written, OFF included. Without it the cluster's
	// holds.
	Set bool
	// Gang lets suspended jobs go on in turn. GANG.
	Gang bool
	// Priority demands that the preemptor's priority is not below. PRIORITY.
	Priority bool
	// Within lets jobs of one QOS preempt each other. WITHIN.
	Within bool
}

// ParseModes reads words separated by commas, in any case: OFF, CANCEL,
// REQUEUE, SUSPEND, CLUSTER (as if unset), GANG, PRIORITY, WITHIN. An empty text
// is unset. Two modes in one text are ErrConflict.
func ParseModes(text string) (Modes, error) {
	var m Modes
	if text == "" {
		return m, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		mode := ModeOff
		switch strings.ToUpper(word) {
		case "GANG":
			m.Gang = true
			continue
		case "PRIORITY":
			m.Priority = true
			continue
		case "WITHIN":
			m.Within = true
			continue
		case "CLUSTER":
			continue
		case "OFF":
		case "CANCEL":
			mode = ModeCancel
		case "REQUEUE":
			mode = ModeRequeue
		case "SUSPEND":
			mode = ModeSuspend
		default:
			return Modes{}, fmt.Errorf("preempt: read mode %q: %q: %w", text, word, ErrSyntax)
		}
		if m.Set && m.Mode != mode {
			return Modes{}, fmt.Errorf("preempt: read mode %q: %q: %w", text, word, ErrConflict)
		}
		m.Mode, m.Set = mode, true
	}
	return m, nil
}

// AppendModes appends m as ParseModes reads it.
func AppendModes(dst []byte, m Modes) []byte {
	from := len(dst)
	add := func(on bool, word string) {
		if !on {
			return
		}
		if len(dst) > from {
			dst = append(dst, ',')
		}
		dst = append(dst, word...)
	}
	add(m.Set, m.Mode.String())
	add(m.Gang, "GANG")
	add(m.Priority, "PRIORITY")
	add(m.Within, "WITHIN")
	return dst
}
