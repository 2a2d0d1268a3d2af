package gres

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// twin is the obvious book of one node: who holds each core and how much of
// each device, kept without words or masks.
type twin struct {
	cores map[int]int              // core → job
	units map[[2]int]map[int]int64 // group, device → job → units
	mem   map[int]int64
}

func newTwin() *twin {
	return &twin{cores: map[int]int{}, units: map[[2]int]map[int]int64{}, mem: map[int]int64{}}
}

// book adds a grant and fails if anything is given twice or beyond what is
// there.
func (w *twin) book(t *rapid.T, s *Shape, job int, g *Grant) {
	for k := range s.cores {
		if hasBit(g.Cores, k) {
			if o, ok := w.cores[k]; ok {
				t.Fatalf("core %d of job %d given to job %d", k, o, job)
			}
			if !hasBit(s.usable, k) {
				t.Fatalf("specialised core %d given", k)
			}
			w.cores[k] = job
		}
	}
	for _, d := range g.Devices {
		if d.Units == 0 || d.Device < 0 {
			continue
		}
		key := [2]int{int(d.Group), int(d.Device)}
		if w.units[key] == nil {
			w.units[key] = map[int]int64{}
		}
		w.units[key][job] += d.Units
		var sum int64
		for _, u := range w.units[key] {
			sum += u
		}
		if cap := s.groups[d.Group].devs[d.Device].units; sum > cap {
			t.Fatalf("device %v: %d units of %d given", key, sum, cap)
		}
	}
	// A GPU taken whole has no units in use, and the reverse.
	for key, jobs := range w.units {
		under := s.groups[key[0]].over
		if under >= 0 && len(jobs) > 0 && len(w.units[[2]int{int(under), key[1]}]) > 0 {
			t.Fatalf("device %d is taken whole and in units", key[1])
		}
	}
	w.mem[job] = g.MemMiB
	var sum int64
	for _, m := range w.mem {
		sum += m
	}
	if sum > s.mem {
		t.Fatalf("%d MiB of %d given", sum, s.mem)
	}
}

func (w *twin) drop(job int) {
	for k, o := range w.cores {
		if o == job {
			delete(w.cores, k)
		}
	}
	for key, jobs := range w.units {
		if delete(jobs, job); len(jobs) == 0 {
			delete(w.units, key)
		}
	}
	delete(w.mem, job)
}

// check compares a row with the books.
func (w *twin) check(t *rapid.T, s *Shape, row []uint64) {
	for k := range s.cores {
		if _, used := w.cores[k]; used != hasBit(s.UsedCores(row), k) {
			t.Fatalf("core %d: row says %v", k, !used)
		}
	}
	for g := range s.groups {
		for d := range s.groups[g].devs {
			var sum int64
			for _, u := range w.units[[2]int{g, d}] {
				sum += u
			}
			if got := s.UsedUnits(row, g, d); got != sum {
				t.Fatalf("group %d device %d: %d units used, want %d", g, d, got, sum)
			}
		}
	}
}

// couldFit says by counting whether a one-node request has enough of
// everything, wherever it lies: what the second pass must not refuse, and must
// refuse otherwise. It knows whole devices and simple CPU requests.
func (w *twin) couldFit(s *Shape, r *Request) bool {
	var mem int64
	for _, m := range w.mem {
		mem += m
	}
	cores := 0
	for k := range s.cores {
		if _, used := w.cores[k]; !used && hasBit(s.usable, k) {
			cores++
		}
	}
	cpus := int(max(r.Tasks, 1)) * r.perTask()
	if cores < cpus || s.mem-mem < r.MemMiB {
		return false
	}
	for _, d := range r.Needs[:r.NumNeeds] {
		g := s.Group(d.Name)
		free := int64(0)
		for x := range s.groups[g].devs {
			held := len(w.units[[2]int{g, x}])
			for o := range s.groups {
				if int(s.groups[o].over) == g {
					held += len(w.units[[2]int{o, x}])
				}
			}
			if held == 0 && (d.Type == 0 || s.groups[g].devs[x].typ == d.Type) {
				free++
			}
		}
		if free < max(d.PerNode, d.PerJob) {
			return false
		}
	}
	return true
}

