package trace

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// form is one kind of file: how its heading looks and who reads it.
type form struct {
	name string
	is   func(head string) bool
	read func(lines) (*List, error)
}

// forms are tried in this order; the first that recognises the heading reads.
var forms = [...]form{
	{"swf", isSWF, readSWF},
	{"alcf", heading("Job_name Submit Runtime Nodes"), readALCF},
	{"openb", heading("name,cpu_milli,memory_mib,num_gpu"), readOpenb},
	{"philly-vc", heading("job,arrival_s,gpus,duration_s"), readPhilly},
	{"ubccr", heading("dt;job_id;wall_time;"), readUBCCR},
	{"easy", heading("job,submit_s,nodes,walltime_s,runtime_s"), readEasy},
	{"tiresias", heading("job_id,num_gpu,submit_time,iterations,"), readTiresias},
	{"sacct", isSacct, readSacct},
}

func heading(prefix string) func(string) bool {
	return func(head string) bool { return strings.HasPrefix(head, prefix) }
}

// Formats returns the names that [Open] and [Read] take.
func Formats() []string {
	var dst []string
	for _, f := range forms {
		dst = append(dst, f.name)
	}
	return dst
}

// Open reads the log in the named file. An empty format means: find out.
func Open(file, format string) (*List, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, file, format)
}

// Read reads a log from r; file is its name in errors.
func Read(r io.Reader, file, format string) (*List, error) {
	l, head, err := openLines(r, file)
	if err != nil {
		return nil, err
	}
	for _, f := range forms {
		if format != f.name && (format != "" || !f.is(head)) {
			continue
		}
		list, err := f.read(l)
		if errors.Is(err, io.EOF) {
			return nil, &Error{File: file, Err: ErrEmpty}
		}
		if err != nil {
			return nil, err
		}
		if len(list.Jobs) == 0 {
			return nil, &Error{File: file, Err: ErrEmpty}
		}
		list.File, list.Format = file, f.name
		list.finish()
		return list, nil
	}
	return nil, unknown(file, format, head)
}

// unknown explains why no reader took the file.
func unknown(file, format, head string) error {
	why := "first line is of no known form"
	switch {
	case format != "":
		return &Error{File: file, Token: format, Err: fmt.Errorf("%w, known are %s", ErrFormat, strings.Join(Formats(), ", "))}
	case head == "":
		return &Error{File: file, Err: ErrEmpty}
	case strings.HasPrefix(head, "sn,cpu_milli"), strings.HasPrefix(head, "gpu_model,gpu_capacity_num"):
		why = "a list of nodes, not of jobs"
	case strings.HasPrefix(head, "name,time,application"):
		why = "these jobs have no run times"
	case strings.Count(head, ";") >= 10:
		why = "looks like SWF, but fields are apart by ';' where SWF has blanks"
	}
	return &Error{File: file, Line: 1, Token: head, Err: fmt.Errorf("%w: %s", ErrFormat, why)}
}

// openLines unpacks gzip and looks at the first line with text.
func openLines(r io.Reader, file string) (l lines, head string, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	magic, err := br.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return l, "", readErr(file, 0, err)
	}
	switch packed := string(magic) == "\x1f\x8b"; {
	case packed:
		zr, err := gzip.NewReader(br)
		if err != nil {
			return l, "", readErr(file, 0, err)
		}
		br = bufio.NewReaderSize(zr, 64<<10)
	case strings.HasSuffix(file, ".gz"):
		return l, "", &Error{File: file, Token: string(magic), Err: errors.New("named .gz but does not start as gzip does")}
	}
	peek, err := br.Peek(32 << 10)
	if err != nil && !errors.Is(err, io.EOF) && len(peek) == 0 {
		return l, "", readErr(file, 0, err)
	}
	text := strings.TrimLeft(strings.TrimPrefix(string(peek), "\ufeff"), " \t\r\n")
	head, _, _ = strings.Cut(text, "\n")
	head = strings.ToValidUTF8(strings.TrimRight(head, "\r"), "\ufffd")
	return lines{file: file, r: br}, head, nil
}
