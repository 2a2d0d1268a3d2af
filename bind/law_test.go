package bind

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naiveBind is what Slurm's node daemon does for one task: it goes through
// tasks 0 to k and keeps the last answer. Written from specification bind.md 2
// over sets as maps.
func naiveBind(b *Binding, d *Devices, masks [][]uint64, k int) []int32 {
	near := func(i int, mask []uint64) (subset, overlap bool) {
		if d.Near == nil || d.Near[i] == nil || mask == nil {
			return true, true
		}
		subset = true
		for cpu := range int32(128) {
			if hasBit(d.Near[i], cpu) {
				if hasBit(mask, cpu) {
					overlap = true
				} else {
					subset = false
				}
			}
		}
		return subset, overlap
	}
	everything := make([]int32, len(d.Index))
	for i := range everything {
		everything[i] = int32(i)
	}
	if len(everything) == 0 {
		return nil
	}
	named := func(id int32) []int32 {
		dev := id
		if d.Constrained {
			job := d.Job
			if job == nil {
				job = d.Index
			}
			if int(id) >= len(job) {
				return nil
			}
			dev = job[id]
		}
		if i := slices.Index(d.Index, dev); i >= 0 {
			return []int32{int32(i)}
		}
		return nil
	}
	orFirst := func(list []int32) []int32 {
		if len(list) == 0 {
			return []int32{0}
		}
		return list
	}
	taken := map[int32]int32{}
	var got []int32
	for t := range k + 1 {
		got = nil
		switch b.Mode {
		case ModeNone:
			got = everything
		case ModeClosest:
			for _, i := range everything {
				if _, ok := near(int(i), masks[t]); ok {
					got = append(got, i)
				}
			}
			if got == nil {
				got = everything
			}
		case ModeSingle:
			pick := int32(t % len(everything))
			for step := 2; step >= 0; step-- { // the last that matches wins
				for j := len(everything) - 1; j >= 0; j-- {
					i := everything[j]
					subset, overlap := near(int(i), masks[t])
					if taken[i] < b.N && (step == 2 || step == 1 && overlap || step == 0 && subset) {
						pick = i
					}
				}
			}
			if len(everything) > 1 {
				taken[pick]++
			}
			got = []int32{pick}
		case ModePerTask:
			for _, closeOnly := range []bool{true, false} {
				for _, i := range everything {
					_, overlap := near(int(i), masks[t])
					if int32(len(got)) < b.N && taken[i] == 0 && (overlap || !closeOnly) {
						taken[i] = 1
						got = append(got, i)
					}
				}
			}
			slices.Sort(got)
			got = orFirst(got)
		case ModeMap:
			var ids []int32
			for _, run := range b.Map {
				for range run.Times {
					ids = append(ids, run.ID)
				}
			}
			if len(ids) > 0 {
				got = named(ids[t%len(ids)])
			}
			got = orFirst(got)
		case ModeMask:
			var runs []uint64
			for _, run := range b.Masks {
				for range run.Times {
					runs = append(runs, run.Bits[0])
				}
			}
			if len(runs) > 0 {
				for id := range int32(64) {
					if runs[t%len(runs)]>>id&1 == 1 {
						got = append(got, named(id)...)
					}
				}
			}
			got = orFirst(got)
		}
	}
	return got
}

func drawBinding(t *rapid.T) Binding {
	b := Binding{Mode: Mode(rapid.IntRange(0, 5).Draw(t, "mode"))}
	switch b.Mode {
	case ModeSingle:
		b.N = int32(rapid.IntRange(0, 3).Draw(t, "n"))
	case ModePerTask:
		b.N = int32(rapid.IntRange(1, 3).Draw(t, "n"))
	case ModeMap:
		b.Map = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) MapRun {
			return MapRun{int32(rapid.IntRange(0, 8).Draw(t, "id")), int32(rapid.IntRange(1, 3).Draw(t, "times"))}
		}), 0, 3).Draw(t, "map")
	case ModeMask:
		b.Masks = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) MaskRun {
			return MaskRun{[]uint64{rapid.Uint64Range(0, 511).Draw(t, "bits")}, int32(rapid.IntRange(1, 3).Draw(t, "times"))}
		}), 0, 3).Draw(t, "mask")
	}
	return b
}

func drawCPUs(t *rapid.T, label string) []uint64 {
	if rapid.IntRange(0, 3).Draw(t, label+" unknown") == 0 {
		return nil
	}
	return []uint64{rapid.Uint64Range(0, 0xff).Draw(t, label)}
}