// modelShape draws a node of up to 4 sockets with typed GPUs, sharded or not.
func modelShape(t *rapid.T) *Shape {
	c := ShapeConfig{Sockets: rapid.IntRange(1, 4).Draw(t, "sockets"), CoresPerSocket: rapid.IntRange(1, 6).Draw(t, "cores"), MemMiB: 10000}
	if rapid.Bool().Draw(t, "spec") && c.Sockets*c.CoresPerSocket > 2 {
		c.SpecCores = AppendSpecCores(nil, c.Sockets, c.CoresPerSocket, 1, false)
	}
	n := rapid.IntRange(1, 8).Draw(t, "gpus")
	g, sh := GroupConfig{Name: NameGPU, Flags: Tracked}, GroupConfig{Name: NameShard, Over: NameGPU, Flags: Tracked}
	types := rapid.IntRange(0, 2).Draw(t, "types")
	for range n {
		d := DeviceConfig{}
		if q := rapid.IntRange(-1, c.Sockets-1).Draw(t, "socket"); q >= 0 {
			d.Cores = []uint64{(1<<c.CoresPerSocket - 1) << (q * c.CoresPerSocket)}
		}
		if types > 0 {
			d.Type = TypeID(rapid.IntRange(1, types).Draw(t, "type"))
		}
		g.Devices = append(g.Devices, d)
		sh.Devices = append(sh.Devices, DeviceConfig{Units: int64(rapid.IntRange(1, 6).Draw(t, "units"))})
	}
	c.Groups = []GroupConfig{g}
	if rapid.Bool().Draw(t, "sharded") {
		c.Groups = append(c.Groups, sh)
	}
	s, err := NewShape(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// modelRequest draws a one-node request; simple is true if couldFit decides it.
func modelRequest(t *rapid.T, s *Shape) (r Request, simple bool) {
	n := rapid.IntRange(1, 6).Draw(t, "tasks")
	r = Request{Tasks: int32(n), TasksKnown: Given, CPUsPerTask: int32(rapid.IntRange(1, 3).Draw(t, "c")), MinNodes: 1, MaxNodes: 1,
		Mem: MemPerNode, MemMiB: int64(rapid.IntRange(1, 3000).Draw(t, "mem")), Flags: ConsumeMem}
	r.MinCPUs = r.Tasks * r.CPUsPerTask
	r.NodeCPUs = r.CPUsPerTask
	simple = true
	d := Need{Name: NameGPU}
	if k := len(s.groups[0].types); k > 0 && rapid.Bool().Draw(t, "typed") {
		d.Type = s.groups[0].types[rapid.IntRange(0, k-1).Draw(t, "which")]
	}
	ask := int64(rapid.IntRange(1, 5).Draw(t, "ask"))
	switch rapid.SampledFrom([]string{"none", "node", "job", "task", "shard", "whole", "enforce"}).Draw(t, "form") {
	case "none":
		return r, true
	case "node":
		d.PerNode = ask
	case "job":
		d.PerJob = ask
	case "task":
		d.PerTask, d.PerJob, simple = 1, int64(n), false
	case "shard":
		if s.Group(NameShard) < 0 {
			return r, true
		}
		d, simple = Need{Name: NameShard, PerNode: ask}, false
	case "whole":
		r.Flags |= WholeNode
		return r, false
	case "enforce":
		r.Flags |= EnforceBinding
		d.PerNode, simple = ask, false
	}
	r.SetNeeds(d)
	return r, simple
}

// give evaluates and selects on one node in both passes.
func give(n NodeRow, r *Request, sc *Scratch, g *Grant) (Refusal, Refusal) {
	why := RefuseNone
	for _, pass := range []Pass{PassNear, PassAny} {
		fit := Evaluate(n, r, pass, 1, sc)
		if why = fit.Refusal; why != RefuseNone {
			continue
		}
		var tk Taking
		tk.Start(r)
		c := Chosen{Node: n, Fit: fit}
		c.CPUs, c.Devices = tk.Take(n.Shape, r, &fit)
		if !tk.Enough(r) && !r.Has(WholeNode) {
			why = RefuseNotEnough
			continue
		}
		grants := []Grant{*g}
		sel := Select(grants, []Chosen{c}, r, pass, 1, sc)
		*g = grants[0]
		return RefuseNone, sel
	}
	return why, RefuseNone
}

func propSelect(t *rapid.T) {
	s := modelShape(t)
	row := make([]uint64, s.RowLen())
	w := newTwin()
	var sc Scratch
	held := map[int]*Grant{}
	var ids []int
	job := 0
	t.Repeat(map[string]func(*rapid.T){
		"start": func(t *rapid.T) {
			r, simple := modelRequest(t, s)
			r.Links = LinkPolicy(rapid.IntRange(0, 1).Draw(t, "links"))
			before := slices.Clone(row)
			g := &Grant{}
			why, sel := give(NodeRow{Shape: s, Row: row}, &r, &sc, g)
			if !slices.Equal(before, row) {
				t.Fatal("looking changed the row")
			}
			if fits := why == RefuseNone && sel == RefuseNone; simple && fits != w.couldFit(s, &r) {
				t.Fatalf("request %+v: refused %v, %v; by counting it fits: %v", r, why, sel, w.couldFit(s, &r))
			}
			if why != RefuseNone || sel != RefuseNone {
				return
			}
			checkGiven(t, s, &r, g)
			if err := s.CheckGrant(row, g); err != nil {
				t.Fatal(err)
			}
			job++
			w.book(t, s, job, g)
			s.Take(row, g)
			held[job], ids = g, append(ids, job)
		},
		"end": func(t *rapid.T) {
			if len(ids) == 0 {
				return // no skip: a fuzzer may draw nothing but this action
			}
			i := rapid.IntRange(0, len(ids)-1).Draw(t, "which")
			s.Give(row, held[ids[i]])
			w.drop(ids[i])
			delete(held, ids[i])
			ids = slices.Delete(ids, i, i+1)
			if len(ids) == 0 && !s.Idle(row) {
				t.Fatalf("an empty node has row %v", row)
			}
		},
		"": func(t *rapid.T) { w.check(t, s, row) },
	})
}

// checkGiven tests that g is what r asks.
func checkGiven(t *rapid.T, s *Shape, r *Request, g *Grant) {
	if r.Has(WholeNode) {
		if n := countRange(g.Cores, 0, s.cores); n != s.cores-s.specCores {
			t.Fatalf("a whole node gave %d cores of %d", n, s.cores-s.specCores)
		}
		return
	}
	if n := countRange(g.Cores, 0, s.cores); n < int(r.Tasks)*r.perTask() {
		t.Fatalf("%d cores for %d tasks of %d", n, r.Tasks, r.perTask())
	}
	for _, d := range r.Needs[:r.NumNeeds] {
		x := s.Group(d.Name)
		want := max(d.PerNode, d.PerJob)
		if got := g.Count(s, x, d.Type); got != want {
			t.Fatalf("%d devices of %+v, want %d: %+v", got, d, want, g.Devices)
		}
		for _, e := range g.Devices {
			if e.Units > 0 && d.Type != 0 && s.DeviceType(x, int(e.Device)) != d.Type {
				t.Fatalf("device %d is not of type %d", e.Device, d.Type)
			}
		}
	}
	if g.MemMiB != r.MemMiB {
		t.Fatalf("%d MiB given, want %d", g.MemMiB, r.MemMiB)
	}
}

func TestSelectModel(t *testing.T) { rapid.Check(t, propSelect) }

func FuzzSelect(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propSelect)) }

