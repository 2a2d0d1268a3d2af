package sbatch

import (
	"slices"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// Options is what one component of a submission asks for.
type Options struct {
	// Spec holds all options that scheduling reads, and the others in Kept.
	// ID, User and Groups are left to the caller.
	Spec scheduler.JobSpec
	// The options with a grammar of their own, as values. Spec has their text.
	Array      Array
	Dependency Dependency
	Constraint Features
	Prefer     Features
	Signal     Signal
	// Given are the options in the order in which they took effect: what an
	// earlier component passed on, the script, the environment, the command
	// line.
	Given []Given
	// now resolves times such as now+1hour.
	now time.Time
}

// A Given is one option as it was given.
type Given struct {
	// Name is the option's long name without dashes.
	Name string
	// Value is the argument; HasValue says that there was one.
	Value    string
	HasValue bool
	// Plugin says that the option belongs to a plug-in.
	Plugin bool
	At     Origin
}

// text returns the option as an error message shows it.
func (g Given) text() string {
	if g.HasValue {
		return "--" + g.Name + "=" + g.Value
	}
	return "--" + g.Name
}

// Last returns the last giving of an option, which is the one that counts.
func (o *Options) Last(name string) (Given, bool) {
	for i := len(o.Given) - 1; i >= 0; i-- {
		if o.Given[i].Name == name {
			return o.Given[i], true
		}
	}
	return Given{}, false
}

// has reports whether any of the options was given.
func (o *Options) has(names ...string) bool {
	return slices.ContainsFunc(o.Given, func(g Given) bool { return slices.Contains(names, g.Name) })
}

// keep records an option that scheduling does not read.
func (o *Options) keep(name, value string) {
	o.Spec.Kept = slices.DeleteFunc(o.Spec.Kept, func(k scheduler.KeptOption) bool { return k.Name == name })
	o.Spec.Kept = append(o.Spec.Kept, scheduler.KeptOption{Name: name, Value: value})
}

// Kept returns the value of an option that scheduling does not read.
func (o *Options) Kept(name string) (string, bool) {
	for _, k := range o.Spec.Kept {
		if k.Name == name {
			return k.Value, true
		}
	}
	return "", false
}

// A Command is the command whose options are read.
type Command uint8

// The three commands that submit. Their options differ only in those that
// concern running.
const (
	Sbatch Command = 1 << iota
	Salloc
	Srun
)

// argKind says whether an option takes an argument.
type argKind uint8

const (
	noArg argKind = iota
	needArg
	mayArg // only as --name=value, or attached to the letter
)

// An option is a row of the table.
type option struct {
	name  string
	short byte
	arg   argKind
	// env is the variable after SBATCH_.
	env string
	// set stores the argument; nil keeps it.
	set func(o *Options, v string) error
	// cmds are the commands that have it; 0 is all three.
	cmds Command
	// passed says that later components of a heterogeneous job inherit it.
	passed bool
}

// AppendArgs appends the options as words of a command line, in the order in
// which they took effect. [Parse] makes the same specification of them.
func (o *Options) AppendArgs(dst []string) []string {
	for _, g := range o.Given {
		dst = append(dst, g.text())
	}
	return dst
}
