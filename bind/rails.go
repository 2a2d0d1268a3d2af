package bind

import "math/bits"

// A RailNode is one node of a job that spans several.
type RailNode struct {
	Wiring  *Wiring
	Request SolveRequest // its NICs and Rails are set by CommonRails
}

// maxRails bounds the number of rails, whose sets are all looked at.
const maxRails = 16

// CommonRails solves several nodes so that all use the same rails, since a
// collective runs at its best when GPU i of every node talks over one leaf
// switch. Of the smallest sets of rails on which every node can be served it
// takes the one whose scores are best in sum, criterion by criterion, ties to
// the lowest rails; dst[i] is the solution of node i. If there is none, each
// node is solved alone and common is false. dst must have the length of nodes.
//
// Cost: a Solve for each node and each set of that size of the rails that all
// nodes have free; at most sixteen rails are looked at.
//
// Source: specification bind.md 6.3, criterion 4.
func (s *Solver) CommonRails(dst []Solution, nodes []RailNode) (rails uint64, common bool, lack Lack) {
	shared := all(maxRails)
	for i := range nodes {
		shared &= freeRails(&nodes[i])
	}
	var best [criteria]int64
	for size := 1; size <= bits.OnesCount64(shared) && !common; size++ {
		for set := shared; set != 0; set = (set - 1) & shared {
			if bits.OnesCount64(set) != size {
				continue
			}
			// Sets fall, so an equal one is lower.
			if sum, ok := s.onRails(dst, nodes, set); ok && (!common || notWorse(&sum, &best)) {
				best, rails, common = sum, set, true
			}
		}
	}
	if common {
		s.onRails(dst, nodes, rails)
		return rails, true, LackNothing
	}
	for i := range nodes {
		r := nodes[i].Request
		r.NICs = NICNearest
		if lack = s.Solve(&dst[i], nodes[i].Wiring, &r); lack != LackNothing {
			return 0, false, lack
		}
	}
	return 0, false, LackNothing
}

// freeRails returns the rails of which a node has a free GPU and the NIC.
func freeRails(n *RailNode) (rails uint64) {
	for rest := n.Request.FreeGPUs & all(n.Wiring.gpus); rest != 0; rest &= rest - 1 {
		if r := n.Wiring.rail[bits.TrailingZeros64(rest)]; r >= 0 {
			rails |= 1 << r
		}
	}
	return rails & n.Request.FreeNICs
}

func (s *Solver) onRails(dst []Solution, nodes []RailNode, set uint64) (sum [criteria]int64, ok bool) {
	for i := range nodes {
		r := nodes[i].Request
		r.NICs, r.Rails = NICRail, set
		if s.Solve(&dst[i], nodes[i].Wiring, &r) != LackNothing {
			return sum, false
		}
		sc := &dst[i].Score
		for c, v := range [criteria]int64{int64(sc.Worst), -sc.GBps, int64(sc.NUMANodes), int64(sc.CPUsFar), int64(sc.NICs), int64(sc.Broken)} {
			sum[c] += v
		}
	}
	return sum, true
}

func notWorse(a, b *[criteria]int64) bool {
	for c := range a {
		if a[c] != b[c] {
			return a[c] < b[c]
		}
	}
	return true
}
