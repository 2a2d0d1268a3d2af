package slurmconf

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Files is a site's configuration as parsed values, each with the place where
// it was written. Nothing is derived yet and no file is compared with another:
// [Lint] reads it as it is, [Files.Config] makes what a scheduler needs.
type Files struct {
	Params     Params
	Nodes      []Node
	NodeSets   []NodeSet
	DownNodes  []DownNode
	Partitions []Partition
	// Gres is gres.conf in file order; GresRead says that there was one.
	Gres     []GresLine
	GresRead bool
	// Topologies are those of topology.yaml if YAML is set, otherwise the one
	// of topology.conf, or none.
	Topologies []Topology
	YAML       bool
	// Conf says that topology.conf exists; it counts only without YAML.
	Conf   bool
	Cgroup Cgroup
	// CgroupRead says that there was a cgroup.conf.
	CgroupRead bool
	// Accounts are the sacctmgr commands and dumps in order.
	Accounts []Command
	// Unheeded are parameters that concern decisions and set nothing, a phrase
	// each.
	Unheeded []string
	// Warnings are in the order of reading.
	Warnings []Warning
}

// Options says which files to read. The zero Options reads the standard names.
type Options struct {
	// Slurm, Gres, TopologyYAML, Topology and Cgroup replace the standard
	// names slurm.conf, gres.conf, topology.yaml, topology.conf and
	// cgroup.conf. Of the standard names only slurm.conf must exist; a name
	// given here must exist.
	Slurm, Gres, TopologyYAML, Topology, Cgroup string
	// Accounts are files of sacctmgr commands or dumps, read in this order.
	Accounts []string
	// Root is the absolute directory that the file system stands for. An
	// included file with an absolute name must lie below it. Without Root
	// absolute names are refused.
	Root string
}

// maxErrors bounds how many bad words one reading reports.
const maxErrors = 100

// A reader gathers what the readers of the single formats find.
type reader struct {
	fsys     fs.FS
	root     string
	errs     []error
	warnings []Warning
	words    []word
	// size is told the text of each file before its lines, to make room for
	// the records: they are large and may be many.
	size func(text string)
}

func (rd *reader) fail(at Origin, token string, err error) {
	if len(rd.errs) < maxErrors {
		rd.errs = append(rd.errs, &Error{at, token, err})
	}
}

func (rd *reader) warn(at Origin, token, format string, args ...any) {
	rd.warnings = append(rd.warnings, Warning{at, token, fmt.Sprintf(format, args...)})
}

func (rd *reader) err() error { return errors.Join(rd.errs...) }

