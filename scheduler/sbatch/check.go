package sbatch

import (
	"slices"
	"strings"
)

// A rival pair of options and what Slurm's command says about it.
type rival struct {
	a, b func(o *Options) (Given, bool)
	err  Conflict
}

func option1(name string) func(*Options) (Given, bool) {
	return func(o *Options) (Given, bool) { return o.Last(name) }
}

// device returns a test for an option whose list names one of the devices.
func device(option string, want ...string) func(*Options) (Given, bool) {
	return func(o *Options) (Given, bool) {
		g, ok := o.Last(option)
		return g, ok && names(g.Value, want...)
	}
}

// tresCPU is --tres-per-task with CPUs.
func tresCPU(o *Options) (Given, bool) {
	g, ok := o.Last("tres-per-task")
	return g, ok && names(g.Value, "cpu")
}

// flag returns a test for a word of --gres-flags.
func flag(word string) func(*Options) (Given, bool) {
	return func(o *Options) (Given, bool) {
		g, ok := o.Last("gres-flags")
		return g, ok && slices.Contains(list(strings.ToLower(g.Value)), word)
	}
}

// rivals are the pairs that the command refuses, in its order of looking.
var rivals = []rival{
	{option1("mem"), option1("mem-per-cpu"), ConflictMem},
	{option1("mem"), option1("mem-per-gpu"), ConflictMem},
	{option1("mem-per-cpu"), option1("mem-per-gpu"), ConflictMem},
	{option1("gpus-per-node"), device("gres", "gpu"), ConflictGPUsPerNode},
	{tresCPU, option1("cpus-per-task"), ConflictTRESCPU},
	{device("tres-per-task", "gpu"), option1("gpus-per-task"), ConflictTRESGPU},
	{option1("cpus-per-gpu"), option1("cpus-per-task"), ConflictCPUs},
	{option1("cpus-per-gpu"), tresCPU, ConflictCPUs},
	{option1("gpus-per-task"), option1("ntasks-per-gpu"), ConflictGPUsPerTask},
	{option1("gpus-per-socket"), option1("ntasks-per-gpu"), ConflictGPUsPerSocket},
	{option1("ntasks-per-node"), option1("ntasks-per-gpu"), ConflictTasksPerNode},
	{device("tres-per-task", "gpu"), option1("ntasks-per-gpu"), ConflictTRESTasksGPU},
	{flag("enforce-binding"), flag("disable-binding"), ConflictBinding},
	{flag("one-task-per-sharing"), flag("multiple-tasks-per-sharing"), ConflictSharingTasks},
	{option1("exclusive"), option1("oversubscribe"), ConflictOversubscribe},
	{option1("core-spec"), option1("thread-spec"), ConflictSpec},
	{option1("spread-segments"), option1("consolidate-segments"), ConflictSegments},
	{option1("gpu-freq"), device("gres", "shard", "mps"), ConflictSharedFreq},
}

// dropBeaten removes options of the environment, and inherited ones, that
// conflict with one of the script or the command line: those win in silence.
func (o *Options) dropBeaten() {
	weak := func(g Given) bool { return g.At.Source == FromEnv || g.At.Source == FromInherited }
	for _, r := range rivals {
		a, okA := r.a(o)
		b, okB := r.b(o)
		if !okA || !okB || weak(a) == weak(b) {
			continue
		}
		loser := a.Name
		if weak(b) {
			loser = b.Name
		}
		o.Given = slices.DeleteFunc(o.Given, func(g Given) bool { return g.Name == loser })
	}
}

// check tests what the command tests before it submits.
func (o *Options) check() error {
	for _, r := range rivals {
		a, okA := r.a(o)
		_, okB := r.b(o)
		if okA && okB {
			return &Error{a.At, a.text(), r.err}
		}
	}
	s := &o.Spec
	if g, ok := o.Last("ntasks-per-core"); ok && s.ThreadsPerCore > 0 && s.TasksPerCore > s.ThreadsPerCore {
		return &Error{g.At, g.text(), &TasksPerCoreError{s.TasksPerCore, s.ThreadsPerCore}}
	}
	if g, ok := o.Last("segment"); ok && s.MinNodes > s.Segment && s.MinNodes%s.Segment != 0 && s.NodeSizes == nil {
		return &Error{g.At, g.text(), &SegmentError{s.Segment, s.MinNodes}}
	}
	return nil
}
