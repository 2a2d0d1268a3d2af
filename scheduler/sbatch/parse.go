package sbatch

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
)

// An Input is what one call of sbatch, salloc or srun was given.
type Input struct {
	// Command is Sbatch if 0.
	Command Command
	// Args are the words after the command's name: options, the script's name
	// and its arguments.
	Args []string
	// Script is the text of the batch script; empty if there is none. Its
	// #SBATCH lines are options.
	Script string
	// Env are NAME=value pairs; only SBATCH_… are read.
	Env []string
	// Now resolves times such as now+1hour; its zone is the zone of clocks.
	Now time.Time
	// Plugins names the options of plug-ins that are loaded besides pyxis's,
	// without dashes; a name that ends in = takes an argument. They are kept
	// as given.
	Plugins []string
	// Files is where --nodefile and a --nodelist with a slash are read. Nil:
	// such options are an error.
	Files fs.FS
}

// A Submission is what one call asks for.
type Submission struct {
	// Components are one, or the parts of a heterogeneous job in order.
	Components []Options
	// Script is the first word that is no option, Arguments what follows it.
	Script    string
	Arguments []string
}

// Parse reads a submission. Options of the script come first, then the
// environment's, then the command line's; of one option the last giving counts.
// An option of the environment that conflicts with one from elsewhere is
// dropped. Errors are [*Error]; there is no Submission then.
//
// In a heterogeneous job a component inherits from the one before it what
// Slurm's manual says it does: account, name, times, --mem and others, but not
// counts. Arguments before the first colon add to the script's first
// component, and so on.
//
// Source: sbatch(1); spec/commands.md 1.10; spec/gres.md 7.2; spec/cores.md 2.1.
func Parse(in Input) (*Submission, error) {
	p := parser{in: in, cmd: in.Command, plugins: map[string]bool{}}
	if p.cmd == 0 {
		p.cmd = Sbatch
	}
	maps.Copy(p.plugins, pyxis)
	for _, name := range in.Plugins {
		bare, arg := strings.CutSuffix(name, "=")
		p.plugins[bare] = arg
	}
	s := new(Submission)
	script, err := p.script(in.Script)
	if err != nil {
		return nil, err
	}
	env, err := p.env(in.Env)
	if err != nil {
		return nil, err
	}
	args, rest, err := p.args(in.Args, FromArgs, 0)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		s.Script, s.Arguments = rest[0], rest[1:]
	}
	var before []Given
	for i := range max(len(script), len(args)) {
		o, err := p.component(i, before, script, env, args)
		if err != nil {
			return nil, err
		}
		before = o.Given
		s.Components = append(s.Components, o)
	}
	if err := p.finish(s); err != nil {
		return nil, err
	}
	return s, nil
}

// A parser holds what all components share.
type parser struct {
	in      Input
	cmd     Command
	plugins map[string]bool // by name: takes an argument
}

// component applies the options of component i.
func (p *parser) component(i int, before []Given, script [][]Given, env []Given, args [][]Given) (Options, error) {
	o := Options{now: p.in.Now}
	for _, g := range before {
		if k := find(g.Name); k != nil && k.passed {
			g.At.Source = FromInherited
			o.Given = append(o.Given, g)
		}
	}
	if i < len(script) {
		o.Given = append(o.Given, script[i]...)
	}
	o.Given = append(o.Given, env...)
	if i < len(args) {
		o.Given = append(o.Given, args[i]...)
	}
	o.dropBeaten()
	for _, g := range o.Given {
		if err := p.apply(&o, g); err != nil {
			return o, &Error{g.At, g.text(), err}
		}
	}
	if err := p.readNodeFile(&o); err != nil {
		return o, err
	}
	return o, o.check()
}

// apply stores one option.
func (p *parser) apply(o *Options, g Given) error {
	k := find(g.Name)
	if g.Plugin || k == nil || k.set == nil {
		o.keep(g.Name, g.Value)
		return nil
	}
	return k.set(o, g.Value)
}

// readNodeFile replaces a file of node names by a node list.
func (p *parser) readNodeFile(o *Options) error {
	name, ok := o.Kept("nodefile")
	if !ok {
		return nil
	}
	g, _ := o.Last("nodefile")
	if g.Name == "" {
		g, _ = o.Last("nodelist")
	}
	if p.in.Files == nil {
		return &Error{g.At, g.text(), valueErr("there is no file system to read %q from", name)}
	}
	data, err := fs.ReadFile(p.in.Files, strings.TrimPrefix(name, "/"))
	if err != nil {
		return &Error{g.At, g.text(), fmt.Errorf("%w: %w", ErrValue, err)}
	}
	hosts, err := topology.ParseHostlist(string(data))
	if err != nil {
		return &Error{g.At, g.text(), err}
	}
	o.Spec.NodeList = string(topology.AppendHostlist(nil, hosts))
	return nil
}

// finish numbers the components and names the job.
func (p *parser) finish(s *Submission) error {
	_, wrapped := s.Components[0].Kept("wrap")
	for i := range s.Components {
		o := &s.Components[i]
		o.Spec.Component = int32(i)
		if o.Spec.Name == "" {
			switch {
			case wrapped:
				o.Spec.Name = "wrap"
			case s.Script != "":
				o.Spec.Name = s.Script[strings.LastIndexByte(s.Script, '/')+1:]
			case p.cmd == Salloc:
				o.Spec.Name = "interactive"
			default:
				o.Spec.Name = "sbatch"
			}
		}
		if g, ok := o.Last("array"); ok && len(s.Components) > 1 {
			return &Error{g.At, g.text(), ConflictArrayHet}
		}
	}
	if g, ok := s.Components[0].Last("wrap"); ok && s.Script != "" {
		return &Error{g.At, g.text(), ConflictScriptWrap}
	}
	return nil
}

