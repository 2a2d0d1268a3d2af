package gres

import "math"

// A Policy chooses among the nodes that a request for one node fits. All take
// the node with the highest score, the lowest node on ties.
type Policy uint8

const (
	// FirstFit takes the lowest node; see [Pool.PlaceOne].
	FirstFit Policy = iota
	// BestFit takes the node with the least left, CPUs and GPUs weighted
	// alike by the largest node of the cluster.
	BestFit
	// DotProduct takes the node whose free amounts are least alike to the
	// request: the tightest.
	DotProduct
	// GPUPacking prefers devices that are shared already, then nodes in use,
	// then idle nodes.
	GPUPacking
	// GPUClustering prefers nodes that run tasks of the same GPU demand. It
	// needs [Placer.Started] and [Placer.Ended].
	GPUClustering
	// RandomFit draws a node, and a device for a part, evenly.
	RandomFit
	// FGD takes the node where the expected fragment of free GPUs grows
	// least (fragmentation gradient descent).
	FGD
	// FGDExact is FGD with the floating point operations of the study, whose
	// rounding decides some ties.
	FGDExact
	// FillUp takes the node where least of what is free becomes useless to a
	// workload that keeps coming: CPUs are used up together with GPUs, parts of
	// devices are put together so that little is left over, and large tasks
	// find whole nodes. Give it a workload that is not cut.
	FillUp
	numPolicies
)

var policyNames = [numPolicies]string{"FirstFit", "BestFit", "DotProd", "GpuPacking", "GpuClustering", "Random", "FGD", "FGDExact", "FillUp"}

// String returns the name, as the study writes it where it is the study's.
func (p Policy) String() string {
	if p < numPolicies {
		return policyNames[p]
	}
	return "Policy?"
}

// A task is a request as the policies see it.
type task struct {
	cpu   int64
	gpus  int64
	milli int64 // of each device; 0 if gpus is 0
	typ   TypeID
}

// taskOf returns what r takes of one node.
func taskOf(r *Request) task {
	t := task{cpu: r.MilliCPU}
	if t.cpu == 0 {
		t.cpu = int64(max(r.MinCPUs, r.Tasks*r.CPUsPerTask, 1)) * 1000
	}
	for i := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[i]
		if d.Name != NameGPU {
			continue
		}
		t.gpus += max(d.PerNode, d.PerJob, d.PerTask*int64(max(r.Tasks, 1)))
		t.typ, t.milli = d.Type, 1000
		if d.Milli > 0 {
			t.milli = d.Milli
		}
	}
	if t.gpus == 0 {
		t.milli = 0
	}
	return t
}

// part reports whether t takes a part of one device.
func (t *task) part() bool { return t.gpus == 1 && t.milli < 1000 }

// tightest returns the device with the least left that holds what t wants, the
// lowest on ties, −1 if none does.
func (n *fragNode) tightest(t *task) int16 {
	best := int16(-1)
	for d, u := range n.left {
		if u >= t.milli && (t.typ == 0 || n.types[d] == t.typ) && (best < 0 || u < n.left[best]) {
			best = int16(d)
		}
	}
	return best
}

// bestFit returns trunc(100·(1 − (cpu left/maxCPU + GPU left/maxGPU)/2)).
func bestFit(n *fragNode, t *task, maxCPU, maxGPU int64) int32 {
	cpu := float64(n.cpu-t.cpu) / float64(maxCPU)
	gpu := float64(n.total-t.gpus*t.milli) / float64(max(maxGPU, 1))
	return int32(math.Trunc(float64((1 - (float64(0.5*cpu) + float64(0.5*gpu))) * 100)))
}

// dotProduct returns trunc(100·(1 − alignment)).
func dotProduct(n *fragNode, t *task, maxCPU, maxGPU int64) int32 {
	c, g := float64(maxCPU), float64(max(maxGPU, 1))
	d := float64(float64(n.cpu)/c*(float64(t.cpu)/c)) + float64(float64(n.total)/g*(float64(t.gpus*t.milli)/g))
	return int32(math.Trunc(float64((1 - d/2) * 100)))
}

// gpuPacking returns the score of spec/fragmentation.md 3.4.
func gpuPacking(n *fragNode, t *task) int32 {
	if t.gpus == 0 {
		return 0
	}
	idle := true
	for _, u := range n.left {
		idle = idle && u == 1000
	}
	if idle {
		return int32(max(33-n.size, n.size))
	}
	// The devices taken are those with the least left that hold enough.
	whole, rest := int64(0), int64(0)
	last, found := int64(-1), int64(0)
	for found < t.gpus {
		next := int64(1001)
		for _, u := range n.left {
			if u >= t.milli && u > last {
				next = min(next, u)
			}
		}
		if next > 1000 {
			break
		}
		for _, u := range n.left {
			if u == next && found < t.gpus {
				found++
				if u == 1000 {
					whole++
				}
				rest += u * 100 / 1000
			}
		}
		last = next
	}
	if whole > 0 {
		return int32(max(50-whole, 33))
	}
	return int32(max(100-rest/10, 50))
}

// gpuClustering returns the score of spec/fragmentation.md 3.5; kinds counts
// the node's tasks by GPU demand.
func gpuClustering(n *fragNode, t *task, kinds *[taskKinds]uint16, maxGPU int64) int32 {
	if t.gpus == 0 {
		return 0
	}
	base := int32(25 * (maxGPU - n.total) / max(maxGPU, 1))
	own, other := kinds[t.kind()] > 0, false
	for k, c := range kinds {
		other = other || c > 0 && k != t.kind()
	}
	switch {
	case own && !other:
		return base + 75
	case own:
		return base + 50
	case !other:
		return base + 25
	}
	return base
}

// taskKinds bounds the GPU demands that GPUClustering tells apart: 0 is a
// part of a device, n that many devices, the last as many or more.
const taskKinds = 18

func (t *task) kind() int {
	if t.part() {
		return 0
	}
	return int(min(t.gpus, taskKinds-1))
}
