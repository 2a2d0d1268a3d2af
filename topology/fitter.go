package topology

// A Kind is the type of a topology.
type Kind uint8

// The kinds of topology, Slurm's plugins of the same names.
const (
	KindFlat Kind = iota
	KindTree
	KindBlock
	KindRing
	KindTorus3D
)

var kindText = [...]string{"flat", "tree", "block", "ring", "torus3d"}

// String returns Slurm's name: flat, tree, block, ring, torus3d.
func (k Kind) String() string {
	if int(k) < len(kindText) {
		return kindText[k]
	}
	return "unknown"
}

// A Fitter chooses nodes for requests in one topology. It is immutable and holds
// no state of a fit: that is in the caller's [Scratch].
type Fitter interface {
	// Kind returns the type of the topology.
	Kind() Kind
	// Fit looks for nodes for req and reports whether it found some. They are
	// then in res, else res.Refusal says why not. Fit is a function of req and
	// the fitter alone. It reads everything that req points to, keeps nothing,
	// and does not allocate once ws and res have grown to the cluster. It panics
	// if the sets and columns of req are not of the cluster's length.
	Fit(ws *Scratch, req *Request, res *Result) bool
}

// A Profile chooses between Slurm's placement and the library's better one.
type Profile uint8

const (
	// ProfileBest uses the library's rules where they are better.
	ProfileBest Profile = iota
	// ProfileSlurm places as Slurm 26.05 does.
	ProfileSlurm
)

// Options say how a topology is to be fitted. The zero value is the profile Best
// with the library's rules.
type Options struct {
	// Profile chooses the rules.
	Profile Profile
	// Defects copies the defects of Slurm that are otherwise mended in both
	// profiles. Only comparisons with a real Slurm want it.
	Defects bool
	// Dragonfly is TopologyParam=Dragonfly; tree only.
	Dragonfly bool
	// TopoOptional is TopologyParam=TopoOptional: the tree counts only for jobs
	// with Switches, others are placed as if flat; tree only.
	TopoOptional bool

	// Tries bounds how often a request that does not fit at first is tried again
	// with a node less. 0 is no bound in ProfileSlurm and 100 in ProfileBest.
	Tries int32

	// FirstNode gives a job of one node the first that fits, as Slurm does, also
	// in the profile Best, which otherwise packs: that looks at every eligible
	// node.
	FirstNode bool
	// Slots makes the profile Best place blocks so that the sum of the weights of
	// the parts that could still be placed is the largest: for each size, the free
	// nodes of every block in which a part of it may lie, over the size, rounded
	// down. Ties are placed as in ProfileSlurm; so are jobs whose nodes differ in
	// weight or that have required nodes. Empty: always as in ProfileSlurm.
	Slots []SlotWeight
}

// A fitter is the Fitter of every kind: the shared outer loop around the choice
// that the kind makes.
type fitter struct {
	top *Topology
	opt Options
}

// Fitter returns the fitter of t with options o.
func (t *Topology) Fitter(o Options) Fitter { return &fitter{top: t, opt: o} }

func (f *fitter) Kind() Kind { return f.top.kind }

// Fit implements Fitter.
func (f *fitter) Fit(s *Scratch, req *Request, res *Result) bool {
	ok := f.fit(s, req, res)
	if checking {
		s.check(ok)
	}
	return ok
}

func (f *fitter) fit(s *Scratch, req *Request, res *Result) bool {
	s.begin(f, req, res)
	if len(req.Sizes) == 0 {
		return s.fitSize(req.Min, req.Want, req.Max)
	}
	avail := int32(req.Eligible.Count())
	tried := false
	for i := len(req.Sizes) - 1; i >= 0; i-- {
		k := req.Sizes[i]
		if k < req.SizeFloor || k > avail {
			continue
		}
		tried = true
		if s.fitSize(k, k, k) {
			res.Size = k
			return true
		}
	}
	if !tried {
		s.refuse(Refusal{Rule: RuleCount, Unit: NoUnit, Lack: LackNodes, Need: int64(req.Sizes[0]), Have: int64(avail)})
		res.Refusal = s.why
	}
	return false
}

// A way is the algorithm that a request is dispatched to.
type way uint8

const (
	wayFlat  way = iota
	wayUnits     // block, ring, torus3d
	wayTree
	waySpread
	wayBusy
	wayLLN
	waySerial
)

// dispatch chooses the algorithm for the nodes of s.base (spec 2.2, 3 to 9).
func (f *fitter) dispatch(s *Scratch) way {
	r := s.req
	switch {
	case f.top.kind >= KindBlock && meets(s.base, f.top.placeable):
		return wayUnits
	case r.Spread:
		return waySpread
	case r.BusyFirst && !r.Contiguous:
		return wayBusy
	case r.LLN:
		return wayLLN
	case r.SerialAtEnd && s.minCPUs == 1 && s.want == 1:
		return waySerial
	case f.top.kind == KindTree && !r.Contiguous && !r.Arbitrary && !(f.opt.TopoOptional && r.Switches <= 0):
		return wayTree
	}
	return wayFlat
}

// A verdict is what an algorithm says after one try, and what the retry loop
// does about it (spec 2.3).
type verdict uint8

const (
	fits        verdict = iota
	stop                // no retry can help
	dropWeakest         // refit without the weakest node
	dropHinted          // refit without the weakest of the nodes in s.hint
	dropSet             // refit without the nodes in s.hint
)