// find returns the row of an option's full name.
func find(name string) *option {
	i := slices.IndexFunc(table, func(k option) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	return &table[i]
}

// args reads options up to the first word that is none; ":" begins the next
// component. Positions count from 1 after base.
func (p *parser) args(ws []string, src Source, base int) (comps [][]Given, rest []string, err error) {
	comps = [][]Given{nil}
	for i := 0; i < len(ws); i++ {
		w, at := ws[i], Origin{src, base + i + 1}
		switch {
		case w == "--":
			return comps, ws[i+1:], nil
		case w == ":":
			comps = append(comps, nil)
			continue
		case len(w) < 2 || w[0] != '-':
			return comps, ws[i:], nil
		}
		next := func() (string, bool) {
			if i+1 == len(ws) {
				return "", false
			}
			i++
			return ws[i], true
		}
		last := &comps[len(comps)-1]
		if w[1] == '-' {
			*last, err = p.long(*last, w, at, next)
		} else {
			*last, err = p.short(*last, w, at, next)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return comps, nil, nil
}

// long reads --name, --name=value or --name value.
func (p *parser) long(dst []Given, w string, at Origin, next func() (string, bool)) ([]Given, error) {
	name, value, has := strings.Cut(w[2:], "=")
	g := Given{Name: name, Value: value, HasValue: has, At: at}
	need, may := false, false
	if takes, ok := p.plugin(name); ok {
		g.Plugin = true
		need = takes
		may = true // what a plug-in makes of a value is its own
	} else {
		k, err := p.lookup(name)
		if err != nil {
			return dst, &Error{at, w, err}
		}
		g.Name, need, may = k.name, k.arg == needArg, k.arg == mayArg
	}
	if has && !need && !may {
		return dst, &Error{at, w, fmt.Errorf("%w: the option takes none", ErrArgument)}
	}
	if need && !has {
		v, ok := next()
		if !ok {
			return dst, &Error{at, w, fmt.Errorf("%w: the option needs one", ErrArgument)}
		}
		g.Value, g.HasValue = v, true
	}
	return append(dst, g), nil
}

// plugin reports whether a plug-in has the option, and whether it takes an
// argument.
func (p *parser) plugin(name string) (arg, ok bool) {
	arg, ok = p.plugins[name]
	if !ok && strings.HasPrefix(name, "container-") && find(name) == nil {
		return false, true
	}
	return arg, ok
}

// lookup finds an option of the command by its name or by a beginning of it
// that no other option shares.
func (p *parser) lookup(name string) (*option, error) {
	if full, ok := spellings[name]; ok {
		name = full
	}
	has := func(k *option) bool { return k.cmds == 0 || k.cmds&p.cmd != 0 }
	if k := find(name); k != nil && has(k) {
		return k, nil
	}
	var found *option
	for i := range table {
		k := &table[i]
		if name == "" || !has(k) || !strings.HasPrefix(k.name, name) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%w: --%s or --%s", ErrAmbiguous, found.name, k.name)
		}
		found = k
	}
	if found == nil {
		return nil, ErrUnknownOption
	}
	return found, nil
}

// short reads -x, -xvalue, -x value and letters together: -HQn4.
func (p *parser) short(dst []Given, w string, at Origin, next func() (string, bool)) ([]Given, error) {
	for i := 1; i < len(w); i++ {
		j := slices.IndexFunc(table, func(k option) bool {
			return k.short == w[i] && (k.cmds == 0 || k.cmds&p.cmd != 0)
		})
		if j < 0 {
			return dst, &Error{at, "-" + w[i:i+1], ErrUnknownOption}
		}
		k := &table[j]
		g := Given{Name: k.name, At: at}
		switch rest := w[i+1:]; {
		case k.arg == noArg:
			dst = append(dst, g)
			continue
		case rest != "":
			g.Value, g.HasValue = rest, true
		case k.arg == needArg:
			v, ok := next()
			if !ok {
				return dst, &Error{at, w, fmt.Errorf("%w: the option needs one", ErrArgument)}
			}
			g.Value, g.HasValue = v, true
		}
		return append(dst, g), nil
	}
	return dst, nil
}

// env reads the SBATCH_… variables in the order of the table.
func (p *parser) env(pairs []string) ([]Given, error) {
	var out []Given
	for _, k := range table {
		if k.env == "" || k.cmds != 0 && k.cmds&p.cmd == 0 {
			continue
		}
		for _, pair := range pairs {
			v, ok := strings.CutPrefix(pair, "SBATCH_"+k.env+"=")
			if !ok {
				continue
			}
			g := Given{Name: k.name, Value: v, HasValue: true, At: Origin{Source: FromEnv}}
			if k.arg == noArg || k.arg == mayArg && v == "" {
				g.Value, g.HasValue = "", false
			}
			out = append(out, g)
		}
	}
	return out, nil
}

// Specs returns the specifications of a submission's components.
func (s *Submission) Specs() []scheduler.JobSpec {
	out := make([]scheduler.JobSpec, len(s.Components))
	for i := range s.Components {
		out[i] = s.Components[i].Spec
	}
	return out
}
