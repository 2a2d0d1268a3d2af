package cgroupsv2

import (
	"slices"
	"strconv"
)

// A Node is what the plans need to know of this machine.
type Node struct {
	// RealMemory is the configured memory in MiB.
	RealMemory int64
	// TracksMemory says that memory is a resource that jobs consume
	// (CR_*_Memory); without it no memory limit is written.
	TracksMemory bool
	// Mems has the memory nodes that jobs may use, as bits; nil leaves
	// cpuset.mems alone, so that the parent's are inherited. On machines whose
	// GPU memory appears as memory nodes, give the nodes that have CPUs.
	Mems []uint64
	// Records has the files of each managed device of the node (gres.conf or
	// what was found).
	Records [][]Device
	// PIDs is the most threads that a job may have at a time, 0 for no limit.
	// Slurm sets none. It counts threads, and a Go program has a dozen.
	PIDs int64
	// Grow lets a running job's memory grow, which Slurm refuses.
	Grow bool
}

// A Job is what a job holds on this node. Of SLUID and ID the configuration
// chooses one as its directory's name.
type Job struct {
	SLUID  SLUID
	ID     uint64
	CPUs   []uint64 // numbers of the machine, as bits
	Memory int64    // MiB, 0 for no limit asked
	Held   []uint64 // positions in Node.Records, as bits
}

// A Step is what one step of a job holds on this node, a part of its job's.
type Step struct {
	ID     StepID
	CPUs   []uint64
	Memory int64
	Held   []uint64
	// OOMKill ends all of the step's processes here when one runs out of
	// memory (OOMKillStep).
	OOMKill bool
	// Tasks are the step's tasks on this node.
	Tasks []Task
}

// A Task is one task of a step.
type Task struct {
	Rank int32 // global
	// Bound says that the task may open Held alone; otherwise it may open what
	// the step may.
	Bound bool
	Held  []uint64
	// Memory is a limit of the task alone in MiB, 0 for none. Slurm has none.
	Memory int64
}

// The directories inside of a step.
const (
	daemonDir  = "slurm"        // who looks after the step; limited by the job alone
	userDir    = "user"         // the level of the step's limits
	specialDir = "task_special" // processes of no numbered task
)

// AppendJobPath appends the job's directory below the tree.
func (c *Conf) AppendJobPath(dst []byte, j *Job) []byte {
	if c.JobIDPaths {
		return strconv.AppendUint(append(dst, "job_"...), j.ID, 10)
	}
	return j.SLUID.Append(dst)
}

// JobPath returns the job's directory below the tree.
func (c *Conf) JobPath(j *Job) string { return string(c.AppendJobPath(nil, j)) }

// StepPath returns the step's directory below the tree.
func (c *Conf) StepPath(j *Job, s StepID) string { return c.JobPath(j) + "/" + s.String() }

// DaemonPath returns the directory for the process that looks after a step.
func (c *Conf) DaemonPath(j *Job, s StepID) string { return c.StepPath(j, s) + "/" + daemonDir }

// UserPath returns the directory that has the step's limits and all of its
// tasks, and no process of its own.
func (c *Conf) UserPath(j *Job, s StepID) string { return c.StepPath(j, s) + "/" + userDir }

// SpecialPath returns the directory for processes of no numbered task, such as
// those that a login brought in.
func (c *Conf) SpecialPath(j *Job, s StepID) string { return c.UserPath(j, s) + "/" + specialDir }

// TaskPath returns the directory of the task with the global rank.
func (c *Conf) TaskPath(j *Job, s StepID, rank int32) string {
	return c.UserPath(j, s) + "/task_" + strconv.Itoa(int(rank))
}