func TestBindIsTaskByTask(t *testing.T) {
	var r Binder
	var bound Bound
	rapid.Check(t, func(t *rapid.T) {
		job := rapid.SliceOfNDistinct(rapid.Int32Range(0, 7), 0, 6, rapid.ID).Draw(t, "job")
		slices.Sort(job)
		d := Devices{Job: job, Constrained: rapid.Bool().Draw(t, "constrained")}
		for _, dev := range job {
			if rapid.IntRange(0, 3).Draw(t, "in step") > 0 {
				d.Index = append(d.Index, dev)
				d.Near = append(d.Near, drawCPUs(t, "near"))
			}
		}
		b := drawBinding(t)
		var masks [][]uint64
		for range rapid.IntRange(0, 8).Draw(t, "tasks") {
			masks = append(masks, drawCPUs(t, "task"))
		}
		r.Bind(&bound, &b, &d, masks)
		for k := range masks {
			if want := naiveBind(&b, &d, masks, k); !slices.Equal(bound.Task(k), want) {
				t.Fatalf("task %d of %s: %v, want %v", k, b.Append(nil), bound.Task(k), want)
			}
			seen := map[int32]bool{}
			for i, v := range d.AppendVisible(nil, bound.Task(k)) {
				if seen[v] || d.Constrained && v != int32(i) {
					t.Fatalf("task %d: visible %v", k, d.AppendVisible(nil, bound.Task(k)))
				}
				seen[v] = true
			}
		}
	})
}

// TestLayoutPlacesEveryTaskOnce: all tasks have a place, nodes keep to their
// rooms, local numbers run from 0, and each node that has room is used before
// any takes a second task beyond need.
func TestLayoutPlacesEveryTaskOnce(t *testing.T) {
	var l Layout
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.SliceOfN(rapid.Int32Range(0, 5), 1, 6).Draw(t, "room")
		n := int32(rapid.IntRange(0, 20).Draw(t, "tasks"))
		d := Distribution{Spread: Spread(rapid.IntRange(0, 3).Draw(t, "spread")), Plane: int32(rapid.IntRange(1, 3).Draw(t, "plane"))}
		over := rapid.Bool().Draw(t, "overcommit")
		fits := n <= sumOf(room)
		if ok := l.Lay(n, room, d, over); ok != (fits || over) {
			t.Fatalf("Lay = %v", ok)
		} else if !ok {
			return
		}
		if len(l.Node) != int(n) || sumOf(l.Tasks) != n {
			t.Fatalf("%d places, %d tasks, want %d", len(l.Node), sumOf(l.Tasks), n)
		}
		count := make([]int32, len(room))
		for rank, at := range l.Node {
			if l.Local[rank] != count[at] {
				t.Fatalf("rank %d is local %d on node %d, want %d", rank, l.Local[rank], at, count[at])
			}
			count[at]++
		}
		for i := range room {
			if count[i] != l.Tasks[i] || fits && count[i] > room[i] {
				t.Fatalf("node %d has %d tasks, says %d, room %d", i, count[i], l.Tasks[i], room[i])
			}
			if d.Spread != SpreadArbitrary && fits && n >= int32(len(room)) && room[i] > 0 && d.Spread == SpreadBlock && count[i] == 0 {
				t.Fatalf("node %d of %v has no task of %d", i, room, n)
			}
		}
	})
}

