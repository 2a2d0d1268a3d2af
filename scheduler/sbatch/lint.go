package sbatch

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
)

// Thresholds of the linter.
const (
	// manyTasks is the array size from which a throttle is advised.
	manyTasks = 100
	// longDefault is the time limit of jobs without -t from which it matters.
	longDefault = 24 * time.Hour
	// defaultSwitchWait and defaultArraySize are Slurm's.
	defaultSwitchWait = 300 * time.Second
	defaultArraySize  = 1001
)

// Lint looks for the traps of a script and its options beside a configuration.
// The findings are ordered by line and rule. An option that cannot be read is
// returned as the error of [Parse], beside what the script's text shows; the two
// conflicts that are traps of their own (a segment that does not divide the
// nodes, --cpus-per-gpu with -c) are findings and no error.
//
// Source: shared cases, part 2, the job and array rows.
func Lint(in Input, cfg *scheduler.Config) ([]Finding, error) {
	l := linter{in: in, cfg: cfg, file: "script"}
	s, err := Parse(in)
	switch {
	case err == nil:
		if s.Script != "" {
			l.file = s.Script
		}
		for i := range s.Components {
			l.component(&s.Components[i])
		}
	case l.conflict(err):
		err = nil
	}
	l.text()
	slices.SortStableFunc(l.out, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule)) })
	return l.out, err
}

// A linter gathers findings about one submission.
type linter struct {
	in   Input
	cfg  *scheduler.Config
	file string
	out  []Finding
	// What the options say about the text.
	signal  *Given
	batch   bool
	reclaim string // a QOS from which the job may be preempted
	multi   bool
}

func (l *linter) find(rule string, sev Severity, line int, cost, format string, args ...any) {
	l.out = append(l.out, Finding{Rule: rule, Severity: sev, File: l.file, Line: line, Text: fmt.Sprintf(format, args...), Cost: cost})
}

// line is the script's line of an option, 0 for the command line's.
func line(g Given) int {
	if g.At.Source == FromScript {
		return g.At.Line
	}
	return 0
}

// conflict turns the errors that are rules into findings.
func (l *linter) conflict(err error) bool {
	var e *Error
	var seg *SegmentError
	if !errors.As(err, &e) {
		return false
	}
	at := 0
	if e.Origin.Source == FromScript {
		at = e.Origin.Line
	}
	switch {
	case errors.As(err, &seg):
		l.find("job-segment", Bad, at, "the command refuses the job", "%d nodes are not divisible by --segment=%d", seg.Nodes, seg.Segment)
	case errors.Is(err, ConflictCPUs):
		l.find("job-cpg-and-c", Bad, at, "the command refuses the job",
			"%s excludes -c and cpu in --tres-per-task; keep one (some tools add -c themselves)", e.Option)
	default:
		return false
	}
	return true
}

func (l *linter) component(o *Options) {
	parts := l.partitions(o)
	l.block(o, parts)
	l.array(o, parts)
	l.time(o, parts)
	l.exclusive(o, parts)
	if g, ok := o.Last("signal"); ok {
		l.signal, l.batch = &g, o.Signal.Batch
	}
	if l.reclaim == "" {
		l.reclaim = l.preemptible(o)
	}
	l.multi = l.multi || o.Spec.MinNodes > 1 && o.Spec.GPUs != ""
}

// partitions returns the partitions that the component may run in.
func (l *linter) partitions(o *Options) []*scheduler.PartitionSpec {
	var out []*scheduler.PartitionSpec
	for i := range l.cfg.Partitions {
		p := &l.cfg.Partitions[i]
		if slices.Contains(o.Spec.Partitions, p.Name) || len(o.Spec.Partitions) == 0 && p.Default {
			out = append(out, p)
		}
	}
	return out
}

// onBlock returns a partition that places by blocks.
func (l *linter) onBlock(parts []*scheduler.PartitionSpec) *scheduler.PartitionSpec {
	for _, p := range parts {
		for i := range l.cfg.Topologies {
			t := &l.cfg.Topologies[i]
			if (t.Name == p.Topology || p.Topology == "" && i == 0) && len(t.Blocks) > 0 {
				return p
			}
		}
	}
	return nil
}

