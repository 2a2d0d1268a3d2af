package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/examples/internal/outcome"
	"github.com/berth-sched/berth/examples/internal/trace"
	"github.com/berth-sched/berth/examples/internal/workload"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// shape is what the flags say of equal nodes.
type shape struct {
	nodes   int
	cpus    int64
	memMiB  int64
	gpus    int64
	gpuType string
}

// A node is one machine as replay knows it.
type node struct {
	name     string
	milliCPU int64
	memMiB   int64
	gpus     int64
	model    string
	features []string
}

// A cluster is the machines and how jobs see them.
type cluster struct {
	nodes []node
	// counts says that nodes are described by counts alone: logs with parts
	// of CPUs and GPUs.
	counts bool
	// parts are the partitions that the cluster has of its own; nil: those
	// that the log names, over all nodes.
	parts []part
	// maxGPUs is the most GPUs of a node, maxCPUs the most CPUs; look sets
	// them.
	maxGPUs, maxCPUs int64
	noLimits         bool
	noMemory         bool // no job asks for memory
	// site is what -conf says, events what happens before the first job.
	site     *scheduler.Config
	events   []scheduler.Event
	warnings []string
}

type part struct {
	name        string
	first, last int // rows of nodes, last excluded
}

// input reads or makes the jobs, and the cluster they go to. For a site's own
// cluster without a log the list is nil: its jobs are made later.
func input(o *options) (*cluster, *trace.List, error) {
	var list *trace.List
	c := new(cluster)
	var err error
	if o.trace != "" {
		if list, err = trace.Open(o.trace, o.format); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case o.conf != "":
		err = c.fromConf(o.conf)
	case o.nodelist != "":
		err = c.fromList(o.nodelist)
	case o.shape.nodes > 0:
		c.fromShape(o.shape)
	case list == nil:
		c.builtIn()
	default:
		err = c.fromLog(list)
	}
	if err != nil {
		return nil, nil, err
	}
	if list == nil && c.site == nil {
		list = makeUp(o, c.workloadParts())
	}
	if list == nil {
		return c, nil, nil
	}
	c.noMemory = true
	for i := range list.Jobs {
		j := &list.Jobs[i]
		if j.MemPerNodeMiB > 0 || j.MemPerCPUMiB > 0 {
			c.noMemory = false
		}
		if c.site == nil && (j.MilliCPUPerTask%1000 != 0 || j.GPUMilli%1000 != 0) {
			c.counts = true
		}
		if j.Limit == 0 {
			c.noLimits = true
		}
	}
	return c, list, nil
}

func (c *cluster) fromList(file string) error {
	nodes, err := trace.OpenNodes(file)
	if err != nil {
		return err
	}
	c.counts = true
	for _, n := range nodes {
		add := node{name: n.Name, milliCPU: n.MilliCPU, memMiB: n.MemMiB, gpus: n.GPUs, model: n.Model}
		if n.Model != "" {
			add.features = []string{n.Model}
		}
		c.nodes = append(c.nodes, add)
	}
	return nil
}

// fromConf reads a site's own files.
func (c *cluster) fromConf(dir string) error {
	cfg, events, warnings, err := slurmconf.LoadDir(dir)
	if err != nil {
		return err
	}
	c.site, c.events = &cfg, events
	for _, w := range warnings {
		c.warnings = append(c.warnings, w.String())
	}
	return nil
}

// Defaults of nodes made of flags.
const (
	cpusPerGPU = 12
	memPerCPU  = 8192 // MiB
)

func (c *cluster) fromShape(s shape) {
	if s.cpus == 0 {
		s.cpus = max(s.gpus*cpusPerGPU, 1)
	}
	if s.memMiB == 0 {
		s.memMiB = s.cpus * memPerCPU
	}
	width := max(len(strconv.Itoa(s.nodes-1)), 2)
	for i := range s.nodes {
		n := node{name: fmt.Sprintf("n%0*d", width, i), milliCPU: s.cpus * 1000, memMiB: s.memMiB, gpus: s.gpus, model: s.gpuType}
		if s.gpuType != "" {
			n.features = []string{s.gpuType}
		}
		c.nodes = append(c.nodes, n)
	}
}

// builtIn is the cluster without flags: 24 nodes of 8 H100 and 16 of 8 A100.
func (c *cluster) builtIn() {
	add := func(prefix, model string, count int, cpus, memMiB int64) {
		first := len(c.nodes)
		for i := range count {
			c.nodes = append(c.nodes, node{name: fmt.Sprintf("%s%02d", prefix, i+1), milliCPU: cpus * 1000, memMiB: memMiB, gpus: 8, model: model,
				features: []string{model}})
		}
		c.parts = append(c.parts, part{model, first, len(c.nodes)})
	}
	add("a", "a100", 16, 64, 1<<19)
	add("h", "h100", 24, 96, 1<<20)
	c.parts = append(c.parts, part{"cpu", 0, len(c.nodes)})
}

