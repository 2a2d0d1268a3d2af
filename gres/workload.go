package gres

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A TaskShape is a form of task in a target workload: what it takes of a node.
type TaskShape struct {
	// MilliCPU in thousandths.
	MilliCPU int64
	// GPUs is the number of devices, 0 for a task without.
	GPUs int32
	// MilliGPU is the part of each device in thousandths, 1000 for whole
	// devices; 0 if GPUs is 0.
	MilliGPU int64
	// Types are the acceptable device types, ascending; empty is any.
	Types []TypeID
	// Label is the text of Types; of shapes equally frequent the larger goes
	// first. It means nothing else.
	Label string
	// Count is how often the shape occurs.
	Count int64
}

// A Workload is what a cluster expects to be asked for: the target against
// which a free GPU counts as fragment. It is immutable and may be shared.
//
// Source: spec/fragmentation.md 2.1.
type Workload struct {
	shapes []TaskShape
	total  int64      // sum of the counts
	shares []float64  // of shapes, as the study computes them
	forms  []taskForm // distinct device demands
	formOf []int32    // of a shape
	levels [100]int64 // least gain times total for a score of index+1

	// For the policy FillUp; see fill.go.
	weight int64       // sum of the weights of shapes with GPUs
	value  [1001]int32 // of what is left on a device
}

// A taskForm is a device demand with the CPU demands that come with it.
type taskForm struct {
	gpus  int32
	milli int64
	types []TypeID
	cpus  []int64 // ascending
	upTo  []int64 // counts of the shapes with cpus[:i+1]
	count int64

	weights []int64 // of the shapes with cpus[i]
	weight  int64
}

// NewWorkload returns the most frequent of shapes, taken until they make up
// cut percent of all; spec and study use 95. Shapes that are equal are
// counted together. Order of shapes does not matter.
func NewWorkload(shapes []TaskShape, cut int) *Workload {
	all := slices.Clone(shapes)
	slices.SortFunc(all, compareShapes)
	merged := all[:0]
	for _, s := range all {
		if n := len(merged); n > 0 && sameShape(&merged[n-1], &s) {
			merged[n-1].Count += s.Count
			continue
		}
		merged = append(merged, s)
	}
	slices.SortFunc(merged, func(a, b TaskShape) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), compareShapes(a, b))
	})
	var sum int64
	for i := range merged {
		sum += merged[i].Count
	}
	w := &Workload{}
	for i := range merged {
		if w.total*100 >= sum*int64(cut) {
			break
		}
		w.shapes = append(w.shapes, merged[i])
		w.total += merged[i].Count
	}
	for i := range w.shapes {
		w.shares = append(w.shares, float64(w.shapes[i].Count)/float64(sum)/(float64(w.total)/float64(sum)))
	}
	w.group()
	for i, t := range scoreLevels {
		w.levels[i] = ceilProduct(t, w.total)
	}
	return w
}

// compareShapes orders shapes that occur equally often: larger first.
func compareShapes(a, b TaskShape) int {
	return cmp.Or(cmp.Compare(b.MilliCPU, a.MilliCPU), cmp.Compare(b.MilliGPU, a.MilliGPU),
		cmp.Compare(b.GPUs, a.GPUs), strings.Compare(b.Label, a.Label), slices.Compare(b.Types, a.Types))
}

func sameShape(a, b *TaskShape) bool {
	return a.MilliCPU == b.MilliCPU && a.MilliGPU == b.MilliGPU && a.GPUs == b.GPUs && slices.Equal(a.Types, b.Types)
}

