package gres

import (
	"math/bits"
	"slices"
)

// CoreRows are the rows of a partition whose jobs may share cores (Slurm:
// OverSubscribe=YES:n or FORCE:n): in each row a core of a node belongs to at
// most one job, so n rows let n jobs use a core. A job lies in one row on all
// its nodes. The use row of a node then holds the union of the rows; see
// [Shape.SetUsedCores].
//
// Source: spec/cores.md 7.2.
type CoreRows struct {
	off   []int // first word of each node, and the end
	words [][]uint64
	used  []int // cores in use by row
	order []int
}

// NewCoreRows returns n empty rows over nodes with the given numbers of core
// words ([Shape.CoreWords]), in node order. It panics if n is below 1.
func NewCoreRows(n int, coreWords []int) *CoreRows {
	if n < 1 {
		panic("gres: no core rows")
	}
	r := &CoreRows{off: make([]int, 1, len(coreWords)+1), used: make([]int, n)}
	for _, w := range coreWords {
		r.off = append(r.off, r.off[len(r.off)-1]+w)
	}
	for range n {
		r.words = append(r.words, make([]uint64, r.off[len(r.off)-1]))
	}
	return r
}

// Len returns the number of rows.
func (r *CoreRows) Len() int { return len(r.words) }

// Cores returns what is in use of node in row: the core set to evaluate the
// node with ([NodeRow]). It aliases r.
func (r *CoreRows) Cores(row, node int) []uint64 {
	return r.words[row][r.off[node]:r.off[node+1]:r.off[node+1]]
}

// Order returns the rows in the order in which a job tries them: those in use,
// fullest first, lowest index on ties, then one empty row if there is one. The
// result is valid until the next call.
func (r *CoreRows) Order() []int {
	r.order = r.order[:0]
	for i := range r.words {
		if r.used[i] > 0 {
			r.order = append(r.order, i)
		}
	}
	slices.SortFunc(r.order, func(a, b int) int {
		if d := r.used[b] - r.used[a]; d != 0 {
			return d
		}
		return a - b
	})
	if i := slices.Index(r.used, 0); i >= 0 {
		r.order = append(r.order, i)
	}
	return r.order
}

// Add books cores of node in row. They must be free there.
func (r *CoreRows) Add(row, node int, cores []uint64) {
	for i, w := range cores {
		r.words[row][r.off[node]+i] |= w
		r.used[row] += bits.OnesCount64(w)
	}
}

// Remove takes cores of node off row: the inverse of Add.
func (r *CoreRows) Remove(row, node int, cores []uint64) {
	for i, w := range cores {
		r.words[row][r.off[node]+i] &^= w
		r.used[row] -= bits.OnesCount64(w)
	}
}

// UnionTo stores in dst the cores of node that any row uses and returns it.
func (r *CoreRows) UnionTo(dst []uint64, node int) []uint64 {
	dst = zeroed(dst, r.off[node+1]-r.off[node])
	for i := range r.words {
		for w, x := range r.Cores(i, node) {
			dst[w] |= x
		}
	}
	return dst
}

// A RowJob is a job as [CoreRows.Repack] sees it.
type RowJob struct {
	// Row it lies in; Repack changes it.
	Row int
	// Nodes it has, ascending, and its cores on each.
	Nodes []int
	Cores [][]uint64
}

// first returns node and core of the job's first core.
func (j *RowJob) first() (node, core int) {
	if len(j.Nodes) == 0 {
		return 1 << 30, 0
	}
	return j.Nodes[0], nextBit(j.Cores[0], 0)
}

// Repack puts the jobs, which must be all that r holds, into as few rows as
// Slurm does when one has ended: sorted by first core, each into the first row
// with room. If a job would be left over, everything stays as it was and ok is
// false.
func (r *CoreRows) Repack(jobs []RowJob) (ok bool) {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		an, ac := jobs[a].first()
		bn, bc := jobs[b].first()
		if an != bn {
			return an - bn
		}
		return ac - bc
	})
	fresh := &CoreRows{off: r.off, used: make([]int, len(r.words))}
	for range r.words {
		fresh.words = append(fresh.words, make([]uint64, len(r.words[0])))
	}
	rows := make([]int, len(jobs))
	for _, i := range order {
		row := 0
		for row < len(fresh.words) && !fresh.room(row, &jobs[i]) {
			row++
		}
		if row == len(fresh.words) {
			return false
		}
		for k, n := range jobs[i].Nodes {
			fresh.Add(row, n, jobs[i].Cores[k])
		}
		rows[i] = row
	}
	for i := range jobs {
		jobs[i].Row = rows[i]
	}
	r.words, r.used = fresh.words, fresh.used
	return true
}

func (r *CoreRows) room(row int, j *RowJob) bool {
	for k, n := range j.Nodes {
		for w, x := range j.Cores[k] {
			if r.words[row][r.off[n]+w]&x != 0 {
				return false
			}
		}
	}
	return true
}