// try runs algorithm w once on the nodes of s.elig.
func (f *fitter) try(s *Scratch, w way) verdict {
	s.res.Fits++
	if s.req.Arbitrary && w != wayFlat {
		return s.refuse(Refusal{Rule: RuleUnsupported, Unit: NoUnit})
	}
	switch w {
	case wayUnits:
		switch f.top.kind {
		case KindBlock:
			return s.fitBlock()
		case KindRing:
			return s.fitRing()
		default:
			return s.fitTorus()
		}
	case wayTree:
		if f.opt.Profile == ProfileBest && !f.opt.Dragonfly {
			return s.fitStrict()
		}
		return s.fitTree()
	case wayFlat:
		return s.flat()
	}
	return s.weighted(w)
}

// fitSize does the whole fit for one node count.
func (s *Scratch) fitSize(lo, want, hi int32) bool {
	if !s.counts(lo, want, hi) {
		s.res.Refusal = s.why
		return false
	}
	if s.max == 1 && s.f.top.kind != KindTorus3D {
		return s.finish(s.oneNode())
	}
	if s.max == 1 {
		if ok, known := s.oneCell(); known {
			return s.finish(ok)
		}
	}
	w := s.f.dispatch(s)
	return s.finish(s.passes(w))
}

// counts normalises the node counts and the node list and sets s.base; it
// reports whether enough eligible nodes are there (spec 2.1, 2.2 step 1).
func (s *Scratch) counts(lo, want, hi int32) bool {
	r := s.req
	lo = max(lo, 1)
	if r.TasksPerNode > 0 {
		lo = max(lo, (r.Tasks+r.TasksPerNode-1)/r.TasksPerNode)
	}
	want = max(want, lo)
	if hi <= 0 {
		hi = int32(s.n)
	}
	if r.Tasks > 0 && r.TasksPerNode == 0 && hi > r.Tasks {
		hi = max(r.Tasks, lo)
	}
	s.min, s.want, s.max = int(lo), int(min(want, max(hi, lo))), int(hi)
	s.needSet(r)
	if s.max < s.min {
		s.refuse(Refusal{Rule: RuleMaxNodes, Unit: NoUnit, Lack: LackNodes, Need: int64(s.min), Have: int64(s.max)})
		return false
	}
	if s.required && !within(s.base, s.need) {
		s.refuse(Refusal{Rule: RuleRequired, Unit: NoUnit, Lack: LackNodes,
			Need: int64(countBits(s.need)), Have: int64(countAnd(s.base, s.need))})
		return false
	}
	if s.max == 1 {
		return true // the one-node path finds out by itself
	}
	s.res.Steps += int64(len(s.base))
	if have := countUpTo(s.base, s.min); have < s.min {
		s.refuse(Refusal{Rule: RuleCount, Unit: NoUnit, Lack: LackNodes, Need: int64(s.min), Have: int64(have)})
		return false
	}
	return true
}

// needSet works out the required set and cuts the eligible nodes to the node
// list if that is longer than the minimum.
func (s *Scratch) needSet(r *Request) {
	s.base = r.Eligible.Words()
	s.required, s.listed = false, false
	if r.Required != nil && !r.Required.Empty() {
		copy(s.need, s.set(r.Required))
		s.required = true
	}
	if r.List == nil || r.List.Empty() {
		return
	}
	list := s.hint
	copy(list, s.set(r.List))
	if r.Contiguous {
		setRange(list, r.List.First(), prevBit(list, NodeID(s.n-1))+1)
	}
	if countBits(list) > s.min {
		for i, x := range list {
			s.cut[i] = s.base[i] & x
		}
		s.base, s.listed = s.cut, true
		return
	}
	if !s.required {
		clear(s.need)
		s.required = true
	}
	for i, x := range list {
		s.need[i] |= x
	}
}

// passes runs the strict pass, the relaxed pass and the retry loop (spec 2.3).
func (s *Scratch) passes(w way) bool {
	r := s.req
	strict := r.RelaxedCPUs != nil || r.RelaxedGPUs != nil
	early := w != wayUnits && !s.required && (s.minCPUs > int64(s.min)*s.leastCPUs() || r.GPUs > 0)
	if strict {
		s.column(false)
		if s.sift() {
			if v := s.f.try(s, w); v == fits {
				return true
			} else if s.why.Rule.Permanent() {
				return false
			}
		} else if s.f.opt.Profile == ProfileSlurm && s.why.Rule == RuleCount {
			return false // some nodes do, but too few: Slurm does not relax (spec: gres 9)
		}
	}
	s.column(true)
	if !s.sift() {
		return false
	}
	if early { // where the sums may not do, look at them before fitting
		s.why = Refusal{Rule: RuleShort, Unit: NoUnit}
		if s.hopeless(w) {
			return false
		}
	}
	v := s.f.try(s, w)
	if v == fits || s.why.Rule.Permanent() {
		return v == fits
	}
	if v == stop || !early && s.hopeless(w) {
		return false
	}
	first := s.why // the first error of this pass is the one reported
	ok := s.retry(w, v)
	if !ok {
		s.why = first
	}
	return ok
}

// retry drops nodes as the verdicts say until the request fits or cannot.
func (s *Scratch) retry(w way, v verdict) bool {
	s.rankWeak()
	left := countBits(s.elig)
	tries := s.f.opt.Tries
	if tries == 0 && s.f.opt.Profile == ProfileBest {
		tries = 100
	}
	for try := int32(0); ; try++ {
		if left <= s.min || tries > 0 && try == tries {
			return false
		}
		switch v {
		case dropSet:
			for i, x := range s.hint {
				s.elig[i] &^= x
			}
			now := countBits(s.elig)
			if now == left || s.required && !within(s.elig, s.need) {
				return false
			}
			left = now
		case dropHinted, dropWeakest:
			id := s.weakest(v == dropHinted)
			if id == NoNode {
				return false
			}
			clearBit(s.elig, id)
			left--
		default:
			return false
		}
		if v = s.f.try(s, w); v == fits {
			return true
		}
		if s.why.Rule.Permanent() {
			return false
		}
	}
}