// fromLog takes the machine that the log tells of.
func (c *cluster) fromLog(list *trace.List) error {
	switch {
	case list.Format == "swf" && (list.HeaderNodes > 0 || list.HeaderProcs > 0):
		nodes := max(list.HeaderNodes, 1)
		if list.HeaderNodes == 0 {
			nodes = list.HeaderProcs
		}
		if nodes > 1<<20 {
			return fmt.Errorf("%s: heading tells of %d nodes: say -nodes", list.File, nodes)
		}
		c.fromShape(shape{nodes: int(nodes), cpus: max(list.HeaderProcs/nodes, 1)})
	case list.Format == "ubccr":
		c.microCluster()
	default:
		return errors.New("say what cluster: -nodes (with -gpus and others), or -nodelist")
	}
	return nil
}

// microCluster is the cluster of the UB CCR tables: ten nodes of twelve CPUs.
func (c *cluster) microCluster() {
	add := func(name string, memMiB, gpus int64, features ...string) {
		c.nodes = append(c.nodes, node{name: name, milliCPU: 12000, memMiB: memMiB, gpus: gpus, features: features})
	}
	add("b1", 512000, 0, "IB", "CPU-G", "BigMem")
	add("g1", 48000, 2, "IB", "CPU-G")
	for i := range 4 {
		add("m"+strconv.Itoa(i+1), 48000, 0, "IB", "CPU-M")
	}
	for i := range 4 {
		add("n"+strconv.Itoa(i+1), 48000, 0, "IB", "CPU-N")
	}
}

// workloadParts is what the workload must know of the cluster.
func (c *cluster) workloadParts() []workload.Partition {
	gpus := func(p part) (n int64) {
		for _, node := range c.nodes[p.first:p.last] {
			n += node.gpus
		}
		return n
	}
	var parts []workload.Partition
	for _, p := range c.parts {
		n := gpus(p)
		if p.name == "cpu" {
			n = 0
		}
		parts = append(parts, workload.Partition{Name: p.name, GPUs: n})
	}
	if parts == nil {
		parts = []workload.Partition{{Name: "all", GPUs: gpus(part{last: len(c.nodes)})}}
	}
	return parts
}

// sitePartition is the default partition of a site, as wide as the cluster.
func sitePartition(cfg *scheduler.Config, nodes []outcome.Node) []workload.Partition {
	p := workload.Partition{}
	for i := range cfg.Partitions {
		if i == 0 || cfg.Partitions[i].Default {
			p.Name = cfg.Partitions[i].Name
		}
	}
	for _, n := range nodes {
		p.GPUs += n.GPUs
	}
	return []workload.Partition{p}
}

// makeUp makes a workload.
func makeUp(o *options, parts []workload.Partition) *trace.List {
	return &trace.List{File: "built-in jobs", Format: "built-in",
		Jobs: workload.Generate(workload.Config{Seed: o.seed, Jobs: o.jobs, Load: o.load, Partitions: parts})}
}

// look takes the nodes from the scheduler's books: whatever describes them,
// that is what it has to give.
func (c *cluster) look(s scheduler.Scheduler) []outcome.Node {
	kind := make(map[string]string)
	for i := range c.nodes {
		kind[c.nodes[i].name] = c.nodes[i].model
	}
	var dst []outcome.Node
	s.View(func(v scheduler.View) {
		for n := range v.Nodes() {
			dst = append(dst, outcome.Node{Name: n.Name, MilliCPU: n.CPUMilli, GPUs: n.GPUs, Type: kind[n.Name]})
			c.maxGPUs = max(c.maxGPUs, n.GPUs)
			c.maxCPUs = max(c.maxCPUs, n.CPUMilli/1000)
		}
	})
	return dst
}

// title counts nodes and GPUs.
func title(nodes []outcome.Node) string {
	s := strconv.Itoa(len(nodes)) + " nodes"
	var gpus int64
	for _, n := range nodes {
		gpus += n.GPUs
	}
	if gpus > 0 {
		s += " with " + strconv.FormatInt(gpus, 10) + " GPUs"
	}
	return s
}

// config describes the cluster to the scheduler.
func (c *cluster) config(list *trace.List, o *options) scheduler.Config {
	if c.site != nil {
		if o.ownPolicy {
			setPolicy(&c.site.Parameters, o)
		}
		if o.profile == "best" {
			c.site.Profile = scheduler.ProfileBest
		}
		return *c.site
	}
	cfg := scheduler.Config{Cluster: "replay"}
	if o.profile == "slurm" {
		cfg.Profile = scheduler.ProfileSlurm
	}
	more := c.namedFeatures(list)
	for _, n := range c.nodes {
		spec := c.nodeSpec(&n)
		spec.Features = append(slices.Clone(spec.Features), more...)
		cfg.Nodes = append(cfg.Nodes, spec)
	}
	for _, p := range c.parts {
		cfg.Partitions = append(cfg.Partitions, scheduler.PartitionSpec{Name: p.name, Nodes: c.hosts(p)})
	}
	names := c.names(list)
	if c.parts == nil {
		for _, name := range names.partitions {
			cfg.Partitions = append(cfg.Partitions, scheduler.PartitionSpec{Name: name, Nodes: "ALL"})
		}
	}
	if len(cfg.Partitions) > 0 {
		cfg.Partitions[0].Default = true
	}
	for _, name := range names.qos {
		cfg.QOS = append(cfg.QOS, scheduler.QOSSpec{Name: name})
	}
	cfg.Accounts = names.accounts
	o.scavengers(&cfg)
	// A job that asks for no memory would get all of a node's.
	sel := &cfg.Parameters.Select
	if sel.NoMemory = c.noMemory; !c.noMemory {
		sel.Defaults.DefMemPerCPU = c.memPerCPU()
	}
	setPolicy(&cfg.Parameters, o)
	return cfg
}

