package sbatch

import (
	"strconv"
	"strings"
	"time"
)

// A Signal is what --signal asks for.
type Signal struct {
	// Number is the signal's number on Linux, 1 to 64.
	Number int32
	// Before is how long before the end of the limit; 60 s if not given.
	Before time.Duration
	// Batch: only the batch shell gets it (B:). Otherwise only steps do.
	Batch bool
	// Reservation: the job may run on nodes of a reservation that has not
	// begun (R:).
	Reservation bool
}

// signalNames are Linux's signals in order of their numbers.
var signalNames = [...]string{"", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
	"ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH",
	"IO", "PWR", "SYS"}

// ParseSignal reads "USR1", "10@300", "B:SIGUSR2@30", "RB:TERM". Errors are
// [*GrammarError].
//
// Source: sbatch(1), --signal.
func ParseSignal(text string) (Signal, error) {
	p := scanner{grammar: "signal", text: text, end: len(text)}
	s := Signal{Before: time.Minute}
	if k := strings.IndexByte(text, ':'); k >= 0 {
		for ; p.at < k; p.at++ {
			switch text[p.at] | 0x20 {
			case 'b':
				s.Batch = true
			case 'r':
				s.Reservation = true
			default:
				return Signal{}, p.fail(p.at, "B or R is wanted before the colon")
			}
		}
		p.at++
	}
	start := p.at
	name := strings.ToUpper(p.until("@"))
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		if n < 1 || n > 64 {
			return Signal{}, p.fail(start, "a signal is between 1 and 64")
		}
		s.Number = int32(n)
	} else {
		name = strings.TrimPrefix(name, "SIG")
		for i, n := range signalNames {
			if n != "" && n == name {
				s.Number = int32(i)
			}
		}
		if s.Number == 0 {
			return Signal{}, p.fail(start, "no such signal")
		}
	}
	if p.take('@') {
		n, err := p.number(65535, "a number of seconds up to 65535")
		if err != nil {
			return Signal{}, err
		}
		s.Before = time.Duration(n) * time.Second
	}
	if p.at != p.end {
		return Signal{}, p.fail(p.at, "nothing may follow the time")
	}
	return s, nil
}

// AppendSignal appends s in sbatch's grammar. [ParseSignal] reads it back.
func AppendSignal(dst []byte, s Signal) []byte {
	if s.Reservation {
		dst = append(dst, 'R')
	}
	if s.Batch {
		dst = append(dst, 'B')
	}
	if s.Batch || s.Reservation {
		dst = append(dst, ':')
	}
	if int(s.Number) < len(signalNames) {
		dst = append(dst, signalNames[s.Number]...)
	} else {
		dst = strconv.AppendInt(dst, int64(s.Number), 10)
	}
	return strconv.AppendInt(append(dst, '@'), int64(s.Before/time.Second), 10)
}
