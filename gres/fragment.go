package gres

import (
	"math"
	"slices"
)

// A fragNode is a node's state as the fragmentation metric sees it.
type fragNode struct {
	cpu   int64    // free, thousandths
	left  []int64  // by device: free thousandths
	types []TypeID // by device; nil if no device has a type
	total int64    // sum of left
	size  int      // devices
}

// load fills n from a row. Devices of the name gpu count; a node without has
// none.
func (n *fragNode) load(s *Shape, row []uint64) {
	n.cpu, n.total, n.size = s.FreeMilliCPU(row), 0, 0
	n.left, n.types = n.left[:0], n.types[:0]
	g := s.Group(NameGPU)
	if g < 0 {
		return
	}
	gr := &s.groups[g]
	n.size = len(gr.devs)
	for d := range gr.devs {
		u := s.FreeUnits(row, g, d)
		if gr.devs[d].units != 1000 {
			u = u * 1000 / gr.devs[d].units
		}
		n.left = append(n.left, u)
		n.total += u
		if gr.types != nil {
			n.types = append(n.types, gr.devs[d].typ)
		}
	}
}

// usable says how a form of task meets the devices of n: whether there are
// enough, and how much is left on those that are too small or not acceptable.
func (n *fragNode) usable(f *taskForm) (enough, compatible bool, scraps int64) {
	fit := int32(0)
	compatible = len(f.types) == 0
	for d, u := range n.left {
		if len(f.types) > 0 {
			if len(n.types) == 0 || !slices.Contains(f.types, n.types[d]) {
				scraps += u
				continue
			}
			compatible = true
		}
		if u >= f.milli {
			fit++
		} else {
			scraps += u
		}
	}
	return fit >= f.gpus, compatible && n.size > 0, scraps
}

// fragment returns the milli-GPUs of n that a task of the workload cannot be
// expected to use, times w.total: an integer.
//
// Source: spec/fragmentation.md 2.2, 2.3.
func (w *Workload) fragment(n *fragNode) int64 {
	if n.total == 0 {
		return 0
	}
	var sum int64
	for i := range w.forms {
		f := &w.forms[i]
		if f.gpus > 0 {
			if enough, _, scraps := n.usable(f); enough {
				// Of the shapes of this form those with few enough CPUs can
				// use all but the scraps.
				k, found := slices.BinarySearch(f.cpus, n.cpu)
				if found {
					k++
				}
				if k > 0 {
					sum += f.upTo[k-1]*scraps + (f.count-f.upTo[k-1])*n.total
					continue
				}
			}
		}
		sum += f.count * n.total
	}
	return sum
}

// The classes of a node for a shape, in the order in which the study adds
// their amounts up.
const (
	q1LackBoth = iota
	q2LackGPU
	q3Satisfied
	q4LackCPU
	xlSatisfied
	xrLackCPU
	noAccess
	fragClasses
)

// fragmentExact is fragment in milli-GPUs with the study's floating point
// operations in the study's order, whose last bit decides between scores.
//
// Source: spec/fragmentation.md 2.3 [EXACT].
func (w *Workload) fragmentExact(n *fragNode, forms []formUse) float64 {
	for i := range w.forms {
		u := &forms[i]
		u.enough, u.compatible, u.scraps = n.usable(&w.forms[i])
	}
	var sum [fragClasses]float64
	for i := range w.shapes {
		s, u := &w.shapes[i], &forms[w.formOf[i]]
		fits := n.cpu >= s.MilliCPU
		class := noAccess
		switch {
		case s.GPUs == 0 && fits:
			class = xlSatisfied
		case s.GPUs == 0:
			class = xrLackCPU
		case !u.compatible:
		case u.enough && fits:
			sum[q2LackGPU] += float64(w.shares[i] * float64(u.scraps))
			sum[q3Satisfied] += float64(w.shares[i] * float64(n.total-u.scraps))
			continue
		case u.enough:
			class = q4LackCPU
		case fits:
			class = q2LackGPU
		default:
			class = q1LackBoth
		}
		sum[class] += float64(w.shares[i] * float64(n.total))
	}
	return sum[q1LackBoth] + sum[q2LackGPU] + sum[q4LackCPU] + sum[xlSatisfied] + sum[xrLackCPU] + sum[noAccess]
}