// TestLayGivesWholeTasks: every task has CPUs of the allocation alone, and as
// long as there are enough for all, tasks share none unless bound wider.
func TestLayGivesWholeTasks(t *testing.T) {
	var l CPULayer
	var m Masks
	rapid.Check(t, func(t *rapid.T) {
		s := CPUShape{Sockets: int32(rapid.IntRange(1, 3).Draw(t, "sockets")), Cores: int32(rapid.IntRange(1, 4).Draw(t, "cores")), Threads: int32(rapid.IntRange(1, 2).Draw(t, "threads"))}
		alloc := []uint64{rapid.Uint64Range(0, 1<<s.CPUs()-1).Draw(t, "allocated")}
		req := CPURequest{
			Tasks: int32(rapid.IntRange(1, 6).Draw(t, "tasks")), CPUsPerTask: int32(rapid.IntRange(0, 3).Draw(t, "CPUs a task")),
			Distribution: InSocket(rapid.IntRange(0, 3).Draw(t, "distribution")), Bind: CPUBinding{Type: CPUThreads},
		}
		why := l.Lay(&m, &s, alloc, &req)
		have := int32(bits.OnesCount64(alloc[0]))
		if (why == Accepted) != (have >= req.Tasks) {
			t.Fatalf("Lay = %v with %d CPUs for %d tasks", why, have, req.Tasks)
		}
		if why != Accepted {
			return
		}
		c := max(req.CPUsPerTask, 1)
		if have < c*req.Tasks {
			c = have / req.Tasks
		}
		used := uint64(0)
		for k, mask := range m.Tasks() {
			if mask[0]&^alloc[0] != 0 || int32(bits.OnesCount64(mask[0])) != c || used&mask[0] != 0 {
				t.Fatalf("task %d has %b of %b, used %b, want %d CPUs", k, mask[0], alloc[0], used, c)
			}
			used |= mask[0]
		}
		narrow := append([]uint64{}, m.bits...)
		for typ := CPUCores; typ <= CPULdoms; typ++ {
			req.Bind.Type = typ
			if typ == CPUCores && s.Threads > 1 {
				continue // leaves threads out, so the deal differs
			}
			l.Lay(&m, &s, alloc, &req)
			for k := range narrow {
				if narrow[k]&^m.bits[k] != 0 || m.bits[k]&^alloc[0] != 0 {
					t.Fatalf("width %v: %b is not around %b in %b", typ, m.bits[k], narrow[k], alloc[0])
				}
			}
		}
	})
}

// TestPlanHoldsWhatItGives: devices are the job's, none twice, none that other
// steps hold; per-task numbers are kept.
func TestPlanHoldsWhatItGives(t *testing.T) {
	var l Layer
	var s Step
	rapid.Check(t, func(t *rapid.T) {
		var nodes []StepNode
		for range rapid.IntRange(1, 3).Draw(t, "nodes") {
			nd := StepNode{CPUs: int32(rapid.IntRange(1, 6).Draw(t, "CPUs")), Devices: span(0, int32(rapid.IntRange(-1, 3).Draw(t, "last device")))}
			nd.Held = int32(rapid.IntRange(0, int(nd.CPUs)).Draw(t, "held"))
			for range nd.Devices {
				nd.Busy = append(nd.Busy, rapid.Bool().Draw(t, "busy"))
				nd.Near = append(nd.Near, rapid.Bool().Draw(t, "near"))
				nd.Type = append(nd.Type, int32(rapid.IntRange(0, 1).Draw(t, "type")))
			}
			nodes = append(nodes, nd)
		}
		ask := func(label string) []TypedCount {
			if rapid.Bool().Draw(t, label) {
				return nil
			}
			return []TypedCount{{Type: int32(rapid.IntRange(-1, 1).Draw(t, label+" type")), Count: int32(rapid.IntRange(0, 3).Draw(t, label+" count"))}}
		}
		req := StepRequest{Tasks: int32(rapid.IntRange(0, 6).Draw(t, "tasks")), MinNodes: int32(rapid.IntRange(0, 3).Draw(t, "min nodes")),
			CPUsPerTask: int32(rapid.IntRange(0, 2).Draw(t, "CPUs a task")), Exact: rapid.Bool().Draw(t, "exact"),
			Job: ask("job"), Node: ask("node"), Task: ask("task"), TasksPerGPU: int32(rapid.IntRange(0, 2).Draw(t, "tasks a GPU"))}
		if l.Plan(&s, &req, nodes) != Accepted {
			return
		}
		asked := len(req.Job)+len(req.Node)+len(req.Task) > 0 || req.TasksPerGPU > 0
		for i := range int(s.Nodes) {
			nd := &nodes[int(s.First)+i]
			devs := s.Devices(i)
			for k, p := range devs {
				if k > 0 && devs[k-1] >= p || asked && nd.Busy[p] {
					t.Fatalf("node %d: devices %v, busy %v", i, devs, nd.Busy)
				}
			}
			if len(req.Node) == 0 && len(req.Task) > 0 && int32(len(devs)) != s.Layout.Tasks[i]*req.Task[0].Count {
				t.Fatalf("node %d: %d devices for %d tasks", i, len(devs), s.Layout.Tasks[i])
			}
			if s.Layout.Tasks[i] < 1 || s.CPUs[i] > nd.CPUs {
				t.Fatalf("node %d: %d tasks, %d CPUs of %d", i, s.Layout.Tasks[i], s.CPUs[i], nd.CPUs)
			}
		}
	})
}