// What a typed request gets an untyped one would get too.
func TestTypedIsSubsetOfUntyped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := modelShape(t)
		if len(s.groups[0].types) == 0 {
			return
		}
		row := make([]uint64, s.RowLen())
		row[s.groups[0].off] = rapid.Uint64Range(0, 1<<len(s.groups[0].devs)-1).Draw(t, "busy")
		var sc Scratch
		n := NodeRow{Shape: s, Row: row}
		r := Request{Tasks: 1, TasksKnown: Given, CPUsPerTask: 1, MinCPUs: 1, NodeCPUs: 1, MinNodes: 1, MaxNodes: 1}
		ask := int64(rapid.IntRange(1, 4).Draw(t, "ask"))
		r.SetNeeds(Need{Name: NameGPU, PerNode: ask, Type: s.groups[0].types[0]})
		typed := Evaluate(n, &r, PassAny, 1, &sc).Refusal
		r.SetNeeds(Need{Name: NameGPU, PerNode: ask})
		untyped := Evaluate(n, &r, PassAny, 1, &sc).Refusal
		if typed == RefuseNone && untyped != RefuseNone {
			t.Fatalf("typed fits, untyped is refused: %v", untyped)
		}
		free := s.FreeDevices(row, 0, 0)
		var sum int64
		for _, k := range s.groups[0].types {
			sum += s.FreeDevices(row, 0, k)
		}
		if sum != free {
			t.Fatalf("free by type %d, in all %d", sum, free)
		}
	})
}

