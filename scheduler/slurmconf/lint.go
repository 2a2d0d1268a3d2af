package slurmconf

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
)

// A Finding is one trap; see [sbatch.Finding].
type Finding = sbatch.Finding

// An Inventory is what is known about the real machines and scripts of a site.
type Inventory struct {
	// Nodes are what was detected on nodes.
	Nodes []InventoryNode
	// Scripts are the site's prologs, epilogs and monitors.
	Scripts []InventoryScript
}

// An InventoryNode says what was found on each node of a hostlist.
type InventoryNode struct {
	// Names is a hostlist.
	Names string
	// GPUs are the names of the detected devices, one each, as NVML prints
	// them.
	GPUs []string
}

// An InventoryScript is the text of a script.
type InventoryScript struct{ Name, Text string }

// Lint looks for the traps of a configuration: settings that Slurm refuses, or
// takes and then works against what was meant. inv may be nil; the rules that
// need it are then silent. The findings are ordered by file, line and rule.
//
// Files that Slurm would refuse are welcome: every rule looks at the values by
// itself.
//
// Source: shared cases, part 2; the rule's code is that of its table.
func Lint(f *Files, inv *Inventory) []Finding {
	if inv == nil {
		inv = new(Inventory)
	}
	s := newSite(f, inv)
	for _, rule := range []func(*site){
		(*site).lintTRES, (*site).lintBilling, (*site).lintPriority, (*site).lintPreemptCluster, (*site).lintPreemptQOS,
		(*site).lintPreemptParts, (*site).lintGresTypes, (*site).lintNodeGres, (*site).lintGresConf, (*site).lintInventory,
		(*site).lintPartGPU, (*site).lintCgroup, (*site).lintTopologyFiles, (*site).lintBlocks, (*site).lintTree, (*site).lintTopologyUse,
		(*site).lintTime, (*site).lintLimits, (*site).lintQOS,
	} {
		rule(s)
	}
	slices.SortStableFunc(s.out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return s.out
}

// A site is a configuration with the facts that several rules need. It is built
// as far as the files allow; what is wrong is the loader's to report.
type site struct {
	f   *Files
	inv *Inventory
	b   *builder
	out []Finding
	// index numbers the nodes in the order of their lines; items are the Gres
	// lists of the NodeName lines.
	index map[string]int
	items [][]gresItem
	parts []sitePart
}

// A sitePart is a partition with its nodes.
type sitePart struct {
	p     *Partition
	spec  *scheduler.PartitionSpec
	nodes []uint64 // by site.index
	lines []int    // NodeName lines with a node in it
}

func newSite(f *Files, inv *Inventory) *site {
	b := &builder{f: f, rd: &reader{}, files: map[string][]string{}}
	b.nodes()
	b.nodeSets()
	b.partitions()
	b.tracked()
	b.accounting()
	s := &site{f: f, inv: inv, b: b, index: map[string]int{}, items: make([][]gresItem, len(f.Nodes))}
	for i := range f.Nodes {
		s.items[i], _ = parseNodeGres(f.Nodes[i].Gres.V)
		for _, name := range b.names[i] {
			if _, ok := s.index[name]; !ok {
				s.index[name] = len(s.index)
			}
		}
	}
	for i := range f.Partitions {
		p := &f.Partitions[i]
		for j := range b.cfg.Partitions {
			if spec := &b.cfg.Partitions[j]; spec.Name == p.Name.V {
				s.parts = append(s.parts, s.part(p, spec))
				break
			}
		}
	}
	return s
}

func (s *site) part(p *Partition, spec *scheduler.PartitionSpec) sitePart {
	q := sitePart{p: p, spec: spec, nodes: make([]uint64, (len(s.index)+63)/64)}
	seen := make([]bool, len(s.f.Nodes))
	add := func(name string) {
		i, ok := s.index[name]
		if !ok {
			return
		}
		q.nodes[i/64] |= 1 << (i % 64)
		if l := int(s.b.line[name]); !seen[l] {
			seen[l] = true
			q.lines = append(q.lines, l)
		}
	}
	if spec.Nodes == "ALL" {
		for _, names := range s.b.names {
			for _, n := range names {
				add(n)
			}
		}
		return q
	}
	for _, n := range s.b.expand(Value[string]{spec.Nodes, p.Nodes.At}) {
		add(n)
	}
	return q
}

// bad, warn and info record a finding.
func (s *site) bad(rule string, at Origin, cost, format string, args ...any) {
	s.find(rule, sbatch.Bad, at, cost, format, args...)
}

func (s *site) warn(rule string, at Origin, cost, format string, args ...any) {
	s.find(rule, sbatch.Warn, at, cost, format, args...)
}

func (s *site) info(rule string, at Origin, cost, format string, args ...any) {
	s.find(rule, sbatch.Info, at, cost, format, args...)
}

func (s *site) find(rule string, sev sbatch.Severity, at Origin, cost, format string, args ...any) {
	if at.File == "" {
		at.File = s.mainFile()
	}
	s.out = append(s.out, Finding{Rule: rule, Severity: sev, File: at.File, Line: at.Line, Text: fmt.Sprintf(format, args...), Cost: cost})
}

// mainFile is the file in which something missing would be written.
func (s *site) mainFile() string {
	for _, at := range []Origin{s.f.Params.ClusterName.At, s.f.Params.GresTypes.At, s.f.Params.SelectType.At} {
		if at.File != "" {
			return at.File
		}
	}
	if len(s.f.Nodes) > 0 {
		return s.f.Nodes[0].Names.At.File
	}
	return "slurm.conf"
}

// amount returns how many units of a GRES name a NodeName line has.
func (s *site) amount(line int, name string) int64 {
	n := int64(0)
	for _, g := range s.items[line] {
		if g.name == name {
			n += g.count
		}
	}
	return n
}

// gpuLines returns the lines of a partition whose nodes have GPUs.
func (s *site) gpuLines(q *sitePart) []int {
	var out []int
	for _, l := range q.lines {
		if s.amount(l, "gpu") > 0 {
			out = append(out, l)
		}
	}
	return out
}

// anyGPU returns the first NodeName line with GPUs, or -1.
func (s *site) anyGPU() int {
	for l := range s.f.Nodes {
		if s.amount(l, "gpu") > 0 {
			return l
		}
	}
	return -1
}

// shape returns the CPUs and memory of a line's nodes.
func (s *site) shape(line int) (sockets, cores, cpus, mem int64) {
	n := &s.f.Nodes[line]
	b := builder{f: s.f, rd: &reader{}}
	spec, ok := b.node(n)
	if !ok {
		return 1, 1, 1, 1
	}
	cpus = int64(spec.CPUs)
	if cpus == 0 {
		cpus = int64(spec.Sockets) * int64(spec.CoresPerSocket) * int64(spec.ThreadsPerCore)
	}
	return int64(spec.Sockets), int64(spec.CoresPerSocket), cpus, spec.MemMiB
}

// tracked reports whether a TRES is tracked.
func (s *site) tracked(name string) bool { return hasFold(s.f.TRES(), name) }

// memoryUsed reports whether memory is a resource.
func (s *site) memoryUsed() bool {
	for _, w := range s.f.Params.SelectTypeParameters.V {
		switch w {
		case "cr_cpu", "cr_core", "cr_socket":
			return false
		}
	}
	return true
}

// quality returns a QOS as the commands leave it.
func (s *site) quality(name string) *scheduler.QOSSpec {
	for i := range s.b.cfg.QOS {
		if s.b.cfg.QOS[i].Name == name {
			return &s.b.cfg.QOS[i]
		}
	}
	return nil
}

// qosAt finds where a key of a QOS was last set, or where the QOS was made.
func (s *site) qosAt(name string, keys ...string) Origin {
	var at Origin
	for _, c := range s.f.Accounts {
		if c.Entity != QOSEntity || c.Verb == Show || len(c.Names) > 0 && !slices.Contains(c.Names, name) {
			continue
		}
		if at.IsZero() {
			at = c.At
		}
		for _, set := range c.Set {
			if slices.Contains(keys, set.Key) {
				at = set.At
			}
		}
	}
	return at
}

// overlap returns how many nodes two partitions share.
func overlap(a, b *sitePart) int {
	n := 0
	for i := range a.nodes {
		n += bits.OnesCount64(a.nodes[i] & b.nodes[i])
	}
	return n
}

// together reports whether one job could go to either partition.
func together(a, b *scheduler.PartitionSpec) bool {
	if a.RootOnly || b.RootOnly {
		return false
	}
	for _, l := range [...][2][]string{{a.AllowAccounts, b.AllowAccounts}, {a.AllowQOS, b.AllowQOS}, {a.AllowGroups, b.AllowGroups}} {
		if len(l[0]) > 0 && len(l[1]) > 0 && !slices.ContainsFunc(l[0], func(n string) bool { return hasFold(l[1], n) }) {
			return false
		}
	}
	return true
}

// limitValue returns a limit of a list by its name.
func limitValue(list []scheduler.LimitSpec, name string) (string, bool) {
	for _, l := range list {
		if l.Name == name {
			return l.Value, true
		}
	}
	return "", false
}

// limitItems cuts a TRES list into names and values.
func limitItems(v string) [][2]string {
	var out [][2]string
	for f := range strings.SplitSeq(v, ",") {
		n, val, ok := strings.Cut(f, "=")
		if ok {
			out = append(out, [2]string{strings.ToLower(strings.TrimRight(strings.TrimSpace(n), "+-")), val})
		}
	}
	return out
}
