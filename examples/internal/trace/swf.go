package trace

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// swfFields is the number of columns of the Standard Workload Format 2.2.
const swfFields = 18

// Columns of SWF that are read, from 0.
const (
	swfJob = iota
	swfSubmit
	swfWait
	swfRun
	swfProcs
	swfCPUTime
	swfMem
	swfReqProcs
	swfReqTime
	swfReqMem
	swfStatus
	swfUser
	swfGroup
	swfApp
	swfQueue
	swfPartition
	swfPreceding
)

func isSWF(head string) bool {
	if strings.HasPrefix(head, ";") {
		return true
	}
	f := strings.Fields(head)
	if len(f) != swfFields {
		return false
	}
	_, err := strconv.ParseInt(f[0], 10, 64)
	return err == nil
}

// readSWF reads the Standard Workload Format: a processor becomes a task of
// one CPU, user, group and queue numbers become names. Jobs that never ran
// (no run time, no processors) are left out and counted.
func readSWF(l lines) (*List, error) {
	list := new(List)
	for {
		s, err := l.nextFull()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		s = strings.TrimSpace(s)
		if s[0] == ';' {
			swfHeader(list, s)
			continue
		}
		if err := swfJobLine(list, &l, s); err != nil {
			return nil, err
		}
	}
}

func swfHeader(list *List, s string) {
	key, val, ok := strings.Cut(strings.TrimSpace(s[1:]), ":")
	if !ok {
		return
	}
	// "MaxNodes: 128 (16 of them I/O)" occurs: the first word counts.
	word, _, _ := strings.Cut(strings.TrimSpace(val), " ")
	n, err := parseCount(word, maxCount)
	if err != nil {
		return
	}
	switch key {
	case "MaxNodes":
		list.HeaderNodes = n
	case "MaxProcs":
		list.HeaderProcs = n
	}
}

func swfJobLine(list *List, l *lines, s string) error {
	f := strings.Fields(s)
	if len(f) != swfFields {
		why := fmt.Errorf("%w: %d fields, SWF has %d", ErrSyntax, len(f), swfFields)
		if strings.Count(s, ";") >= 10 {
			why = fmt.Errorf("%w: fields are apart by ';', SWF has blanks", ErrSyntax)
		}
		return l.errorf(s, why)
	}
	var v [swfFields]int64
	for i, tok := range f {
		n, err := swfNumber(i, tok)
		if err != nil {
			return l.errorf(tok, fmt.Errorf("field %d: %w", i+1, err))
		}
		v[i] = n
	}
	procs := v[swfReqProcs]
	if procs <= 0 {
		procs = v[swfProcs]
	}
	switch {
	case v[swfSubmit] < 0:
		return l.errorf(f[swfSubmit], fmt.Errorf("field %d: submit time: %w", swfSubmit+1, ErrNegative))
	case v[swfRun] < 0:
		list.skip("no run time", l.line)
		return nil
	case procs <= 0:
		list.skip("no processors", l.line)
		return nil
	}
	j := Job{
		ID: f[swfJob], Line: l.line,
		Submit: v[swfSubmit], Runtime: v[swfRun], Limit: max(v[swfReqTime], 0),
		Tasks: procs,
	}
	if v[swfReqMem] > 0 {
		j.MemPerCPUMiB = (v[swfReqMem] + 1023) / 1024 // KB per processor
	}
	if v[swfPreceding] > 0 {
		j.After = f[swfPreceding]
	}
	j.User = swfName("user", v[swfUser])
	j.Account = swfName("group", v[swfGroup])
	j.Partition = swfName("queue", v[swfQueue])
	list.Jobs = append(list.Jobs, j)
	return nil
}

// swfNumber reads one field; -1 says "not known" everywhere, other negative
// numbers are errors. Times are in microseconds.
func swfNumber(i int, tok string) (int64, error) {
	if tok == "-1" || tok == "-1.0" || tok == "-1.00" {
		return -1, nil
	}
	switch i {
	case swfSubmit, swfWait, swfRun, swfReqTime:
		return parseSeconds(tok)
	case swfCPUTime, swfMem, swfReqMem:
		n, err := parseSeconds(tok) // decimals occur
		return n / Second, err
	case swfProcs, swfReqProcs:
		return parseCount(tok, maxCount)
	}
	return parseCount(tok, 1<<62)
}

func swfName(kind string, n int64) string {
	if n < 0 {
		return ""
	}
	return kind + strconv.FormatInt(n, 10)
}

// readALCF reads the blank-separated form with a heading that was made of
// ALCF's public logs: name, submit, run time, nodes.
func readALCF(l lines) (*List, error) {
	list := new(List)
	head, err := l.nextFull()
	if err != nil {
		return nil, err
	}
	width := len(strings.Fields(head))
	for {
		s, err := l.nextFull()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		f := strings.Fields(s)
		if len(f) != width || len(f) < 4 {
			return nil, l.errorf(s, fmt.Errorf("%w: %d fields, the heading has %d", ErrSyntax, len(f), width))
		}
		j := Job{ID: f[0], Line: l.line}
		var errs [3]error
		j.Submit, errs[0] = parseSeconds(f[1])
		j.Runtime, errs[1] = parseSeconds(f[2])
		j.Nodes, errs[2] = parseCount(f[3], maxCount)
		for i, err := range errs {
			if err != nil {
				return nil, l.errorf(f[i+1], fmt.Errorf("field %d: %w", i+2, err))
			}
		}
		if j.Nodes == 0 {
			return nil, l.errorf(f[3], errors.New("field 4: no nodes asked"))
		}
		list.Jobs = append(list.Jobs, j)
	}
}
