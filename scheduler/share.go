package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// Jobs of a partition with OverSubscribe=FORCE:n, or YES:n and -s, may hold the
// same cores, n of them: each lies in one of n rows on all its nodes, and within a
// row a core is one job's (spec: cores 7.2). Profile Best counts the sharers of each
// core instead, see share_time.go. A job tries the idle cores of all nodes
// first, then the rows in use, fullest first, then an empty one. What a node has in
// use is the union of the rows. Jobs that share and jobs that do not keep off each
// other's nodes.

// sharers is the default of n.
const sharers = 4

// readShare reads an OverSubscribe: how many jobs may hold a core, and whether only
// those may that ask.
func readShare(text string) (rows int, asked bool, err error) {
	word, count, given := strings.Cut(strings.ToUpper(text), ":")
	rows = 1
	switch word {
	case "", "NO", "EXCLUSIVE":
		if given {
			err = ErrSpec
		}
	case "YES", "FORCE":
		rows, asked = sharers, word == "YES"
		if given {
			if rows, err = strconv.Atoi(count); err == nil && (rows < 1 || rows > 1<<10) {
				err = ErrSpec
			}
		}
	default:
		err = ErrSpec
	}
	if err != nil {
		return 1, false, fmt.Errorf("OverSubscribe %q: %w", text, ErrSpec)
	}
	return rows, asked, nil
}

// sharesIn reports whether a job shares cores in a partition.
func (p *partition) sharesIn(s *JobSpec) bool { return p.rows > 1 && (!p.askShare || s.Oversubscribe) }

// buildShares makes the rows of the partitions and puts the jobs that run into
// them, as numbered by the jobs.
func (e *engine) buildShares() {
	e.sharing = false
	var words []int
	for p := range e.parts {
		part := &e.parts[p]
		part.share = nil
		if part.rows <= 1 {
			continue
		}
		e.sharing = true
		if e.cfg.Profile == ProfileBest {
			continue
		}
		if words == nil {
			words = make([]int, len(e.nodes))
			for n := range e.there.All() {
				words[n] = e.pool.Shape(int32(n)).CoreWords()
			}
		}
		part.share = gres.NewCoreRows(part.rows, words)
	}
	if !e.sharing {
		return
	}
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.id != 0 && j.running() && j.shareRow > 0 {
			e.addRow(j)
		}
	}
	for n := range e.there.All() {
		e.settleCores(n)
	}
}

func (e *engine) addRow(j *job) {
	if rows := e.parts[j.parts[j.partIdx]].share; rows != nil && int(j.shareRow) <= rows.Len() {
		for i := range j.alloc {
			rows.Add(int(j.shareRow)-1, int(j.alloc[i].node), j.alloc[i].grant.Cores)
		}
	}
}

// placeRows places a class that may share cores: on idle ones, else row by row.
func (e *engine) placeRows(c *class, a *attempt) bool {
	s := &e.try
	s.layer = -1
	if e.place(c, a) {
		return true
	}
	refusal := s.refusal
	if e.cfg.Profile == ProfileBest {
		return e.placeLevels(c, a, refusal)
	}
	s.rowOrder = append(s.rowOrder[:0], e.parts[c.key.part].share.Order()...)
	for _, r := range s.rowOrder {
		s.layer = r
		if e.place(c, a) {
			return true
		}
	}
	s.layer, s.refusal = -1, refusal
	return false
}

// byNode reports whether nodes must be evaluated one by one for a class: its
// partition limits CPUs, or it is tried in a row.
func (e *engine) byNode(c *class) bool {
	return e.parts[c.key.part].limited() || c.shares && e.try.layer >= 0
}

// rowCores are the cores that a class must keep off on a node over [t, t+limit) in
// the row that is tried; nil are those of the pool.
func (e *engine) rowCores(c *class, n topology.NodeID, t Time, limit time.Duration) []uint64 {
	if c.shares && e.cfg.Profile == ProfileBest {
		return e.barCores(e.sharedOver(c.key.part, n, t, t.Add(limit), e.try.layer), n)
	}
	if !c.shares || e.try.layer < 0 {
		return nil
	}
	return e.barCores(e.parts[c.key.part].share.Cores(e.try.layer, int(n)), n)
}

// barredCores are cores of a node that a try keeps off, or all others there.
type barredCores struct {
	on     *nodeGrant
	others bool
}

// barCores adds to cores those that reservations bar the job of the try from. They
// are booked in the pool as well, but jobs that share do not ask it which cores
// are in use.
func (e *engine) barCores(cores []uint64, n topology.NodeID) []uint64 {
	if !slices.ContainsFunc(e.resv.barred, func(b barredCores) bool { return b.on.node == n }) {
		return cores
	}
	s := &e.try
	s.barred = append(s.barred[:0], cores...)
	for _, b := range e.resv.barred {
		if b.on.node != n {
			continue
		}
		for w := range s.barred {
			x := b.on.grant.Cores[w]
			if b.others {
				x = ^x
			}
			s.barred[w] |= x
		}
	}
	if left := e.pool.Shape(int32(n)).Cores() & 63; left > 0 {
		s.barred[len(s.barred)-1] &= 1<<left - 1
	}
	return s.barred
}