// A formUse is what usable says of one form.
type formUse struct {
	enough, compatible bool
	scraps             int64
}

// score returns trunc(100 / (1 + e^(−gain/total/1000))), 0 to 100, by the
// least gain for each score.
func (w *Workload) score(gain int64) int32 {
	k, found := slices.BinarySearch(w.levels[:], gain)
	if found {
		k++
	}
	return int32(k)
}

// scoreExact is score for a gain in milli-GPUs.
func scoreExact(gain float64) int32 {
	k, found := slices.BinarySearch(scoreLevels[:], gain)
	if found {
		k++
	}
	return int32(k)
}

// ceilProduct returns ⌈t·n⌉. The tiny negative level of score 50, which
// stands for rounding, becomes 0.
func ceilProduct(t float64, n int64) int64 {
	return int64(math.Ceil(float64(t * float64(n))))
}

// scoreLevels[k-1] is the least gain in milli-GPUs for which
// trunc(100 / (1 + exp(−gain/1000))), computed in float64, is k.
var scoreLevels = [100]float64{
	-4595.11985013459, -3891.8202981106265, -3476.098689835273, -3178.053830347945, -2944.4389791664403,
	-2751.535313041949, -2586.6893440979425, -2442.347035369204, -2313.6349291806305, -2197.224577336219,
	-2090.741096933769, -1992.4301646902063, -1900.958761193047, -1815.289966638249, -1734.6010553881065,
	-1658.2280766035324, -1585.627263740382, -1516.3474893680884, -1450.0101755059984, -1386.2943611198905,
	-1324.9254147435986, -1265.6663733312757, -1208.3112059245343, -1152.6795099383855, -1098.6122886681098,
	-1045.9685551826876, -994.622575144062, -944.4616088408515, -895.3840470548413, -847.2978603872036,
	-800.119300112113, -753.7718023763802, -708.1850579244858, -663.2942174102644, -619.0392084062235,
	-575.364144903562, -532.2168137473084, -489.54822531870605, -447.312218043665, -405.46510810816454,
	-363.9653772014116, -322.773392263051, -281.85115214098795, -241.16205681688814, -200.67069546215154,
	-160.3426500751796, -120.14431184206356, -80.04270767353665, -40.005334613699304, -3.330669073875469e-13,
	40.0053346136992, 80.0427076735363, 120.14431184206303, 160.34265007517934, 200.6706954621512,
	241.16205681688785, 281.8511521409878, 322.77339226305094, 363.9653772014115, 405.46510810816415,
	447.3122180436645, 489.5482253187057, 532.2168137473084, 575.3641449035616, 619.0392084062233,
	663.294217410264, 708.1850579244855, 753.7718023763797, 800.1193001121129, 847.2978603872033,
	895.384047054841, 944.4616088408512, 994.622575144062, 1045.9685551826876, 1098.6122886681098,
	1152.6795099383849, 1208.3112059245339, 1265.6663733312755, 1324.925414743598, 1386.29436111989,
	1450.0101755059982, 1516.3474893680882, 1585.627263740382, 1658.228076603532, 1734.6010553881058,
	1815.2899666382482, 1900.9587611930467, 1992.4301646902063, 2090.741096933768, 2197.2245773362183,
	2313.634929180631, 2442.3470353692037, 2586.6893440979425, 2751.5353130419476, 2944.43897916644,
	3178.0538303479416, 3476.0986898352735, 3891.82029811062, 4595.1198501345725, 36736.80056967711,
}