// block: job-range-block, job-nodelist-block, job-switch-wait.
func (l *linter) block(o *Options, parts []*scheduler.PartitionSpec) {
	p := l.onBlock(parts)
	if g, ok := o.Last("nodes"); ok && p != nil && o.Spec.NodesRange {
		l.find("job-range-block", Info, line(g), "the minimum is used, or every size is tried",
			"-N %s on the block partition %s; give an exact count", g.Value, p.Name)
	}
	if g, ok := o.Last("nodelist"); ok && p != nil {
		l.find("job-nodelist-block", Warn, line(g), "listed nodes outside one unit make the job unplaceable",
			"-w %s on the block partition %s, where the topology goes first; exclude nodes with -x instead", g.Value, p.Name)
	}
	g, ok := o.Last("switches")
	if !ok {
		return
	}
	most := l.cfg.Parameters.Select.MaxSwitchWait
	if most == 0 {
		most = defaultSwitchWait
	}
	switch {
	case p != nil:
		l.find("job-switch-wait", Info, line(g), "the option is ignored", "--switches=%s on the block partition %s", g.Value, p.Name)
	case o.Spec.SwitchWait > most:
		l.find("job-switch-wait", Info, line(g), "the wait is capped", "--switches=%s waits longer than max_switch_wait, %v", g.Value, most)
	}
}

// array: array-throttle, array-max.
func (l *linter) array(o *Options, parts []*scheduler.PartitionSpec) {
	g, ok := o.Last("array")
	if !ok {
		return
	}
	size := l.cfg.Parameters.MaxArraySize
	if size == 0 {
		size = defaultArraySize
	}
	if m := o.Array.Max(); m >= size {
		l.find("array-max", Bad, line(g), "the job is refused", "index %d, MaxArraySize is %d and the largest index %d", m, size, size-1)
	}
	if n := o.Array.Count(); n > manyTasks && o.Array.Throttle == 0 {
		for _, p := range parts {
			if l.gpus(p) > 0 {
				l.find("array-throttle", Info, line(g), "the array floods the partition", "%d tasks on the GPU partition %s without a throttle; write %s%%n", n, p.Name, g.Value)
				return
			}
		}
	}
}

// time: job-no-time.
func (l *linter) time(o *Options, parts []*scheduler.PartitionSpec) {
	if o.has("time") {
		return
	}
	for _, p := range parts {
		d := p.DefaultTime
		if d == 0 {
			d = p.MaxTime
		}
		if d == 0 {
			d = scheduler.Infinite
		}
		if d < longDefault {
			continue
		}
		text := "no limit at all"
		if d != scheduler.Infinite {
			text = d.String()
		}
		l.find("job-no-time", Info, 0, "backfill cannot use gaps for the job", "no -t, and partition %s gives such jobs %s; write the time that the job needs", p.Name, text)
		return
	}
}

// countOf returns the units of a GRES name in a node's list.
func countOf(list, name string) int64 {
	n := int64(0)
	scanGRES(list, "", func(item, _, count string) {
		if strings.EqualFold(item, name) {
			if c, err := strconv.ParseInt(count, 10, 32); err == nil {
				n += c
			}
		}
	})
	return n
}

// gpus returns the most GPUs that a node of the partition has.
func (l *linter) gpus(p *scheduler.PartitionSpec) int64 {
	var in map[string]bool
	if p.Nodes != "ALL" {
		names, _ := topology.ParseHostlist(p.Nodes)
		in = make(map[string]bool, len(names))
		for _, n := range names {
			in[n] = true
		}
	}
	most := int64(0)
	for i := range l.cfg.Nodes {
		n := countOf(l.cfg.Nodes[i].GRES, "gpu")
		if n <= most {
			continue
		}
		names, _ := topology.ParseHostlist(l.cfg.Nodes[i].Names)
		if in == nil || slices.ContainsFunc(names, func(s string) bool { return in[s] }) {
			most = n
		}
	}
	return most
}

