package topology

import (
	"strconv"
	"strings"
	"time"
)

// DefaultSwitchWait is how long a job waits for few switches at most if
// max_switch_wait is not set.
const DefaultSwitchWait = 300 * time.Second

// maxWaitHours bounds each field of a wait: some 57 years.
const maxWaitHours = 500000

// SwitchLimit returns how long a job may wait for few switches: the smaller of
// the time it gave and the cluster's max_switch_wait, where 0 means "not given".
//
// Source: spec/topology.md 2.6.
func SwitchLimit(given, cluster time.Duration) time.Duration {
	if cluster <= 0 {
		cluster = DefaultSwitchWait
	}
	switch {
	case given == 0:
		return cluster
	case given < 0:
		return 0
	}
	return min(given, cluster)
}

// ParseSwitchWait reads the time of --switches=count@time: minutes,
// minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or
// days-hours:minutes:seconds. Errors are of type *[ParseError].
func ParseSwitchWait(text string) (time.Duration, error) {
	fail := func(at int) (time.Duration, error) {
		return 0, &ParseError{Text: text, Offset: at, Err: ErrSyntax}
	}
	days, rest, dashed := strings.Cut(text, "-")
	if !dashed {
		rest = text
	}
	at := len(text) - len(rest)
	var fields [3]time.Duration
	n := 0
	for part := range strings.SplitSeq(rest, ":") {
		v, err := strconv.ParseUint(part, 10, 31)
		if err != nil || n == 3 {
			return fail(at)
		}
		fields[n] = time.Duration(v)
		n++
		at += len(part) + 1
	}
	h, m, s := fields[0], fields[1], fields[2]
	if dashed {
		d, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return fail(0)
		}
		h += time.Duration(d) * 24
	} else if n < 3 {
		h, m, s = 0, fields[0], fields[1]
	}
	if h > maxWaitHours || m > maxWaitHours*60 || s > maxWaitHours*3600 {
		return 0, &ParseError{Text: text, Offset: 0, Err: ErrLimit}
	}
	return h*time.Hour + m*time.Minute + s*time.Second, nil
}

// AppendUnrolled applies TopologyParam=TopoMaxSizeUnroll=n to the range lo to
// hi: it appends the sizes to try, ascending, and nothing if the range is a
// single count. ok is false where Slurm refuses the submission as an invalid
// node count, because hi-lo is not below n. An implicit maximum is exempt: do
// not call it then.
//
// Source: spec/topology.md 1.5.
func AppendUnrolled(dst []int32, lo, hi, n int32) (_ []int32, ok bool) {
	if hi <= lo {
		return dst, true
	}
	if hi-lo >= n {
		return dst, false
	}
	for k := lo; k <= hi; k++ {
		dst = append(dst, k)
	}
	return dst, true
}