// Read reads a configuration. On any error it returns no Files: nothing is half
// loaded. The errors name file, line and word, joined in the order in which
// they were found.
func Read(fsys fs.FS, o Options) (*Files, error) {
	rd := &reader{fsys: fsys, root: o.Root}
	f := new(Files)
	s := slurmReader{reader: rd, files: f}
	if name, ok := rd.name(o.Slurm, "slurm.conf", true); ok {
		rd.size = func(text string) { f.Nodes = slices.Grow(f.Nodes, strings.Count(text, "NodeName=")) }
		s.file(name, Origin{name, 0}, nil)
		rd.size = nil
	}
	if name, ok := rd.name(o.Gres, "gres.conf", false); ok {
		f.Gres, f.GresRead = rd.gres(name), true
	}
	yaml, haveYAML := rd.name(o.TopologyYAML, "topology.yaml", false)
	conf, haveConf := rd.name(o.Topology, "topology.conf", false)
	f.YAML, f.Conf = haveYAML, haveConf
	if haveYAML {
		f.Topologies = rd.topologyYAML(yaml)
	} else if haveConf {
		f.Topologies = rd.topology(conf)
	}
	if name, ok := rd.name(o.Cgroup, "cgroup.conf", false); ok {
		f.Cgroup, f.CgroupRead = rd.cgroup(name), true
	}
	for _, name := range o.Accounts {
		f.Accounts = append(f.Accounts, rd.accounts(name)...)
	}
	f.Warnings = rd.warnings
	if err := rd.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// name picks the file to read: the given one, or the standard one if it exists
// or must.
func (rd *reader) name(given, standard string, must bool) (string, bool) {
	if given != "" {
		return given, true
	}
	if must {
		return standard, true
	}
	_, err := fs.Stat(rd.fsys, standard)
	return standard, err == nil
}

// open returns the text of a file, or records the error.
func (rd *reader) open(name string, at Origin) (string, bool) {
	data, err := fs.ReadFile(rd.fsys, name)
	if err != nil {
		if at.IsZero() {
			rd.fail(Origin{name, 0}, "", err)
		} else {
			rd.fail(at, name, fmt.Errorf("%w: %w", ErrInclude, err))
		}
		return "", false
	}
	return string(data), true
}

// lines calls do with the words of every logical line of a file and of the
// files it includes. stack holds the files being read.
func (rd *reader) lines(name string, at Origin, stack []string, do func(ws []word, file string)) {
	if slices.Contains(stack, name) {
		rd.fail(at, name, fmt.Errorf("%w: the file includes itself: %s", ErrInclude, strings.Join(append(stack, name), " > ")))
		return
	}
	text, ok := rd.open(name, at)
	if !ok {
		return
	}
	if rd.size != nil {
		rd.size(text)
	}
	stack = append(stack, name)
	l := lexer{file: name, rest: text}
	for l.next() {
		if arg, ok := l.include(); ok {
			here := Origin{name, l.lineAt(0)}
			if sub, err := rd.included(arg); err != nil {
				rd.fail(here, arg, err)
			} else {
				rd.lines(sub, here, stack, do)
			}
			continue
		}
		ws, err := l.words(rd.words[:0])
		rd.words = ws
		if err != nil {
			if len(rd.errs) < maxErrors {
				rd.errs = append(rd.errs, err)
			}
			continue
		}
		do(ws, name)
	}
}

// included maps the argument of an include line to a name of the file system.
// Relative names start at the configuration's directory, not at the including
// file.
func (rd *reader) included(arg string) (string, error) {
	name := strings.Trim(arg, `"`)
	if path.IsAbs(name) {
		rel, ok := strings.CutPrefix(path.Clean(name), path.Clean(rd.root)+"/")
		if rd.root == "" || !ok {
			return "", fmt.Errorf("%w: the name is absolute and outside the configuration's directory", ErrInclude)
		}
		name = rel
	}
	name = path.Clean(name)
	if !fs.ValidPath(name) || name == "." {
		return "", fmt.Errorf("%w: the name leaves the configuration's directory", ErrInclude)
	}
	return name, nil
}

// recordKeys begin a record of slurm.conf; inside another record they are an
// error and not merely unknown.
var recordKeys = []string{"nodename", "partitionname", "nodeset", "downnodes"}

// fill stores words in a record. Unknown keys become warnings.
func fill[R any](rd *reader, r *R, keys table[R], ws []word, file, what string) {
	for i, w := range ws {
		at := Origin{file, w.line}
		k := strings.ToLower(w.key)
		set, ok := keys[k]
		switch {
		case !ok && slices.Contains(recordKeys, k):
			rd.fail(at, w.text(), fmt.Errorf("%w: %s begins a record of its own and cannot stand in a %s line", ErrSyntax, w.key, what))
			continue
		case !ok:
			rd.warn(at, w.text(), "unknown key of a %s line, ignored", what)
			continue
		case w.op != '=':
			rd.fail(at, w.text(), fmt.Errorf("%w: only = is possible here", ErrSyntax))
			continue
		}
		for _, e := range ws[:i] {
			if strings.EqualFold(e.key, w.key) {
				rd.warn(at, w.text(), "the key stands twice on the line, the last one counts")
				break
			}
		}
		if err := set(r, w, at); err != nil {
			rd.fail(at, w.text(), err)
		}
	}
}

// A slurmReader reads slurm.conf.
type slurmReader struct {
	*reader
	files *Files
	node  Node      // the DEFAULT of nodes so far
	part  Partition // the DEFAULT of partitions so far
}

func (s *slurmReader) file(name string, at Origin, stack []string) {
	s.lines(name, at, stack, s.line)
}

func (s *slurmReader) line(ws []word, file string) {
	f := s.files
	switch strings.ToLower(ws[0].key) {
	case "nodename":
		n := s.node
		fill(s.reader, &n, nodeKeys, ws, file, "NodeName")
		if strings.EqualFold(n.Names.V, "DEFAULT") {
			n.Names = Value[string]{}
			s.node = n
			return
		}
		f.Nodes = append(f.Nodes, n)
	case "partitionname":
		p := s.part
		fill(s.reader, &p, partitionKeys, ws, file, "PartitionName")
		if strings.EqualFold(p.Name.V, "DEFAULT") {
			p.Name = Value[string]{}
			s.part = p
			return
		}
		f.Partitions = append(f.Partitions, p)
	case "nodeset":
		var n NodeSet
		fill(s.reader, &n, nodeSetKeys, ws, file, "NodeSet")
		f.NodeSets = append(f.NodeSets, n)
	case "downnodes":
		var d DownNode
		fill(s.reader, &d, downNodeKeys, ws, file, "DownNodes")
		f.DownNodes = append(f.DownNodes, d)
	default:
		s.params(ws, file)
	}
}

// params reads a line of parameters. Unlike a record it may hold words that
// have nothing to do with each other.
func (s *slurmReader) params(ws []word, file string) {
	for _, w := range ws {
		at := Origin{file, w.line}
		k := strings.ToLower(w.key)
		s.files.unheeded(w.key, w.val)
		set, ok := paramKeys[k]
		switch {
		case ok && w.op != '=':
			s.fail(at, w.text(), fmt.Errorf("%w: only = is possible here", ErrSyntax))
		case ok:
			if err := set(&s.files.Params, w, at); err != nil {
				s.fail(at, w.text(), err)
			}
		case slices.Contains(recordKeys, k):
			s.fail(at, w.text(), fmt.Errorf("%w: %s must be the first word of its line", ErrSyntax, w.key))
		case !otherKeys[k]:
			s.warn(at, w.text(), "unknown parameter, ignored")
		}
	}
}

// gres reads gres.conf.
func (rd *reader) gres(name string) []GresLine {
	var out []GresLine
	rd.size = func(text string) { out = slices.Grow(out, strings.Count(text, "Name=")/2) }
	defer func() { rd.size = nil }()
	rd.lines(name, Origin{}, nil, func(ws []word, file string) {
		var g GresLine
		g.At = Origin{file, ws[0].line}
		fill(rd, &g, gresKeys, ws, file, "gres.conf")
		if g.BadLinks {
			rd.warn(g.Links.At, "Links", "not a list of link counts with one -1, ignored")
		}
		out = append(out, g)
	})
	return out
}

// cgroup reads cgroup.conf.
func (rd *reader) cgroup(name string) Cgroup {
	var c Cgroup
	rd.lines(name, Origin{}, nil, func(ws []word, file string) { fill(rd, &c, cgroupKeys, ws, file, "cgroup.conf") })
	return c
}

// topology reads topology.conf into one topology. Slurm refuses a file with an
// unknown key.
func (rd *reader) topology(name string) []Topology {
	var t Topology
	rd.lines(name, Origin{}, nil, func(ws []word, file string) {
		var r topoLine
		for _, w := range ws {
			at := Origin{file, w.line}
			set, ok := topoKeys[strings.ToLower(w.key)]
			if !ok {
				rd.fail(at, w.text(), refusedErr("no such key of topology.conf"))
			} else if err := set(&r, w, at); err != nil {
				rd.fail(at, w.text(), err)
			}
		}
		at := Origin{file, ws[0].line}
		switch {
		case t.At.IsZero():
			t.At, t.Kind, t.Name = at, r.kind, Value[string]{"default", at}
		case t.Kind != r.kind:
			rd.fail(at, ws[0].text(), refusedErr("a %s record in a %s file", r.kind, t.Kind))
			return
		}
		if r.sizes.IsSet() {
			t.BlockSizes = r.sizes
		} else if !r.unit.Name.IsSet() {
			rd.fail(at, ws[0].text(), refusedErr("the record has no name"))
		} else {
			t.Units = append(t.Units, r.unit)
		}
	})
	if t.At.IsZero() {
		t.At, t.Name = Origin{name, 1}, Value[string]{"default", Origin{name, 1}}
	}
	return []Topology{t}
}

// ReadGres reads one file in the format of gres.conf.
func ReadGres(fsys fs.FS, name string) ([]GresLine, []Warning, error) {
	rd := &reader{fsys: fsys}
	out := rd.gres(name)
	if err := rd.err(); err != nil {
		return nil, nil, err
	}
	return out, rd.warnings, nil
}

// ReadTopology reads one file in the format of topology.conf, or of
// topology.yaml if its name ends in .yaml or .yml. The topologies are as
// written; see [CheckTopologies] for what Slurm demands of them.
func ReadTopology(fsys fs.FS, name string) ([]Topology, []Warning, error) {
	rd := &reader{fsys: fsys}
	var out []Topology
	if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
		out = rd.topologyYAML(name)
	} else {
		out = rd.topology(name)
	}
	if err := rd.err(); err != nil {
		return nil, nil, err
	}
	return out, rd.warnings, nil
}

// ReadCgroup reads one file in the format of cgroup.conf.
func ReadCgroup(fsys fs.FS, name string) (Cgroup, []Warning, error) {
	rd := &reader{fsys: fsys}
	out := rd.cgroup(name)
	if err := rd.err(); err != nil {
		return Cgroup{}, nil, err
	}
	return out, rd.warnings, nil
}
