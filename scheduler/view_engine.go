package scheduler

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/topology"
)

// View calls read with a look into the books; see Scheduler.
func (e *engine) View(read func(View)) { read(&view{e: e}) }

// A view is the engine's View.
type view struct {
	e *engine
	// mf explains priorities; the engine's own is left alone.
	mf *priority.Multifactor
}

func (v *view) Jobs() iter.Seq[JobView] {
	return func(yield func(JobView) bool) {
		ids := make([]JobID, 0, v.e.jobs.ids.n)
		for r := range v.e.jobs.rows {
			if id := v.e.jobs.rows[r].id; id != 0 {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		for _, id := range ids {
			if !yield(v.e.jobView(v.e.jobs.find(id))) {
				return
			}
		}
	}
}

func (v *view) Job(id JobID) (JobView, bool) {
	r := v.e.jobs.find(id)
	if r < 0 {
		return JobView{}, false
	}
	return v.e.jobView(r), true
}

func (v *view) Spec(id JobID) *JobSpec {
	r := v.e.jobs.find(id)
	if r < 0 {
		return nil
	}
	s := v.e.jobs.rows[r].asked()
	return &s
}

func (e *engine) jobView(r int32) JobView {
	j := &e.jobs.rows[r]
	s := j.spec
	w := JobView{
		ID: j.id, Name: j.own.Name, User: j.own.User, Account: e.accountName(j), State: j.state, Reason: j.reason, Priority: j.prio,
		Partition: e.parts[j.parts[j.partIdx]].spec.Name, Submit: j.submit, Eligible: j.eligible, Start: j.start, End: j.end,
		Limit: j.limit, Tasks: s.Tasks, Restarts: j.restarts, Completing: j.closing != 0 && j.running(),
	}
	w.QOS = e.qosName(j)
	if j.start == Never {
		w.Start, w.End = 0, 0
	}
	if j.eligible == Never {
		w.Eligible = 0
	}
	if j.state == StatePending {
		w.Planned = j.start != Never
		c := &e.classes.rows[j.classes[j.partIdx]]
		w.Nodes, w.CPUs = c.min, int64(c.req.MinCPUs)
		for i := range c.req.Needs[:c.req.NumNeeds] {
			if n := &c.req.Needs[i]; n.Name == gres.NameGPU {
				w.GPUs += max(n.PerJob, n.PerNode*int64(c.min))
			}
		}
		return w
	}
	w.Nodes = int32(len(j.alloc))
	if j.running() {
		// Slurm's figure: tasks as asked or derived, else one a node.
		if w.Tasks = e.classes.rows[j.classes[j.partIdx]].req.Tasks; w.Tasks == 0 {
			w.Tasks = w.Nodes
		}
	}
	for i := range j.alloc {
		w.CPUs += j.alloc[i].grant.CPUs
	}
	u := e.use(j)
	w.MemMiB, w.GPUMilli = u.memMiB, u.gpuMilli
	w.GPUs = (u.gpuMilli + 999) / 1000
	if w.CPUs == 0 {
		w.CPUs = (u.cpuMilli + 999) / 1000
	}
	return w
}

func (v *view) AppendAlloc(dst []NodeAlloc, id JobID) []NodeAlloc {
	r := v.e.jobs.find(id)
	if r < 0 {
		return dst
	}
	j := &v.e.jobs.rows[r]
	for i := range j.alloc {
		dst = append(dst, v.e.nodeAlloc(&j.alloc[i]))
	}
	return dst
}

func (v *view) AppendAllocText(dst []byte, id JobID) []byte {
	if r := v.e.jobs.find(id); r >= 0 {
		dst = v.e.appendAllocText(dst, &v.e.jobs.rows[r])
	}
	return dst
}

func (v *view) AppendTRES(dst []byte, id JobID) []byte {
	if r := v.e.jobs.find(id); r >= 0 && len(v.e.jobs.rows[r].alloc) > 0 {
		dst = v.e.appendTRES(dst, &v.e.jobs.rows[r])
	}
	return dst
}

func (v *view) AppendPlan(dst []byte, id JobID) []byte {
	if r := v.e.jobs.find(id); r >= 0 && v.e.jobs.rows[r].state == StatePending {
		dst = append(dst, v.e.hosts(v.e.plannedNodes(r))...)
	}
	return dst
}

func (v *view) AppendNodeGRES(dst []byte, node string) []byte {
	id, ok := v.e.names.ID(node)
	if !ok {
		return dst
	}
	sh := v.e.pool.Shape(int32(id))
	dst = sh.AppendNodeGRES(append(dst, "Gres="...), v.e.devices)
	return sh.AppendNodeUsed(append(dst, " GresUsed="...), v.e.devices, v.e.pool.Row(int32(id)))
}

// nodeAlloc is what a grant says in names.
func (e *engine) nodeAlloc(a *nodeGrant) NodeAlloc {
	sh := e.pool.Shape(int32(a.node))
	n := NodeAlloc{Node: e.names.Name(a.node), CPUs: a.grant.CPUs, CPUMilli: a.grant.MilliCPU, MemMiB: a.grant.MemMiB}
	for w, x := range a.grant.Cores {
		for ; x != 0; x &= x - 1 {
			n.Cores = append(n.Cores, int32(w<<6|bits.TrailingZeros64(x)))
		}
	}
	for _, d := range a.grant.Devices {
		n.Devices = append(n.Devices, DeviceAlloc{
			Name: e.devices.Name(sh.GroupName(int(d.Group))), Type: e.devices.Type(d.Type), Index: int32(d.Device), Units: d.Units, Start: d.Start, Recut: d.Recut,
		})
	}
	return n
}

func (v *view) Nodes() iter.Seq[NodeView] {
	return func(yield func(NodeView) bool) {
		for i := range v.e.there.All() {
			if !yield(v.e.nodeView(i)) {
				return
			}
		}
	}
}

func (e *engine) nodeView(id topology.NodeID) NodeView {
	n := &e.nodes[id]
	spec := &e.cfg.Nodes[n.spec]
	sh, row := e.pool.Shape(int32(id)), e.pool.Row(int32(id))
	w := NodeView{
		Name: e.names.Name(id), State: n.state, Reason: n.reason, Weight: e.weightOf(id), Features: spec.Features,
		CPUMilli: sh.MilliCPU(), CPUMilliUsed: sh.MilliCPU() - sh.FreeMilliCPU(row),
		MemMiB: sh.MemMiB(), MemUsedMiB: sh.UsedMem(row), Jobs: int32(len(n.jobs)),
	}
	if g := sh.Group(gres.NameGPU); g >= 0 {
		w.GPUs = sh.WholeDevices(g)
		w.GPUMilliUsed = usedGPUMilli(sh, row, g)
	}
	w.Reservation, w.Maintenance = e.reserved(int32(id))
	return w
}

// usedGPUMilli counts what is in use of group g in thousandths of a device.
func usedGPUMilli(sh *gres.Shape, row []uint64, g int) int64 {
	if sh.NumDevices(g) == 0 {
		return sh.UsedCount(row, g) * 1000
	}
	var n int64
	for d := range sh.NumDevices(g) {
		n += gpuMilli(sh, g, d, sh.UsedUnits(row, g, d))
	}
	return n
}

// gpuMilli is what units of a device are in thousandths of a gpu; 0 for other
// names.
func gpuMilli(sh *gres.Shape, g, d int, units int64) int64 {
	if sh.GroupName(g) != gres.NameGPU {
		return 0
	}
	if d >= 0 && (sh.GroupFlags(g)&gres.Divisible != 0 || sh.GroupPartition(g) != nil) {
		return units * 1000 / sh.DeviceUnits(g, d)
	}
	return units * 1000
}

func (v *view) Queue() iter.Seq[JobID] {
	return func(yield func(JobID) bool) {
		all := append(slices.Clone(v.e.queue.sorted), v.e.queue.incoming...)
		slices.SortFunc(all, compareRecords)
		seen := make(map[JobID]bool) // of several records the first counts
		for i := range all {
			q := &all[i]
			if !v.e.alive(q) || seen[q.id] {
				continue
			}
			if v.e.jobs.rows[q.row].records > 1 {
				seen[q.id] = true
			}
			if !yield(q.id) {
				return
			}
		}
	}
}

func (v *view) Accounts() iter.Seq[AssocSpec] { return slices.Values(v.e.cfg.Accounts) }

func (v *view) QOS() iter.Seq[QOSSpec] { return slices.Values(v.e.cfg.QOS) }

func (v *view) Partitions() iter.Seq[PartitionSpec] {
	return func(yield func(PartitionSpec) bool) {
		for i := range v.e.parts {
			if !yield(v.e.parts[i].spec) {
				return
			}
		}
	}
}

func (v *view) Metrics() Metrics {
	m := v.e.counts
	m.Now = v.e.now
	m.Nodes = v.e.there.Count()
	return m
}

func (v *view) Hash() uint64 { return v.e.hash() }