func setPolicy(p *scheduler.Parameters, o *options) {
	p.Plan.Mode = scheduler.PlanBackfill
	if o.lowest {
		// Slurm's least loaded nodes first: of free ones, the lowest.
		p.Select.Flags = append(p.Select.Flags, "CR_LLN")
	}
	if o.compare && !o.ownPolicy {
		return // each profile plans as it does by itself
	}
	if o.policy == "none" {
		p.Plan.Mode = scheduler.PlanNone
	}
	p.Plan.Depth = int32(o.planDepth())
}

// memPerCPU is the memory that every node has for each of its CPUs, in MiB.
func (c *cluster) memPerCPU() int64 {
	least := int64(memPerCPU)
	for _, n := range c.nodes {
		if n.milliCPU > 0 {
			least = min(least, n.memMiB*1000/n.milliCPU)
		}
	}
	return max(least, 1)
}

func (c *cluster) nodeSpec(n *node) scheduler.NodeSpec {
	spec := scheduler.NodeSpec{Names: n.name, MemMiB: n.memMiB, Features: n.features}
	if c.counts {
		spec.CPUMilli = n.milliCPU
	} else {
		spec.Sockets, spec.CoresPerSocket = 1, int32(n.milliCPU/1000)
		if cpus := spec.CoresPerSocket; cpus%2 == 0 && cpus >= 8 {
			spec.Sockets, spec.CoresPerSocket = 2, cpus/2
		}
	}
	if n.gpus > 0 {
		spec.GRES = "gpu:" + strconv.FormatInt(n.gpus, 10)
		if n.model != "" && !c.counts {
			spec.GRES = "gpu:" + n.model + ":" + strconv.FormatInt(n.gpus, 10)
		}
	}
	return spec
}

// namedFeatures are the features that jobs name and no node has, in order of
// first use: a cluster made of flags has them on every node, else such jobs
// could not run.
func (c *cluster) namedFeatures(list *trace.List) []string {
	have := make(map[string]bool)
	for _, n := range c.nodes {
		for _, f := range n.features {
			have[f] = true
		}
	}
	var dst []string
	for i := range list.Jobs {
		for f := range strings.FieldsFuncSeq(list.Jobs[i].Constraint, func(r rune) bool { return strings.ContainsRune("&|,!()[]*", r) }) {
			if _, err := strconv.Atoi(f); err != nil && !have[f] { // "[a*2]": a count is no feature
				have[f] = true
				dst = append(dst, f)
			}
		}
	}
	return dst
}

func (c *cluster) hosts(p part) string {
	var names []string
	for _, n := range c.nodes[p.first:p.last] {
		names = append(names, n.name)
	}
	return strings.Join(names, ",")
}

// names are what the log's jobs name, each in order of first use.
type names struct {
	partitions, qos []string
	accounts        []scheduler.AssocSpec
}

func (c *cluster) names(list *trace.List) names {
	var n names
	seen := make(map[[2]string]bool)
	first := func(kind, name string) bool {
		key := [2]string{kind, name}
		if name == "" || seen[key] {
			return false
		}
		seen[key] = true
		return true
	}
	var users []scheduler.AssocSpec
	for i := range list.Jobs {
		j := &list.Jobs[i]
		if first("partition", j.Partition) {
			n.partitions = append(n.partitions, j.Partition)
		}
		if first("qos", j.QOS) {
			n.qos = append(n.qos, j.QOS)
		}
		if first("account", j.Account) {
			n.accounts = append(n.accounts, scheduler.AssocSpec{Account: j.Account})
		}
		if j.Account != "" && j.User != "" && first("user of "+j.Account, j.User) {
			users = append(users, scheduler.AssocSpec{Account: j.Account, User: j.User, DefaultAccount: first("user", j.User)})
		}
	}
	// A job that names no partition goes to the first one.
	if len(n.partitions) > 0 && slices.ContainsFunc(list.Jobs, func(j trace.Job) bool { return j.Partition == "" }) {
		n.partitions = slices.Insert(n.partitions, 0, "batch")
	}
	n.accounts = append(n.accounts, users...)
	return n
}