// exclusive: job-exclusive-gpus.
func (l *linter) exclusive(o *Options, parts []*scheduler.PartitionSpec) {
	g, ok := o.Last("exclusive")
	if !ok || o.Spec.Exclusive != scheduler.ExclusiveNode {
		return
	}
	asked := countOf(o.Spec.GRES, "gpu")
	scanGRES(o.Spec.GPUsPerNode, "gpu", func(_, _, count string) {
		if c, err := strconv.ParseInt(count, 10, 32); err == nil {
			asked += c
		}
	})
	if asked == 0 {
		return
	}
	for _, p := range parts {
		if n := l.gpus(p); n > asked {
			l.find("job-exclusive-gpus", Info, line(g), "all GPUs are charged and the others stay idle",
				"--exclusive with %d GPUs a node on partition %s, whose nodes have %d; ask for all, or leave out --exclusive", asked, p.Name, n)
			return
		}
	}
}

// preemptible returns a QOS of the job that another may preempt.
func (l *linter) preemptible(o *Options) string {
	if l.cfg.Parameters.Preempt.Type != "qos" {
		return ""
	}
	for _, name := range o.Spec.QOS {
		for i := range l.cfg.QOS {
			if slices.Contains(l.cfg.QOS[i].Preempt, name) {
				return name
			}
		}
	}
	return ""
}

// What the text of a script may show.
var (
	stepWords = regexp.MustCompile(`(^|[\s;&|(/])(srun|mpirun|mpiexec)\b`)
	trapWord  = regexp.MustCompile(`(^|[\s;&|(])trap\s`)
	cudaSet   = regexp.MustCompile(`(^|[\s;&|(])CUDA_VISIBLE_DEVICES=`)
	perTask   = regexp.MustCompile(`\bSLURM_GPUS_PER_TASK\b`)
	onNode    = regexp.MustCompile(`\bSLURM_GPUS_ON_NODE\b`)
	ckptWords = regexp.MustCompile(`(?i)checkpoint|ckpt|--resume|dmtcp`)
)

// text looks at the script: job-late-directive, job-cuda-set,
// job-gpus-per-task-var, job-gpus-on-node-multi, job-signal-batch,
// job-requeue-nockpt.
func (l *linter) text() {
	body, steps, trap, ckpt := false, 0, 0, false
	n := 0
	for s := range strings.Lines(l.in.Script) {
		n++
		t := strings.TrimSpace(s)
		if rest, ok := directive(strings.TrimRight(s, "\r\n")); ok {
			if body {
				l.find("job-late-directive", Warn, n, "the line is ignored", "#SBATCH%s stands after the first command; move it up", strings.TrimRight(rest, " \t"))
			}
			continue
		}
		if t == "" || t[0] == '#' {
			continue
		}
		body = true
		if stepWords.MatchString(t) && steps == 0 {
			steps = n
		}
		if trapWord.MatchString(t) && trap == 0 {
			trap = n
		}
		ckpt = ckpt || ckptWords.MatchString(t)
		if cudaSet.MatchString(t) {
			l.find("job-cuda-set", Warn, n, "devices that the job does not hold cannot be opened", "the script assigns CUDA_VISIBLE_DEVICES over the allocation; read it instead")
		}
		if perTask.MatchString(t) {
			l.find("job-gpus-per-task-var", Warn, n, "26.05 does not set the variable", "SLURM_GPUS_PER_TASK is empty; use SLURM_GPUS_ON_NODE, or SLURM_TRES_PER_TASK")
		}
		if onNode.MatchString(t) && l.multi {
			l.find("job-gpus-on-node-multi", Info, n, "counts may differ from node to node",
				"SLURM_GPUS_ON_NODE is the batch node's count and --gpus is spread over several nodes; ask with --gpus-per-node")
		}
	}
	if l.in.Script == "" {
		return
	}
	if l.signal != nil && !l.batch && (steps == 0 || trap > 0) {
		why := "starts no step"
		if trap > 0 {
			why = "catches it in the shell (line " + strconv.Itoa(trap) + ")"
		}
		l.find("job-signal-batch", Warn, line(*l.signal), "only steps get the signal", "--signal=%s without B: in a script that %s; write B:%s", l.signal.Value, why, l.signal.Value)
	}
	if l.reclaim != "" && l.signal == nil && trap == 0 && !ckpt {
		l.find("job-requeue-nockpt", Info, 0, "the work since the last checkpoint is lost", "QOS %s can be preempted, and the script has neither --signal nor a handler", l.reclaim)
	}
}
