package slurmconf

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
)

// accountFiles are the names under which a directory may hold its sacctmgr
// commands or dump.
var accountFiles = []string{"sacctmgr.script", "sacctmgr.cfg", "sacctmgr.conf", "sacctmgr.dump"}

// Load reads a configuration and makes a scheduler's configuration of it, and
// the events that belong after New: states of DownNodes lines. On any error it
// returns nothing else; the error names file, line and word of everything that
// is wrong.
//
// If o names no account files, those called sacctmgr.script, .cfg, .conf and
// .dump are read. It costs O(bytes + nodes).
func Load(fsys fs.FS, o Options) (scheduler.Config, []scheduler.Event, []Warning, error) {
	if o.Accounts == nil {
		for _, name := range accountFiles {
			if _, err := fs.Stat(fsys, name); err == nil {
				o.Accounts = append(o.Accounts, name)
			}
		}
	}
	f, err := Read(fsys, o)
	if err != nil {
		return scheduler.Config{}, nil, nil, err
	}
	return f.Config()
}

// LoadDir is [Load] of a directory, whose own absolute names may be included.
func LoadDir(dir string) (scheduler.Config, []scheduler.Event, []Warning, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return scheduler.Config{}, nil, nil, fmt.Errorf("slurmconf: load %q: %w", dir, err)
	}
	return Load(os.DirFS(abs), Options{Root: filepath.ToSlash(abs)})
}

// A builder turns files into a configuration.
type builder struct {
	f    *Files
	rd   *reader // gathers errors and warnings
	cfg  scheduler.Config
	line map[string]int32 // the NodeName line of a node
	// names are the nodes of each NodeName line, in its order.
	names  [][]string
	sets   map[string]string   // NodeSet name to hostlist
	files  map[string][]string // file lists of gres.conf, expanded
	schema *gres.Schema        // the tracked resources; nil if they are no schema
	events []scheduler.Event
}

// Config makes a scheduler's configuration. See [Load].
func (f *Files) Config() (scheduler.Config, []scheduler.Event, []Warning, error) {
	b := &builder{f: f, rd: &reader{warnings: slices.Clone(f.Warnings)}, files: map[string][]string{}}
	b.cfg.Profile = scheduler.ProfileSlurm
	b.cfg.Cluster, b.cfg.MaxNodes = f.Params.ClusterName.V, clip32(f.Params.MaxNodeCount.V)
	b.tracked()
	b.nodes()
	b.nodeSets()
	b.partitions()
	b.topologies()
	b.parameters()
	b.cfg.Parameters.Unheeded = append(b.cfg.Parameters.Unheeded, b.f.Unheeded...)
	b.unheededParts()
	b.accounting()
	b.weights()
	if err := b.rd.err(); err != nil {
		return scheduler.Config{}, nil, nil, err
	}
	return b.cfg, b.events, b.rd.warnings, nil
}

// expand returns the nodes of a hostlist, or records the error.
func (b *builder) expand(v Value[string]) []string {
	names, err := topology.ParseHostlist(v.V)
	if err != nil {
		b.rd.fail(v.At, v.V, err)
	}
	return names
}

// nodes expands the NodeName lines. A node that two lines name is an error.
func (b *builder) nodes() {
	f := b.f
	b.line = make(map[string]int32, len(f.Nodes))
	b.cfg.Nodes = make([]scheduler.NodeSpec, 0, len(f.Nodes))
	b.names = make([][]string, len(f.Nodes))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		b.names[i] = b.expand(n.Names)
		for _, name := range b.names[i] {
			if j, ok := b.line[name]; ok {
				b.rd.fail(n.Names.At, name, fmt.Errorf("%w: first at %s", ErrDuplicate, f.Nodes[j].Names.At))
				break
			}
			b.line[name] = int32(i)
		}
	}
	b.checkGresTypes()
	devices := b.devices()
	for i := range f.Nodes {
		spec, ok := b.node(&f.Nodes[i])
		if !ok {
			continue
		}
		for _, g := range devices.split(i, b.names[i]) {
			s := spec
			s.Names = g.names
			s.Devices = devices.specs(g.lines, spec.GRES)
			b.cfg.Nodes = append(b.cfg.Nodes, s)
		}
	}
	for _, d := range f.DownNodes {
		b.downNodes(d)
	}
}

