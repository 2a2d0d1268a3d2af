package topology_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berth-sched/berth/topology"
)

// A twinVariant chooses one of the ways that take the place of flat and tree.
type twinVariant int

const (
	twinSpread twinVariant = iota
	twinBusy
	twinLLN
	twinSerial
)

// twinVariantTry is the second half of 2.5.
func twinVariantTry(v twinVariant, j *twinJob, tasks int, busy, free, total []int, elig map[int]bool) (*twinTry, twinVerdict) {
	t := newTwinTry(j, elig, j.want)
	if v == twinSpread && j.jobGPUs == 0 && j.max < len(j.elig) {
		t.rem = j.max
	}
	if v != twinSpread && tasks > 0 {
		t.hi = min(t.hi, max(tasks, j.min))
	}
	for _, n := range j.need {
		t.take(n)
	}
	order := keysOf(elig)
	slices.SortStableFunc(order, func(a, b int) int {
		if d := j.weight[a] - j.weight[b]; d != 0 {
			return d
		}
		switch v {
		case twinBusy:
			return busy[b] - busy[a]
		case twinLLN:
			return free[b]*total[a] - free[a]*total[b]
		case twinSerial:
			return b - a
		}
		return 0
	})
	given := map[int]int{}
	for _, n := range order {
		if !t.left[n] || t.hi <= 0 {
			continue
		}
		if v == twinSpread {
			if t.rem <= 0 {
				break
			}
			before := t.cpus
			if !j.whole { // one task's CPU, and no less than the floor
				budget := t.budget
				t.budget = min(t.budget, 1+max(t.lo-1, 0))
				t.take(n)
				t.budget = budget - (before - t.cpus)
			} else {
				t.take(n)
			}
			given[n] = before - t.cpus
			continue
		}
		if t.done() {
			break
		}
		t.take(n)
	}
	for more := true; v == twinSpread && more && t.cpus > 0; {
		more = false
		for _, n := range t.got {
			if given[n] == 0 {
				continue // a required node has all it can give
			}
			if t.cpus > 0 && given[n] < j.cpus[n] {
				given[n]++
				t.cpus--
				more = true
			}
		}
	}
	if t.ok() {
		return t, twinFits
	}
	return t, twinWeakest
}

func TestVariantsEqualTwin(t *testing.T) {
	var ws topology.Scratch
	var res topology.Result
	for i := range cases() {
		r := rand.New(rand.NewPCG(41, uint64(i)))
		w := randomFlat(r)
		if r.IntN(2) == 0 {
			w = randomTree(r)
		}
		names := make([]string, w.n)
		for n := range names {
			names[n] = name(n)
		}
		table, _ := topology.NewNames(names)
		top, _ := topology.New(&w.spec, table)
		j := randomJob(r, w)
		j.contiguous, j.best, j.defects, j.dragonfly, j.segment = false, false, false, false, 0
		v := twinVariant(r.IntN(4))
		if v == twinSpread {
			j.need = nil
		}
		busy, free, total := make([]int, w.n), make([]int, w.n), make([]int, w.n)
		req := j.request(false)
		req.Busy = new(topology.NodeSet)
		req.Busy.Init(w.n)
		req.TotalCPUs, req.FreeCPUs = make([]int32, w.n), make([]int32, w.n)
		for n := range w.n {
			total[n], busy[n] = 1+r.IntN(4), r.IntN(2)
			free[n] = r.IntN(total[n] + 1)
			req.TotalCPUs[n], req.FreeCPUs[n] = int32(total[n]), int32(free[n])
			if busy[n] == 1 {
				req.Busy.Add(topology.NodeID(n))
			}
		}
		tasks := 0
		switch v {
		case twinSpread:
			req.Spread = true
		case twinBusy:
			req.BusyFirst = true
		case twinLLN:
			req.LLN = true
			if tasks = r.IntN(6); tasks > 0 {
				req.Tasks, req.TasksPerNode = int32(tasks), 100
			}
		case twinSerial:
			req.SerialAtEnd = true
			j.minCPUs, j.want, j.min, j.need = 1, 1, 1, nil
			req.MinCPUs, req.Want, req.Min, req.Required = 1, 1, 1, nil
		}
		want, verdict := twinPlace(j, func(elig map[int]bool) (*twinTry, twinVerdict) {
			return twinVariantTry(v, j, tasks, busy, free, total, elig)
		})
		ok := top.Fitter(topology.Options{Profile: topology.ProfileSlurm}).Fit(&ws, req, &res)
		var got []int
		for _, id := range res.Nodes {
			got = append(got, int(id))
		}
		if ok != (verdict == twinFits) || ok && !slices.Equal(got, want) {
			t.Fatalf("case %d variant %d: got %v (%v), want %v (%d)\n%+v\nbusy %v free %v total %v tasks %d", i, v, got, res.Refusal, want, verdict, *j, busy, free, total, tasks)
		}
		checkRefusal(t, &res)
	}
}