// Controllers returns the controllers that the plans of this configuration
// need on this node, in alphabetical order: only what limits are written for,
// and what EnableExtraControllers adds. "all" adds those that it stands for.
func (c *Conf) Controllers(n *Node) []string {
	var list []string
	if c.ConstrainCores {
		list = append(list, "cpuset")
	}
	if n.TracksMemory && (c.ConstrainRAM || c.ConstrainSwap) {
		list = append(list, "memory")
	}
	if n.PIDs > 0 {
		list = append(list, "pids")
	}
	for _, name := range c.ExtraControllers {
		if name == "all" {
			list = append(list, "hugetlb", "io", "misc", "pids", "rdma")
		} else {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// AppendStart appends the operations that make the fence of a step: the job's
// directory and limits where it is not there yet, the step's, and its tasks'.
// Limits and filters come before anything can be started inside. The order is
// cpuset, memory, devices, from the job down. It reads its arguments alone.
//
// A batch, extern or interactive step is filtered by its job's devices alone.
// A step without tasks gets the directory for special processes, which every
// step has.
//
// Source: specification cgroupsv2.md 2, 4 and 5.
func (c *Conf) AppendStart(dst []Op, n *Node, j *Job, s *Step) []Op {
	p := planner{conf: c, node: n, need: c.Controllers(n), dst: dst}
	job, step, user := c.JobPath(j), c.StepPath(j, s.ID), c.UserPath(j, s.ID)
	p.enable(".")
	p.mkdir(job)
	p.limits(job, j.CPUs, j.Memory)
	if n.PIDs > 0 {
		p.write(job, "pids.max", strconv.FormatInt(n.PIDs, 10), VerifyNone)
	}
	p.filter(job, j.Held)
	p.enable(job)
	p.mkdir(step)
	p.enable(step)
	p.mkdir(step + "/" + daemonDir)
	p.mkdir(user)
	p.limits(user, s.CPUs, s.Memory)
	if s.OOMKill && slices.Contains(p.need, "memory") {
		p.write(user, "memory.oom.group", "1", VerifyNone)
	}
	own := s.ID >= 0
	if own {
		p.filter(user, s.Held)
	}
	p.enable(user)
	p.mkdir(c.SpecialPath(j, s.ID))
	for i := range s.Tasks {
		t := &s.Tasks[i]
		path := c.TaskPath(j, s.ID, t.Rank)
		p.mkdir(path)
		if t.Memory > 0 && slices.Contains(p.need, "memory") {
			p.write(path, "memory.max", strconv.FormatInt(share(t.Memory, 100), 10), VerifyNone)
		}
		if own && t.Bound {
			p.filter(path, t.Held)
		}
	}
	return p.dst
}

// AppendStop appends the operations that remove a step, and its job's
// directory where keep is false. They are refused as long as processes are
// inside, and a job's directory that has other steps stays.
func (c *Conf) AppendStop(dst []Op, j *Job, s StepID, keep bool) []Op {
	dst = append(dst, Op{Kind: OpRemove, Path: c.StepPath(j, s)})
	if !keep {
		dst = append(dst, Op{Kind: OpRemoveEmpty, Path: c.JobPath(j)})
	}
	return dst
}

// AppendResize appends the operations that give a running job another memory
// allocation of mib MiB: the job's limits, then those of its steps here, which
// get no more than the job. A growing job needs Node.Grow, or [ErrGrow] comes
// back and dst is unchanged. A smaller limit than what is in use makes the
// kernel kill: see [Tree.Shrinks].
//
// Source: specification cgroupsv2.md 4.3, running-job memory update.
func (c *Conf) AppendResize(dst []Op, n *Node, j *Job, steps []Step, mib int64) ([]Op, error) {
	if limit := func(m int64) int64 { return c.Memory(m, n.RealMemory).Max }; !n.Grow && limit(mib) > limit(j.Memory) {
		return dst, ErrGrow
	}
	p := planner{conf: c, node: n, need: c.Controllers(n), dst: dst}
	if !slices.Contains(p.need, "memory") {
		return dst, nil
	}
	p.memory(c.JobPath(j), mib)
	for i := range steps {
		s := &steps[i]
		own := s.Memory
		if mib > 0 && (own == 0 || own > mib || own == j.Memory) {
			own = mib
		}
		p.memory(c.UserPath(j, s.ID), own)
	}
	return p.dst, nil
}

// A planner appends operations.
type planner struct {
	conf *Conf
	node *Node
	need []string
	dst  []Op
}

func (p *planner) mkdir(path string) { p.dst = append(p.dst, Op{Kind: OpMkdir, Path: path}) }

func (p *planner) enable(path string) {
	if len(p.need) > 0 {
		p.dst = append(p.dst, Op{Kind: OpEnable, Path: path, Controllers: p.need})
	}
}

func (p *planner) write(path, file, value string, v Verify) {
	p.dst = append(p.dst, Op{Kind: OpWrite, Path: path, File: file, Value: value, Verify: v})
}

func (p *planner) limits(path string, cpus []uint64, mib int64) {
	if p.conf.ConstrainCores {
		p.write(path, "cpuset.cpus", string(AppendList(nil, cpus)), VerifyEffective)
		if p.node.Mems != nil {
			p.write(path, "cpuset.mems", string(AppendList(nil, p.node.Mems)), VerifyEffective)
		}
	}
	if p.node.TracksMemory {
		p.memory(path, mib)
	}
}

func (p *planner) memory(path string, mib int64) {
	m := p.conf.Memory(mib, p.node.RealMemory)
	for _, l := range [...]struct {
		file  string
		value int64
	}{{"memory.high", m.High}, {"memory.max", m.Max}, {"memory.swap.max", m.Swap}} {
		if l.value != Unset {
			p.write(path, l.file, strconv.FormatInt(l.value, 10), VerifyNone)
		}
	}
}

func (p *planner) filter(path string, held []uint64) {
	if !p.conf.ConstrainDevices {
		return
	}
	if rules := AppendRules(nil, p.node.Records, held); len(rules) > 0 {
		p.dst = append(p.dst, Op{Kind: OpFilter, Path: path, Filter: &Filter{Rules: rules, Allow: true}})
	}
}
