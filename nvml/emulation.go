package nvml

import (
	"strconv"
	"strings"

	"github.com/berth-sched/berth/gres"
)

// ParseEmulation reads the file by which Slurm emulates detected devices in
// tests: lines type|cpu_count|cpu_range|links|file[|uuid[|flags]], where
// (null) stands for nothing. CPU numbers are taken as cores. Comments begin
// with #. Errors are of type [*ParseError].
//
// Source: specification nvml.md 8.
func ParseEmulation(text string) ([]gres.Record, error) {
	var recs []gres.Record
	line := 0
	for s := range strings.SplitSeq(text, "\n") {
		line++
		s = strings.TrimSpace(s)
		if s == "" || s[0] == '#' {
			continue
		}
		r, token, err := emulated(strings.Split(s, "|"))
		if err != nil {
			return nil, &ParseError{File: "emulated devices", Line: line, Token: token, Err: err}
		}
		recs = append(recs, r)
	}
	return recs, nil
}

func emulated(f []string) (r gres.Record, token string, err error) {
	if len(f) < 5 || len(f) > 7 {
		return r, strings.Join(f, "|"), ErrSyntax
	}
	for i := range f {
		if f[i] == "(null)" {
			f[i] = ""
		}
	}
	r = gres.Record{Name: "gpu", Type: f[0], Count: 1, Detected: true}
	if r.Cores, err = cpuList(f[2]); err != nil {
		return r, f[2], err
	}
	if f[3] != "" {
		for n := range strings.SplitSeq(f[3], ",") {
			v, err := strconv.ParseInt(n, 10, 32)
			if err != nil {
				return r, n, ErrSyntax
			}
			r.Links = append(r.Links, int32(v))
		}
	}
	if f[4] != "" {
		r.Files = strings.Split(f[4], ",")
		r.Multiple = len(r.Files) > 1
	}
	if len(f) > 5 {
		r.UUID = f[5]
	}
	if len(f) > 6 {
		if r.Flags, err = gres.ParseRecordFlags(f[6]); err != nil {
			return r, f[6], err
		}
	}
	return r, "", nil
}
