package preempt

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parameters are the words of Slurm's PreemptParameters.
type Parameters struct {
	// ReorderCount is how often the order of candidates is tried anew.
	// Default: 1. Slurm: reorder_count.
	ReorderCount int32
	// StrictOrder moves only the decisive candidate to the front when the
	// order is tried anew. Slurm: strict_order.
	StrictOrder bool
	// YoungestFirst orders candidates by start, latest first. Slurm:
	// youngest_first.
	YoungestFirst bool
	// Exempt says that MinExemptPriority is set.
	Exempt bool
	// MinExemptPriority: jobs of higher priority are no victims. Slurm:
	// min_exempt_priority.
	MinExemptPriority uint32
	// ReclaimLicenses lets jobs be victims for their licences alone. Slurm:
	// reclaim_licenses.
	ReclaimLicenses bool
	// SendUserSignal replaces the first SIGTERM by the victim's own signal.
	// Slurm: send_user_signal.
	SendUserSignal bool
	// SuspendGrace is the time between SIGTSTP and SIGSTOP. Default: 2 s.
	// Slurm: suspend_grace_time.
	SuspendGrace time.Duration
}

// DefaultParameters are Slurm's for an empty PreemptParameters.
func DefaultParameters() Parameters {
	return Parameters{ReorderCount: 1, SuspendGrace: 2 * time.Second}
}

// ParseParameters reads words separated by commas, in any case, over the
// defaults. Errors name the word; ErrSyntax.
func ParseParameters(text string) (Parameters, error) {
	p := DefaultParameters()
	if text == "" {
		return p, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		name, value, valued := strings.Cut(strings.ToLower(strings.TrimSpace(word)), "=")
		n, err := strconv.ParseUint(value, 10, 31)
		numbered := valued && err == nil
		switch {
		case name == "reorder_count" && numbered:
			p.ReorderCount = int32(n)
		case name == "min_exempt_priority" && valued:
			v, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return p, fmt.Errorf("preempt: read parameters: %q: %w", word, ErrSyntax)
			}
			p.Exempt, p.MinExemptPriority = true, uint32(v)
		case name == "suspend_grace_time" && numbered:
			p.SuspendGrace = time.Duration(n) * time.Second
		case name == "strict_order" && !valued:
			p.StrictOrder = true
		case name == "youngest_first" && !valued:
			p.YoungestFirst = true
		case name == "reclaim_licenses" && !valued:
			p.ReclaimLicenses = true
		case name == "send_user_signal" && !valued:
			p.SendUserSignal = true
		default:
			return p, fmt.Errorf("preempt: read parameters: %q: %w", word, ErrSyntax)
		}
	}
	return p, nil
}

// AppendParameters appends what of p differs from the defaults, as
// ParseParameters reads it.
func AppendParameters(dst []byte, p *Parameters) []byte {
	from := len(dst)
	word := func(s string) {
		if len(dst) > from {
			dst = append(dst, ',')
		}
		dst = append(dst, s...)
	}
	d := DefaultParameters()
	if p.ReorderCount != d.ReorderCount {
		word("reorder_count=")
		dst = strconv.AppendInt(dst, int64(p.ReorderCount), 10)
	}
	if p.StrictOrder {
		word("strict_order")
	}
	if p.YoungestFirst {
		word("youngest_first")
	}
	if p.Exempt {
		word("min_exempt_priority=")
		dst = strconv.AppendUint(dst, uint64(p.MinExemptPriority), 10)
	}
	if p.ReclaimLicenses {
		word("reclaim_licenses")
	}
	if p.SendUserSignal {
		word("send_user_signal")
	}
	if p.SuspendGrace != d.SuspendGrace {
		word("suspend_grace_time=")
		dst = strconv.AppendInt(dst, int64(p.SuspendGrace/time.Second), 10)
	}
	return dst
}
