package bind

import "math/bits"

// A Hint says on which NUMA nodes a request could be served, as providers tell
// Kubernetes' topology manager. Nodes has positions as bits.
type Hint struct {
	Nodes     uint64
	Preferred bool // no smaller number of nodes could ever serve it
}

// A HintPolicy is the kubelet's topologyManagerPolicy.
type HintPolicy uint8

// The policies.
const (
	HintNone       HintPolicy = iota // ignore hints
	HintBestEffort                   // take the best hint, whatever it is
	HintRestricted                   // refuse what is not preferred
	HintSingleNode                   // refuse what does not fit one NUMA node
)

// maxHintNodes is the kubelet's limit of NUMA nodes, since hints go through
// all sets of nodes.
const maxHintNodes = 8

// AppendGPUHints appends a hint for every set of NUMA nodes that has n free
// GPUs, small sets first, then rising. GPUs without a NUMA node count
// everywhere. A set is preferred if it is as small as any whose GPUs, free or
// not, would do. A request for nothing, and a machine of more than eight NUMA
// nodes, gets no hints; pass nil for "does not care" to [MergeHints].
func (w *Wiring) AppendGPUHints(dst []Hint, free uint64, n int) []Hint {
	return w.appendHints(dst, n, func(nodes uint64) (total, avail int) {
		for i := range w.gpus {
			if at := w.numa[i]; at < 0 || nodes>>at&1 == 1 {
				total++
				avail += int(free >> i & 1)
			}
		}
		return total, avail
	})
}

// AppendCPUHints is [Wiring.AppendGPUHints] for n CPUs of the set free.
func (w *Wiring) AppendCPUHints(dst []Hint, free []uint64, n int) []Hint {
	return w.appendHints(dst, n, func(nodes uint64) (total, avail int) {
		for ; nodes != 0; nodes &= nodes - 1 {
			set := w.cpus[bits.TrailingZeros64(nodes)]
			for i, word := range set {
				total += bits.OnesCount64(word)
				if i < len(free) {
					avail += bits.OnesCount64(word & free[i])
				}
			}
		}
		return total, avail
	})
}

func (w *Wiring) appendHints(dst []Hint, n int, count func(nodes uint64) (total, avail int)) []Hint {
	if n <= 0 || w.nodes > maxHintNodes {
		return dst
	}
	least := w.nodes + 1
	for size := 1; size <= w.nodes; size++ {
		for nodes := uint64(1); nodes < 1<<w.nodes; nodes++ {
			if bits.OnesCount64(nodes) != size {
				continue
			}
			total, avail := count(nodes)
			if total >= n {
				least = min(least, size)
			}
			if avail >= n {
				dst = append(dst, Hint{Nodes: nodes, Preferred: size == least})
			}
		}
	}
	return dst
}

// MergeHints merges the hints of the providers of a container on a machine of
// nodes NUMA nodes, as Kubernetes' topology manager does: of all choices of
// one hint a provider, with the nodes that all of them name, the best is one
// whose hints are all preferred, then one with the fewest nodes, then the one
// with the lowest nodes. A nil list is a provider that does not care; an empty
// one cannot be served. admit says whether the policy lets the container in.
// It panics if nodes is above eight.
//
// The result's Nodes go into [SolveRequest.Nodes]; 0 is no limit.
//
// Source: kubernetes.io, Control Topology Management Policies on a node.
func MergeHints(policy HintPolicy, nodes int, providers [][]Hint) (best Hint, admit bool) {
	if nodes > maxHintNodes {
		panic("bind: MergeHints with more than eight NUMA nodes")
	}
	everywhere := uint64(1)<<nodes - 1
	if policy == HintNone {
		return Hint{Nodes: 0, Preferred: true}, true
	}
	// reach[p][set]: set arises, with all hints preferred (p=1) or not.
	var reach [2][1 << maxHintNodes]bool
	reach[1][everywhere] = true
	served := true
	for _, hints := range providers {
		if hints == nil {
			continue
		}
		var next [2][1 << maxHintNodes]bool
		kept := 0
		for _, h := range hints {
			if policy == HintSingleNode && (bits.OnesCount64(h.Nodes) != 1 || !h.Preferred) {
				continue
			}
			kept++
			for p := range reach {
				for set, yes := range reach[p] {
					if yes {
						next[p&pref(h)][uint64(set)&h.Nodes] = true
					}
				}
			}
		}
		if kept == 0 {
			served = false
			continue // as a hint everywhere that is not preferred
		}
		reach = next
	}
	best = Hint{Nodes: everywhere}
	found := false
	for p := 1; p >= 0 && !found; p-- {
		for set := uint64(1); set <= everywhere; set++ {
			if reach[p][set] && (!found || bits.OnesCount64(set) < bits.OnesCount64(best.Nodes)) {
				best, found = Hint{Nodes: set, Preferred: p == 1 && served}, true
			}
		}
	}
	if best.Nodes == everywhere {
		best.Nodes = 0
	}
	return best, policy == HintBestEffort || best.Preferred
}

func pref(h Hint) int {
	if h.Preferred {
		return 1
	}
	return 0
}