// twinOne is 2.4.
func twinOne(j *twinJob) int {
	best := -1
	for n, in := range j.elig {
		if !in || len(j.need) > 0 && !slices.Contains(j.need, n) || j.cpus[n] < max(j.minCPUs, 1) {
			continue
		}
		if j.jobGPUs > 0 && j.gpus[n] < j.jobGPUs {
			continue
		}
		if best < 0 || j.weight[n]>>8 < j.weight[best]>>8 {
			best = n
		}
	}
	return best
}

func TestOneNodeEqualsTwin(t *testing.T) {
	var ws topology.Scratch
	var res topology.Result
	for i := range cases() {
		r := rand.New(rand.NewPCG(42, uint64(i)))
		w := randomBlocks(r)
		names := make([]string, w.n)
		for n := range names {
			names[n] = name(n)
		}
		table, _ := topology.NewNames(names)
		top, _ := topology.New(&w.spec, table)
		j := randomJob(r, w)
		j.min, j.want, j.max, j.segment, j.whole = 1, 1, 1, 0, false
		if len(j.need) > 1 {
			j.need = j.need[:1]
		}
		if len(j.need) > 0 && !j.elig[j.need[0]] {
			j.need = nil
		}
		for n := range j.weight {
			j.weight[n] = j.weight[n]<<8 | r.IntN(256) // near is not looked at
		}
		ok := top.Fitter(topology.Options{Profile: topology.ProfileSlurm}).Fit(&ws, j.request(false), &res)
		if want := twinOne(j); ok != (want >= 0) || ok && int(res.Nodes[0]) != want {
			t.Fatalf("case %d: got %v %v, want %d\n%+v", i, ok, res.Nodes, want, *j)
		}
	}
}

// A tableTaker knows for both passes which nodes arrange, and gives of the GPUs
// what is still wanted.
type tableTaker struct {
	req             *topology.Request
	strict, relaxed []bool
	left            int64
	taken           []topology.NodeID
}

func (p *tableTaker) Begin(bool) { p.left, p.taken = p.req.GPUs, p.taken[:0] }

func (p *tableTaker) Take(id topology.NodeID, budget int32, relaxed bool) (cpus, gpus int32, ok bool) {
	if ok = p.strict[id]; relaxed {
		ok = p.relaxed[id]
	}
	if ok {
		if p.req.NodeGPUs != nil {
			gpus = int32(max(min(int64(p.req.NodeGPUs[id]), p.left), 0))
		}
		p.left -= int64(gpus)
		p.taken = append(p.taken, id)
	}
	return budget, gpus, ok
}

// The strict pass goes first, without retries; then the relaxed one with them.
// Size lists go from the largest down, and node lists are required or exclude.
func TestPassesSizesAndLists(t *testing.T) {
	var ws topology.Scratch
	var res topology.Result
	relaxed, sized := 0, 0
	for i := range cases() {
		r := rand.New(rand.NewPCG(43, uint64(i)))
		w := randomTree(r)
		names := make([]string, w.n)
		for n := range names {
			names[n] = name(n)
		}
		table, _ := topology.NewNames(names)
		top, _ := topology.New(&w.spec, table)
		j := randomJob(r, w)
		j.dragonfly, j.need, j.jobGPUs, j.gpus = false, nil, 0, nil
		req := j.request(false)
		var list []int
		if r.IntN(2) == 0 {
			req.List = new(topology.NodeSet)
			req.List.Init(w.n)
			for n := range w.n {
				if r.IntN(3) == 0 {
					list = append(list, n)
					req.List.Add(topology.NodeID(n))
				}
			}
		}
		loose := slices.Clone(j.cpus)
		req.RelaxedCPUs = slices.Clone(req.CPUs)
		for n := range loose {
			loose[n] += r.IntN(2)
			req.RelaxedCPUs[n] = int32(loose[n])
		}
		sizes := []int{j.min}
		if r.IntN(2) == 0 {
			sizes = nil
			for k := range 8 {
				if r.IntN(3) == 0 {
					sizes = append(sizes, k+2)
					req.Sizes = append(req.Sizes, int32(k+2))
				}
			}
			if len(sizes) == 0 {
				sizes = []int{j.min}
			}
		}
		count := 0
		for _, in := range j.elig {
			if in {
				count++
			}
		}
		var want []int
		size, second := 0, false
		for k := len(sizes) - 1; k >= 0 && want == nil; k-- {
			q := *j
			if len(req.Sizes) > 0 {
				q.min, q.want, q.max = sizes[k], sizes[k], sizes[k]
				if sizes[k] > count {
					continue
				}
			}
			q.elig = slices.Clone(j.elig)
			if len(list) > q.min {
				for n := range q.elig {
					q.elig[n] = q.elig[n] && slices.Contains(list, n)
				}
			} else {
				q.need = list
				if slices.ContainsFunc(list, func(n int) bool { return !q.elig[n] }) {
					continue
				}
			}
			once := true
			got, verdict := twinPlace(&q, func(elig map[int]bool) (*twinTry, twinVerdict) {
				if !once {
					return newTwinTry(&q, elig, 0), twinStop
				}
				once = false
				return w.twin.try(&q, elig)
			})
			if verdict != twinFits && verdict != twinPermanent && !tooFew(&q) {
				q.cpus = loose
				second = true
				got, verdict = twinPlace(&q, func(elig map[int]bool) (*twinTry, twinVerdict) { return w.twin.try(&q, elig) })
			}
			if verdict == twinFits {
				want, size = got, q.min
			} else {
				second = false
			}
		}
		ok := top.Fitter(topology.Options{Profile: topology.ProfileSlurm, Defects: j.defects}).Fit(&ws, req, &res)
		var got []int
		for _, id := range res.Nodes {
			got = append(got, int(id))
		}
		if ok != (want != nil) || ok && !slices.Equal(got, want) {
			t.Fatalf("case %d: got %v (%v), want %v relaxed %v %v\n%+v\nlist %v sizes %v loose %v\n%s", i, got, res.Refusal, want, res.Relaxed, second, *j, list, req.Sizes, loose, w.text)
		}
		if !ok {
			continue
		}
		if res.Relaxed != second {
			t.Fatalf("case %d: relaxed %v, want %v", i, res.Relaxed, second)
		}
		if len(req.Sizes) > 0 {
			if int(res.Size) != size {
				t.Fatalf("case %d: size %d, want %d", i, res.Size, size)
			}
			sized++
		}
		if second {
			relaxed++
		}
	}
	t.Logf("%d in the relaxed pass, %d of a size list", relaxed, sized)
}