// group fills forms and formOf.
func (w *Workload) group() {
	w.formOf = make([]int32, len(w.shapes))
	for i := range w.shapes {
		s := &w.shapes[i]
		k := slices.IndexFunc(w.forms, func(f taskForm) bool {
			return f.gpus == s.GPUs && f.milli == s.MilliGPU && slices.Equal(f.types, s.Types)
		})
		if k < 0 {
			k = len(w.forms)
			w.forms = append(w.forms, taskForm{gpus: s.GPUs, milli: s.MilliGPU, types: s.Types})
		}
		w.formOf[i] = int32(k)
		f := &w.forms[k]
		at, found := slices.BinarySearch(f.cpus, s.MilliCPU)
		if !found {
			f.cpus = slices.Insert(f.cpus, at, s.MilliCPU)
			f.upTo = slices.Insert(f.upTo, at, 0)
			f.weights = slices.Insert(f.weights, at, 0)
		}
		if s.GPUs > 0 {
			v := s.Count * (10_000 - 1000 + int64(s.GPUs)*s.MilliGPU)
			f.weights[at] += v
			f.weight += v
			w.weight += v
		}
		f.upTo[at] += s.Count
		f.count += s.Count
	}
	var sizes, counts []int64
	for i := range w.forms {
		f := &w.forms[i]
		if f.gpus == 1 && f.milli < 1000 {
			if k := slices.Index(sizes, f.milli); k >= 0 {
				counts[k] += f.count
			} else {
				sizes, counts = append(sizes, f.milli), append(counts, f.count)
			}
		}
		for k := 1; k < len(f.upTo); k++ {
			f.upTo[k] += f.upTo[k-1]
		}
	}
	w.weight = max(w.weight, 1) // a divisor
	w.value = packingValue(sizes, counts)
}

// Len returns the number of shapes in w.
func (w *Workload) Len() int { return len(w.shapes) }

// Shape returns shape i of w, most frequent first.
func (w *Workload) Shape(i int) TaskShape { return w.shapes[i] }

// Share returns the part of the workload that shape i makes up, in [0, 1].
func (w *Workload) Share(i int) float64 { return w.shares[i] }

// A Learner keeps a decaying count of the shapes that were asked for, from
// which a target workload is made. The zero value does not decay and is ready.
type Learner struct {
	// HalfLife is the time after which a request counts half; 0 is never.
	HalfLife time.Duration

	shapes []TaskShape // Count in units of 2⁻²⁰ requests
	left   time.Duration
}

// learnerUnit is what one request counts.
const learnerUnit = 1 << 20

// Observe counts one request. O(shapes).
func (l *Learner) Observe(s TaskShape) {
	for i := range l.shapes {
		if sameShape(&l.shapes[i], &s) {
			l.shapes[i].Count = SatAdd(l.shapes[i].Count, learnerUnit)
			return
		}
	}
	s.Types = slices.Clone(s.Types)
	s.Count = learnerUnit
	l.shapes = append(l.shapes, s)
}

// Advance lets the time d pass. Counts fall in steps of 1/64 of the half-life,
// so many short times do the same as one long one; shapes that count less than
// 1/1000 of a request are forgotten.
func (l *Learner) Advance(d time.Duration) {
	step := l.HalfLife / 64
	if step <= 0 || d <= 0 {
		return
	}
	l.left += d
	n := int64(l.left / step)
	l.left %= step
	kept := l.shapes[:0]
	for _, s := range l.shapes {
		for i := int64(0); i < n && s.Count > learnerUnit/1000; i++ {
			s.Count -= s.Count / 256 * stepLoss >> 8
		}
		if s.Count > learnerUnit/1000 {
			kept = append(kept, s)
		}
	}
	clear(l.shapes[len(kept):])
	l.shapes = kept
}

// State returns what l has observed, with counts in units of 2⁻²⁰ requests, and
// the time that passed since counts last fell: what [Learner.SetState] takes.
// The shapes are copied, their Types are not.
func (l *Learner) State() (shapes []TaskShape, left time.Duration) {
	return slices.Clone(l.shapes), l.left
}

// SetState makes l go on from what State returned. shapes are kept.
func (l *Learner) SetState(shapes []TaskShape, left time.Duration) { l.shapes, l.left = shapes, left }

// TaskShapeOf returns the form of task that the policies see in a request for
// one node, counted once.
func TaskShapeOf(r *Request) TaskShape {
	t := taskOf(r)
	s := TaskShape{MilliCPU: t.cpu, GPUs: int32(t.gpus), MilliGPU: t.milli, Count: 1}
	if t.typ != 0 {
		s.Types = []TypeID{t.typ}
	}
	return s
}

// stepLoss over 65,536 is 1 − 2^(−1/64), what a count loses in one step.
const stepLoss = 706

// Workload returns the target workload of what was observed, cut as
// [NewWorkload] does. Make it outside of passes.
func (l *Learner) Workload(cut int) *Workload { return NewWorkload(l.shapes, cut) }
