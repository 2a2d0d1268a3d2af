package qos

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Unlimited is the time limit that never ends. In text it is UNLIMITED.
const Unlimited time.Duration = math.MaxInt64

// ErrSyntax is the cause in a [ParseError] of text that is no time limit.
var ErrSyntax = errors.New("invalid syntax")

// ErrRange is the cause in a [ParseError] of a time limit of more than about
// 292 years, which is as long as a time.Duration goes.
var ErrRange = errors.New("value out of range")

// A ParseError says which part of a text could not be read. It unwraps to its
// cause.
type ParseError struct {
	Text   string // the whole input
	Offset int    // byte offset of the first bad byte, 0 <= Offset <= len(Text)
	Err    error  // ErrSyntax, ErrRange or ErrUnknownName
}

// Error returns the input, the offset and the cause on one line.
func (e *ParseError) Error() string {
	return "qos: parse " + strconv.Quote(e.Text) + " at " + strconv.Itoa(e.Offset) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// ParseTimeLimit reads a time limit in any of Slurm's forms:
//
//	minutes
//	minutes:seconds
//	hours:minutes:seconds
//	days-hours
//	days-hours:minutes
//	days-hours:minutes:seconds
//	UNLIMITED, INFINITE or -1
//
// Words are read in any case; a field may be larger than its clock would show
// ("90:00" is ninety minutes). The result is exact to the second; see
// [RoundMinutes] for what Slurm makes of it. Errors are *[ParseError]. It does
// not allocate but for the error.
//
// Source: sbatch(1), --time; sacctmgr(1), MaxWall.
func ParseTimeLimit(text string) (time.Duration, error) {
	if text == "-1" || strings.EqualFold(text, "UNLIMITED") || strings.EqualFold(text, "INFINITE") {
		return Unlimited, nil
	}
	var field [3]int64
	days, off := int64(0), 0
	n, end, err := digits(text, 0)
	if err != nil {
		return 0, &ParseError{text, end, err}
	}
	dashed := end < len(text) && text[end] == '-'
	if dashed {
		days, off = n, end+1
		if n, end, err = digits(text, off); err != nil {
			return 0, &ParseError{text, end, err}
		}
	}
	field[0] = n
	count := 1
	for end < len(text) {
		if text[end] != ':' || count == len(field) {
			return 0, &ParseError{text, end, ErrSyntax}
		}
		if field[count], end, err = digits(text, end+1); err != nil {
			return 0, &ParseError{text, end, err}
		}
		count++
	}
	h, m, s := field[0], field[1], field[2]
	if !dashed && count < 3 {
		h, m, s = 0, field[0], field[1]
	}
	d, ok := clock(days, h, m, s)
	if !ok {
		return 0, &ParseError{text, len(text), ErrRange}
	}
	return d, nil
}

// digits reads a run of at least one digit of text from off on.
func digits(text string, off int) (n int64, end int, err error) {
	end = off
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		if n > math.MaxInt64/10-1 {
			return 0, end, ErrRange
		}
		n = n*10 + int64(text[end]-'0')
		end++
	}
	if end == off {
		return 0, end, ErrSyntax
	}
	return n, end, nil
}

// clock adds up the fields; ok is false if the sum is no Duration below Unlimited.
func clock(days, h, m, s int64) (_ time.Duration, ok bool) {
	const most = int64(Unlimited / time.Second)
	sec := int64(0)
	for _, f := range [...]struct{ n, unit int64 }{{days, 86400}, {h, 3600}, {m, 60}, {s, 1}} {
		if f.n > (most-sec-1)/f.unit {
			return 0, false
		}
		sec += f.n * f.unit
	}
	return time.Duration(sec) * time.Second, true
}

// AppendTimeLimit appends d as Slurm prints a time limit: "[days-]hh:mm:ss",
// or "UNLIMITED". Parts of a second are dropped and a negative d is written as
// zero. [ParseTimeLimit] reads it back. It does not allocate if dst has room.
func AppendTimeLimit(dst []byte, d time.Duration) []byte {
	if d == Unlimited {
		return append(dst, "UNLIMITED"...)
	}
	sec := int64(max(d, 0) / time.Second)
	if days := sec / 86400; days > 0 {
		dst = strconv.AppendInt(dst, days, 10)
		dst = append(dst, '-')
	}
	dst = appendTwo(dst, sec/3600%24)
	dst = append(dst, ':')
	dst = appendTwo(dst, sec/60%60)
	dst = append(dst, ':')
	return appendTwo(dst, sec%60)
}

func appendTwo(dst []byte, n int64) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}

// RoundMinutes returns d rounded up to whole minutes, the grain of Slurm's time
// limits. Unlimited stays.
func RoundMinutes(d time.Duration) time.Duration {
	if d > Unlimited-time.Minute {
		return Unlimited
	}
	return (d + time.Minute - 1) / time.Minute * time.Minute
}
