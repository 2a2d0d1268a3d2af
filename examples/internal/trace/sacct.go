package trace

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

func isSacct(head string) bool {
	return strings.Contains("|"+head+"|", "|JobID|") && strings.Contains(head, "|Start|")
}

// sacctWant are the columns without which a dump says too little.
var sacctWant = [...]string{"JobID", "Submit", "Start", "End", "State"}

// readSacct reads a dump of `sacct -P`. Steps are left out, and so are jobs
// that never started or have not ended. Free text (job names, constraints)
// may hold '|': see align.
func readSacct(l lines) (*List, error) {
	head, err := l.nextFull()
	if err != nil {
		return nil, err
	}
	d := newSacctDump(strings.Split(head, "|"))
	for _, name := range sacctWant {
		if _, ok := d.index[name]; !ok {
			return nil, l.errorf(shorten(head), fmt.Errorf("%w: heading has no column %s", ErrFormat, name))
		}
	}
	list := new(List)
	for {
		s, err := l.nextFull()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if tok, err := d.align(s); err != nil {
			return nil, l.errorf(tok, err)
		}
		if err := d.job(list, l.line); err != nil {
			var e *Error
			if errors.As(err, &e) {
				e.File = l.file
			}
			return nil, err
		}
	}
}

// A sacctDump splits the rows of one dump.
type sacctDump struct {
	names []string
	index map[string]int
	kinds []sacctKind
	f     []string // of the present row
	// trailing says that every line ends with '|', as `sacct -p` prints it.
	trailing bool
	cost     []int32 // scratch of align
	ways     []uint8
}

func newSacctDump(names []string) *sacctDump {
	d := &sacctDump{index: make(map[string]int)}
	if n := len(names); n > 0 && names[n-1] == "" {
		names, d.trailing = names[:n-1], true
	}
	for i, name := range names {
		d.names = append(d.names, name)
		d.index[name] = i
		d.kinds = append(d.kinds, sacctKindOf(name))
	}
	return d
}

func (d *sacctDump) text(col string) string {
	if i, ok := d.index[col]; ok {
		return d.f[i]
	}
	return ""
}

// first returns the first of several columns that says something, and its name.
func (d *sacctDump) first(cols ...string) (val, col string) {
	for _, col := range cols {
		if v := d.text(col); v != "" {
			return v, col
		}
	}
	return "", ""
}

// job appends the present row to list if it is a job that ran.
func (d *sacctDump) job(list *List, line int) error {
	id := d.text("JobID")
	switch state := d.text("State"); {
	case strings.Contains(id, "."):
		return nil // a step
	case strings.Contains(id, "["):
		list.skip("array tasks that never started", line)
		return nil
	case notSaid(d.text("Start")):
		list.skip("never started", line)
		return nil
	case notSaid(d.text("End")):
		list.skip("had not ended ("+strings.ToLower(state)+")", line)
		return nil
	}
	j := Job{ID: id, Line: line, Name: d.text("JobName"), User: d.text("User"), Account: d.text("Account"),
		QOS: d.text("QOS"), Constraint: d.text("Constraints")}
	j.Partition, _, _ = strings.Cut(d.text("Partition"), ",")
	bad := func(col string, err error) error {
		return &Error{Line: line, Token: d.text(col), Err: fmt.Errorf("column %s: %w", col, err)}
	}
	var err error
	if j.Submit, err = parseStamp(d.text("Submit")); err != nil {
		return bad("Submit", err)
	}
	start, err := parseStamp(d.text("Start"))
	if err != nil {
		return bad("Start", err)
	}
	end, err := parseStamp(d.text("End"))
	if err != nil {
		return bad("End", err)
	}
	if j.Runtime = end - start; j.Runtime < 0 {
		return bad("End", errors.New("before the start"))
	}
	if j.Limit, err = sacctLimit(d.text("Timelimit")); err != nil {
		return bad("Timelimit", err)
	}
	if col, err := d.resources(&j); err != nil {
		return bad(col, err)
	}
	list.Jobs = append(list.Jobs, j)
	return nil
}

// resources reads what the job asked for; on an error col is the column.
func (d *sacctDump) resources(j *Job) (col string, err error) {
	nodes, col := d.first("NNodes", "AllocNodes", "ReqNodes")
	if j.Nodes, err = countOrZero(nodes); err != nil {
		return col, err
	}
	cpus, col := d.first("ReqCPUS", "NCPUS", "AllocCPUS")
	if j.Tasks, err = countOrZero(cpus); err != nil {
		return col, err
	}
	tres, col := d.first("ReqTRES", "AllocTRES")
	if err := sacctGPUs(j, tres); err != nil {
		return col, err
	}
	mem := d.text("ReqMem")
	if mem == "" || mem == "?" {
		return "", nil
	}
	per := mem[len(mem)-1]
	if per == 'n' || per == 'c' {
		mem = mem[:len(mem)-1]
	}
	mib, err := parseMiB(mem)
	switch {
	case err != nil:
		return "ReqMem", err
	case per == 'c':
		j.MemPerCPUMiB = mib
	case per == 'n' || j.Nodes == 0:
		j.MemPerNodeMiB = mib
	default: // since 21.08 ReqMem is of the whole job
		j.MemPerNodeMiB = (mib + j.Nodes - 1) / j.Nodes
	}
	return "", nil
}

// sacctGPUs reads "…,gres/gpu=4,gres/gpu:a100=4,…": the typed entries repeat
// the untyped one.
func sacctGPUs(j *Job, tres string) error {
	for item := range strings.SplitSeq(tres, ",") {
		name, val, _ := strings.Cut(item, "=")
		model, typed := strings.CutPrefix(name, "gres/gpu:")
		if !typed && name != "gres/gpu" {
			continue
		}
		n, err := parseCount(val, maxCount)
		if err != nil {
			return err
		}
		if typed && n > 0 {
			j.GPUModels = append(j.GPUModels, model)
		}
		j.GPUs = max(j.GPUs, n)
	}
	if len(j.GPUModels) > 1 {
		j.GPUModels = nil // a mixture; not "any of"
	}
	return nil
}

func countOrZero(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	return parseCount(s, maxCount)
}

func notSaid(s string) bool { return s == "" || s == "Unknown" || s == "None" }