// keepKinds takes the nodes from the try on which jobs run at t that share while
// the class does not, or the reverse.
func (e *engine) keepKinds(c *class, t Time) {
	if !e.sharing {
		return
	}
	for n := range e.try.within.All() {
		for _, r := range e.nodes[n].jobs {
			j := &e.jobs.rows[r]
			gone := j.flags&flagAway != 0 || t > e.now && e.expectedEnd(j) <= t
			if !gone && (j.shareRow > 0) != c.shares {
				e.try.within.Remove(n)
				break
			}
		}
	}
}

// shareStart puts a job that starts into its row.
func (e *engine) shareStart(j *job) {
	j.shareRow = 0
	c := &e.classes.rows[j.classes[j.partIdx]]
	if !c.shares {
		return
	}
	j.shareRow = 1
	if rows := e.parts[j.parts[j.partIdx]].share; rows != nil {
		row := e.try.layer
		if row < 0 {
			row = slices.IndexFunc(rows.Order(), func(r int) bool { return e.freeIn(rows, r, j) })
			row = rows.Order()[max(row, 0)]
		}
		j.shareRow = int16(row) + 1
	}
	e.addRow(j)
	for i := range j.alloc {
		e.settleCores(j.alloc[i].node)
	}
}

// freeIn reports whether a row has a job's cores free.
func (e *engine) freeIn(rows *gres.CoreRows, row int, j *job) bool {
	for i := range j.alloc {
		for w, c := range rows.Cores(row, int(j.alloc[i].node)) {
			if w < len(j.alloc[i].grant.Cores) && c&j.alloc[i].grant.Cores[w] != 0 {
				return false
			}
		}
	}
	return true
}

// shareEnd takes a job that ends out of its row, and packs the rows anew. The job is
// on no node's list any more.
func (e *engine) shareEnd(j *job) {
	if j.shareRow == 0 {
		return
	}
	part := j.parts[j.partIdx]
	rows := e.parts[part].share
	for i := range j.alloc {
		if rows != nil && int(j.shareRow) <= rows.Len() {
			rows.Remove(int(j.shareRow)-1, int(j.alloc[i].node), j.alloc[i].grant.Cores)
		}
		e.settleCores(j.alloc[i].node)
	}
	j.shareRow = 0
	if rows != nil {
		e.repack(part, rows)
	}
}

// repack puts the jobs of a partition into as few rows as Slurm does.
func (e *engine) repack(part int32, rows *gres.CoreRows) {
	var ids []int32
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.id != 0 && j.running() && j.shareRow > 0 && j.parts[j.partIdx] == part {
			ids = append(ids, int32(r))
		}
	}
	// In order of ids: rows of the table are numbered anew when a snapshot is read.
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Compare(e.jobs.rows[a].id, e.jobs.rows[b].id) })
	jobs := make([]gres.RowJob, len(ids))
	for i, r := range ids {
		j := &e.jobs.rows[r]
		jobs[i].Row = int(j.shareRow) - 1
		for k := range j.alloc {
			jobs[i].Nodes = append(jobs[i].Nodes, int(j.alloc[k].node))
			jobs[i].Cores = append(jobs[i].Cores, j.alloc[k].grant.Cores)
		}
	}
	if rows.Repack(jobs) {
		for i, r := range ids {
			e.jobs.rows[r].shareRow = int16(jobs[i].Row) + 1
		}
	}
}

// settleCores stores as used on a node what its jobs that share hold together.
func (e *engine) settleCores(n topology.NodeID) {
	if union, some := e.sharedCores(n, Never); some || len(e.nodes[n].jobs) == 0 {
		e.pool.SetUsedCores(int32(n), union)
	}
}

// sharedCores is the union of what the jobs that share hold on a node and have not
// ended by t; Never is what they hold now. It reports whether there are any.
func (e *engine) sharedCores(n topology.NodeID, t Time) (union []uint64, some bool) {
	s := &e.try
	words := e.pool.Shape(int32(n)).CoreWords()
	s.shared = slices.Grow(s.shared[:0], words)[:words]
	clear(s.shared)
	for _, r := range e.nodes[n].jobs {
		j := &e.jobs.rows[r]
		if j.shareRow == 0 {
			continue
		}
		some = true
		if j.flags&flagAway != 0 || t != Never && e.expectedEnd(j) <= t {
			continue
		}
		for w, c := range j.grantOn(n).Cores {
			s.shared[w] |= c
		}
	}
	return s.shared, some
}

// shareAway takes a job that a trial removes out of its row; shareBack puts it
// back. The pool's undo log does the rest.
func (e *engine) shareAway(j *job) {
	if j.shareRow == 0 {
		return
	}
	rows := e.parts[j.parts[j.partIdx]].share
	for i := range j.alloc {
		if rows != nil {
			rows.Remove(int(j.shareRow)-1, int(j.alloc[i].node), j.alloc[i].grant.Cores)
		}
		e.settleCores(j.alloc[i].node)
	}
}

func (e *engine) shareBack(j *job) {
	if j.shareRow > 0 {
		e.addRow(j)
	}
}