func TestScopeKeepsStrangersApart(t *testing.T) {
	tab := NewDeviceTable()
	s, err := NewShape(ShapeConfig{Sockets: 1, CoresPerSocket: 8, MemMiB: 1000, Groups: []GroupConfig{
		{Name: NameGPU, Flags: Tracked, Devices: make([]DeviceConfig, 2)},
		{Name: NameShard, Over: NameGPU, Flags: Tracked, Scope: ShareUser, Devices: []DeviceConfig{{Units: 4}, {Units: 4}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]uint64, s.RowLen())
	var sc Scratch
	start := func(user uint32, units int64) (*Grant, Refusal) {
		r := Request{Tasks: 1, TasksKnown: Given, CPUsPerTask: 1, MinCPUs: 1, NodeCPUs: 1, MinNodes: 1, MaxNodes: 1, Owner: Owner{User: user}}
		r.SetNeeds(Need{Name: NameShard, PerNode: units})
		g := &Grant{}
		why, sel := give(NodeRow{Shape: s, Row: row}, &r, &sc, g)
		if why == RefuseNone && sel == RefuseNone {
			s.Take(row, g)
		}
		return g, max(why, sel)
	}
	text := func(g *Grant) string { return string(s.AppendGRES(nil, tab, g)) }
	a, _ := start(1, 2)
	b, _ := start(2, 2)
	c, _ := start(1, 2)
	_, why := start(3, 1)
	if got := fmt.Sprint(text(a), " ", text(b), " ", text(c), " ", why); got != "shard:2(2/4,0/4) shard:2(0/4,2/4) shard:2(2/4,0/4) Scope" {
		t.Errorf("got %s", got)
	}
	s.Give(row, b)
	if g, why := start(3, 1); why != RefuseNone || text(g) != "shard:1(0/4,1/4)" {
		t.Errorf("after user 2 left: %v %s", why, text(g))
	}
}

func TestReplicasAreOneEach(t *testing.T) {
	tab := NewDeviceTable()
	gpuShared := tab.InternName("gpu.shared")
	s, err := NewShape(ShapeConfig{MilliCPU: 8000, MemMiB: 1000, Groups: []GroupConfig{
		{Name: NameGPU, Devices: make([]DeviceConfig, 2)},
		{Name: gpuShared, Over: NameGPU, Flags: OneUnit, Devices: []DeviceConfig{{Units: 4}, {Units: 4}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]uint64, s.RowLen())
	var sc Scratch
	r := Request{CPUsPerTask: 1, MinNodes: 1, MaxNodes: 1, MilliCPU: 500}
	r.SetNeeds(Need{Name: gpuShared, PerNode: 2})
	if f := Evaluate(NodeRow{Shape: s, Row: row}, &r, PassAny, 1, &sc); f.Refusal != RefuseUnits {
		t.Errorf("two replicas: %v, want %v", f.Refusal, RefuseUnits)
	}
	r.SetNeeds(Need{Name: gpuShared, PerNode: 1})
	if f := Evaluate(NodeRow{Shape: s, Row: row}, &r, PassAny, 1, &sc); f.Refusal != RefuseNone {
		t.Errorf("one replica: %v", f.Refusal)
	}
}

func TestMilliGPUsPackAndAddUp(t *testing.T) {
	s, err := NewShape(ShapeConfig{MilliCPU: 64000, MemMiB: 1000, Groups: []GroupConfig{
		{Name: NameGPU, Flags: Divisible, Devices: []DeviceConfig{{Units: 1000}, {Units: 1000}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]uint64, s.RowLen())
	var sc Scratch
	for i, c := range []struct {
		whole, milli int64
		want         string
	}{
		{1, 100, "[{0 0 0 100}]"}, {1, 200, "[{0 0 0 200}]"}, {1, 800, "[{0 0 1 800}]"},
		{1, 700, "[{0 0 0 700}]"}, {1, 0, "NotEnough"}, {1, 200, "[{0 0 1 200}]"}, {1, 1, "NotEnough"},
	} {
		r := Request{CPUsPerTask: 1, MinCPUs: 1, NodeCPUs: 1, MinNodes: 1, MaxNodes: 1, MilliCPU: 1500}
		r.SetNeeds(Need{Name: NameGPU, PerNode: c.whole, Milli: c.milli})
		g := &Grant{}
		why, sel := give(NodeRow{Shape: s, Row: row}, &r, &sc, g)
		got := ""
		for _, d := range g.Devices {
			got += fmt.Sprintf("[{%d %d %d %d}]", d.Group, d.Type, d.Device, d.Units)
		}
		if f := max(why, sel); f != RefuseNone {
			got = f.String()
			if got == "BusyShared" {
				got = "NotEnough"
			}
		} else {
			s.Take(row, g)
		}
		if got != c.want {
			t.Errorf("step %d: got %s, want %s", i, got, c.want)
		}
	}
	if got := s.FreeMilliCPU(row); got != 64000-5*1500 {
		t.Errorf("free milli-CPU %d", got)
	}
}