// maxSockets is the number of sockets that package gres can describe.
const maxSockets = 64

// node derives one node's shape.
func (b *builder) node(n *Node) (s scheduler.NodeSpec, ok bool) {
	at := n.Names.At
	boards := n.Boards.Or(1)
	cores, threads := n.CoresPerSocket.Or(1), n.ThreadsPerCore.Or(1)
	sockets := n.Sockets.Or(0)
	if n.SocketsPerBoard.IsSet() {
		per := n.SocketsPerBoard.V * boards
		if n.Sockets.IsSet() && n.Sockets.At == n.SocketsPerBoard.At && n.Sockets.V != per {
			b.rd.fail(at, n.Names.V, refusedErr("Sockets=%d and SocketsPerBoard=%d with Boards=%d contradict each other", n.Sockets.V, n.SocketsPerBoard.V, boards))
			return s, false
		}
		sockets = per
	}
	if sockets == 0 {
		sockets = max(n.CPUs.Or(1)/(cores*threads), 1)
		if sockets > maxSockets && cores == 1 {
			// Slurm infers so many sockets of one core. One socket of as many
			// cores hands them out in the same order.
			b.rd.warn(n.CPUs.At, n.Names.V, "%d sockets of one core would be inferred, one socket of %d cores is taken; write Sockets and CoresPerSocket", sockets, sockets)
			sockets, cores = 1, sockets
		}
	}
	cpus, most := n.CPUs.Or(0), sockets*cores*threads
	if most > math.MaxInt32 {
		b.rd.fail(at, n.Names.V, valueErr("%d sockets of %d cores of %d threads are too many", sockets, cores, threads))
		return s, false
	}
	if cpus != 0 && cpus != most && cpus != sockets*cores && cpus != sockets {
		b.rd.warn(n.CPUs.At, n.Names.V, "CPUs=%d is neither the cores (%d) nor the threads (%d) of the node, %d is taken", cpus, sockets*cores, most, most)
		cpus = most
	}
	if n.CoreSpecCount.Or(0) > 0 && n.CPUSpecList.V != "" {
		b.rd.fail(at, n.Names.V, refusedErr("CoreSpecCount and CpuSpecList exclude each other"))
		return s, false
	}
	state, why := nodeState(n.State.V)
	if why != "" {
		b.rd.warn(n.State.At, n.State.V, "%s", why)
	}
	return scheduler.NodeSpec{
		Sockets: int32(sockets), CoresPerSocket: int32(cores), ThreadsPerCore: int32(threads), Boards: int32(boards), CPUs: int32(cpus),
		MemMiB: n.RealMemory.Or(1), TmpMiB: n.TmpDisk.V, CoreSpecCount: int32(n.CoreSpecCount.V), CPUSpecList: n.CPUSpecList.V,
		MemSpecMiB: n.MemSpecLimit.V, RestrictedCoresPerGPU: int32(n.RestrictedCoresPerGPU.V), Weight: uint32(n.Weight.Or(1)),
		Features: n.Features.V, GRES: b.gres(n), Topology: n.Topology.V, State: state, Reason: n.Reason.V,
	}, true
}

// nodeState maps the words of a node's State.
func nodeState(s string) (_ scheduler.NodeState, why string) {
	base, _, _ := strings.Cut(s, "+")
	switch base {
	case "down":
		return scheduler.NodeDown, ""
	case "drain", "fail", "failing":
		return scheduler.NodeDrain, ""
	case "future":
		return scheduler.NodeFuture, ""
	case "cloud":
		return scheduler.NodePoweredDown, ""
	case "external":
		return scheduler.NodeDown, "an external node takes no jobs here"
	}
	if strings.Contains(s, "+drain") {
		return scheduler.NodeDrain, ""
	}
	return scheduler.NodeUp, ""
}

