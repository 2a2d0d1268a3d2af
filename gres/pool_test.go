package gres

import "testing"

// gpuShape returns a node of two sockets with gpus devices, the first half
// near socket 0.
func gpuShape(t testing.TB, cores, gpus int, typ TypeID, memMiB int64) *Shape {
	t.Helper()
	c := ShapeConfig{Sockets: 2, CoresPerSocket: cores / 2, MemMiB: memMiB}
	if gpus > 0 {
		g := GroupConfig{Name: NameGPU, Flags: Tracked}
		for i := range gpus {
			near := make([]uint64, (cores+63)/64)
			for k := range cores / 2 {
				k += i * 2 / gpus * (cores / 2)
				near[k>>6] |= 1 << (k & 63)
			}
			g.Devices = append(g.Devices, DeviceConfig{Type: typ, Cores: near})
		}
		c.Groups = []GroupConfig{g}
	}
	s, err := NewShape(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// countShape returns a node that has counts only, with GPUs in thousandths.
func countShape(t testing.TB, milliCPU, memMiB int64, gpus int) *Shape {
	t.Helper()
	c := ShapeConfig{MilliCPU: milliCPU, MemMiB: memMiB}
	if gpus > 0 {
		g := GroupConfig{Name: NameGPU, Flags: Divisible}
		for range gpus {
			g.Devices = append(g.Devices, DeviceConfig{Units: 1000})
		}
		c.Groups = []GroupConfig{g}
	}
	s, err := NewShape(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// gpuRequest asks for gpus whole devices and as many CPUs on one node.
func gpuRequest(gpus int64) *Request {
	r := &Request{CPUsPerTask: int32(max(gpus, 1)), Tasks: 1, TasksKnown: Given, MinNodes: 1, MaxNodes: 1, MinCPUs: int32(max(gpus, 1)), Mem: MemPerNode, MemMiB: 1024, Flags: ConsumeMem}
	if gpus > 0 {
		r.SetNeeds(Need{Name: NameGPU, PerNode: gpus})
	}
	return r
}

func allWords(n int) []uint64 {
	w := make([]uint64, (n+63)/64)
	for i := range n {
		w[i>>6] |= 1 << (i & 63)
	}
	return w
}

func uniformPool(t testing.TB, n int, s *Shape) *Pool {
	t.Helper()
	p := NewPool(n)
	id := p.AddShape(s)
	for i := range n {
		p.SetNode(int32(i), id)
	}
	return p
}

func TestPlaceOneTakesLowestNode(t *testing.T) {
	p := uniformPool(t, 5, gpuShape(t, 16, 4, 0, 65536))
	v := p.AddView(allWords(5))
	c := p.AddClass(gpuRequest(4))
	var g Grant
	for want := range int32(5) {
		n := p.PlaceOne(c, PassNear, []ViewID{v}, nil, &g)
		if n != want {
			t.Fatalf("PlaceOne = %d, want %d", n, want)
		}
		p.Take(n, &g)
		p.Check()
	}
	if n := p.PlaceOne(c, PassNear, []ViewID{v}, nil, &g); n != -1 {
		t.Fatalf("PlaceOne on a full cluster = %d", n)
	}
}

func TestViewsComeInOrder(t *testing.T) {
	p := uniformPool(t, 130, gpuShape(t, 16, 4, 0, 65536))
	low, high := make([]uint64, 3), make([]uint64, 3)
	low[2], high[0] = 1, 1<<5|1<<9
	views := []ViewID{p.AddView(low), p.AddView(high)}
	c := p.AddClass(gpuRequest(4))
	var g Grant
	for _, want := range []int32{128, 5, 9, -1} {
		n := p.PlaceOne(c, PassNear, views, nil, &g)
		if n != want {
			t.Fatalf("PlaceOne = %d, want %d", n, want)
		}
		if n >= 0 {
			p.Take(n, &g)
		}
	}
	p.SetView(views[1], []uint64{0, 4, 0})
	if n := p.PlaceOne(c, PassNear, views, nil, &g); n != 66 {
		t.Fatalf("PlaceOne after a change of view = %d, want 66", n)
	}
}

func TestSnapshotRestores(t *testing.T) {
	p := uniformPool(t, 70, gpuShape(t, 16, 4, 0, 65536))
	p.RemoveNode(3)
	p.SetAvailable(4, false)
	v, c := p.AddView(allWords(70)), p.AddClass(gpuRequest(3))
	var g Grant
	for range 30 {
		n := p.PlaceOne(c, PassNear, []ViewID{v}, nil, &g)
		p.Take(n, &g)
	}
	data := p.AppendSnapshot(nil)
	q := NewPool(1)
	q.AddShape(p.ShapeAt(0))
	rest, err := q.Restore(append(data, "rest"...))
	if err != nil || string(rest) != "rest" || q.Hash() != p.Hash() {
		t.Fatalf("Restore: %q, %v, hash %x want %x", rest, err, q.Hash(), p.Hash())
	}
	q.Check()
	if again := q.AppendSnapshot(nil); string(again) != string(data) {
		t.Error("a restored pool writes other bytes")
	}
	for i := range data {
		bad := append([]byte(nil), data...)
		bad[i] ^= 0x15
		if _, err := q.Restore(bad); err == nil {
			t.Errorf("Restore accepts byte %d changed", i)
		}
	}
	if q.Hash() != p.Hash() {
		t.Error("a failed Restore changed the pool")
	}
}

func TestForkDoesNotLeak(t *testing.T) {
	p := uniformPool(t, 70, gpuShape(t, 16, 4, 0, 65536))
	v, c := p.AddView(allWords(70)), p.AddClass(gpuRequest(4))
	var g Grant
	n := p.PlaceOne(c, PassNear, []ViewID{v}, nil, &g)
	p.Take(n, &g)
	q := p.Fork()
	before := p.Hash()
	for range 10 {
		n := q.PlaceOne(c, PassNear, []ViewID{v}, nil, &g)
		q.Take(n, &g)
	}
	if p.Hash() != before || q.Hash() == before {
		t.Error("a fork changes its original")
	}
	p.Check()
	q.Check()
	if n := p.PlaceOne(c, PassNear, []ViewID{v}, nil, &g); n != 1 {
		t.Errorf("PlaceOne after a fork = %d, want 1", n)
	}
}