// tooFew reports whether some nodes have CPUs in the strict pass, the required
// ones among them, but fewer than the minimum: then there is no second pass.
func tooFew(j *twinJob) bool {
	count := 0
	for n, in := range j.elig {
		switch {
		case in && j.cpus[n] > 0:
			count++
		case slices.Contains(j.need, n):
			return false
		}
	}
	return count > 0 && count < j.min
}

// A node that cannot be arranged is passed over, and never comes back in a result.
func TestTakerIsAsked(t *testing.T) {
	var ws topology.Scratch
	var res topology.Result
	for i := range cases() {
		r := rand.New(rand.NewPCG(44, uint64(i)))
		w := []func(*rand.Rand) *twinWorld{randomFlat, randomTree, randomBlocks, randomRings, randomTorus}[i%5](r)
		names := make([]string, w.n)
		for n := range names {
			names[n] = name(n)
		}
		table, _ := topology.NewNames(names)
		top, _ := topology.New(&w.spec, table)
		j := randomJob(r, w)
		req := j.request(false)
		p := &tableTaker{req: req, strict: make([]bool, w.n), relaxed: make([]bool, w.n)}
		for n := range w.n {
			p.relaxed[n] = r.IntN(5) > 0
			p.strict[n] = p.relaxed[n] && r.IntN(5) > 0
		}
		req.Take, req.RelaxedCPUs = p, req.CPUs
		opts := topology.Options{Profile: topology.Profile(r.IntN(2))}
		if !top.Fitter(opts).Fit(&ws, req, &res) {
			checkRefusal(t, &res)
			continue
		}
		total, gpus := int64(0), int64(0)
		for k, id := range res.Nodes {
			if ok := p.strict[id]; !ok && !(res.Relaxed && p.relaxed[id]) {
				t.Fatalf("case %d: node %d cannot be arranged", i, id)
			}
			total += int64(res.CPUs[k])
			if len(res.GPUs) > 0 {
				gpus += int64(res.GPUs[k])
			}
			if !req.Eligible.Has(id) || res.CPUs[k] < 1 || res.CPUs[k] > req.CPUs[id] {
				t.Fatalf("case %d: node %d gives %d of %d", i, id, res.CPUs[k], req.CPUs[id])
			}
		}
		if len(res.Nodes) < j.min || len(res.Nodes) > j.max || total < req.MinCPUs || gpus < req.GPUs {
			t.Fatalf("case %d: %v %v, %d CPUs, %d GPUs for %+v\n%v %v %s", i, res.Nodes, res.CPUs, total, gpus, *j, *p, res.Relaxed, w.text)
		}
		if !slices.Equal(p.taken, res.Order) {
			t.Fatalf("case %d: %v taken since the try began, order %v", i, p.taken, res.Order)
		}
		if !slices.IsSorted(res.Nodes) || res.Set.Count() != len(res.Nodes) || len(res.Order) != len(res.Nodes) {
			t.Fatalf("case %d: nodes %v, set %d, order %v", i, res.Nodes, res.Set.Count(), res.Order)
		}
	}
}