// downNodes makes the event of a DownNodes line.
func (b *builder) downNodes(d DownNode) {
	var known []string
	for _, name := range b.expand(d.Names) {
		if _, ok := b.line[name]; ok {
			known = append(known, name)
		} else {
			b.rd.warn(d.Names.At, name, "no NodeName line has this node, the state is ignored")
		}
	}
	if len(known) == 0 {
		return
	}
	state, _ := nodeState(d.State.Or("down"))
	b.events = append(b.events, scheduler.SetNodes(string(topology.AppendHostlist(nil, known)), state, d.Reason.V))
}

// nodeSets resolves the NodeSet lines. A set by feature holds the nodes that
// have it now; with MaxNodeCount sets are kept by name.
func (b *builder) nodeSets() {
	b.sets = make(map[string]string, len(b.f.NodeSets))
	for _, s := range b.f.NodeSets {
		if s.Name.V == "" {
			b.rd.fail(s.Name.At, "NodeSet", fmt.Errorf("%w: a node set needs a name", ErrSyntax))
			continue
		}
		if _, ok := b.sets[s.Name.V]; ok {
			b.rd.fail(s.Name.At, s.Name.V, ErrDuplicate)
			continue
		}
		var parts []string
		if b.cfg.MaxNodes > 0 {
			// Nodes that join later may belong to it.
			b.expand(s.Nodes)
			b.cfg.NodeSets = append(b.cfg.NodeSets, scheduler.NodeSetSpec{Name: s.Name.V, Nodes: s.Nodes.V, Feature: s.Feature.V})
			b.sets[s.Name.V] = s.Name.V
			continue
		}
		if s.Nodes.V != "" {
			b.known(s.Nodes, b.expand(s.Nodes))
			parts = append(parts, s.Nodes.V)
		}
		if s.Feature.V != "" {
			for i := range b.f.Nodes {
				if slices.Contains(b.f.Nodes[i].Features.V, s.Feature.V) {
					parts = append(parts, b.f.Nodes[i].Names.V)
				}
			}
		}
		b.sets[s.Name.V] = strings.Join(parts, ",")
	}
}

// maxNamed bounds how many unknown nodes an error lists.
const maxNamed = 20

// known records an error that names the nodes which no line defines.
func (b *builder) known(v Value[string], names []string) {
	var missing []string
	n := 0
	for _, name := range names {
		if _, ok := b.line[name]; !ok {
			if n++; n <= maxNamed {
				missing = append(missing, name)
			}
		}
	}
	if n == 0 {
		return
	}
	text := strings.Join(missing, ", ")
	if n > maxNamed {
		text += fmt.Sprintf(" and %d more", n-maxNamed)
	}
	b.rd.fail(v.At, v.V, fmt.Errorf("%w: no NodeName line defines %s", ErrUnknownNode, text))
}

// hosts resolves a partition's node list, in which a word may be ALL or the
// name of a node set.
func (b *builder) hosts(v Value[string]) string {
	if strings.EqualFold(v.V, "ALL") {
		return "ALL"
	}
	var out, plain []string
	for _, item := range splitOutside(v.V) {
		if set, ok := b.sets[item]; ok {
			if set != "" {
				out = append(out, set)
			}
			continue
		}
		out = append(out, item)
		plain = append(plain, item)
	}
	b.known(v, b.expand(Value[string]{strings.Join(plain, ","), v.At}))
	return strings.Join(out, ",")
}

// splitOutside cuts a hostlist at the separators outside brackets.
func splitOutside(s string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || depth == 0 && (s[i] == ',' || isBlank(s[i])) {
			if i > start {
				out = append(out, s[start:i])
			}
			start = i + 1
			continue
		}
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth = max(depth-1, 0)
		}
	}
	return out
}

// Refused reports whether err, or an error in it, is one that makes Slurm
// refuse to start although every value is well formed.
func Refused(err error) bool { return errors.Is(err, ErrRefused) }
