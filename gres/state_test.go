package gres

import (
	"testing"

	"pgregory.net/rapid"
)

// propDigest: a state that a class fits covers what the class asks, and less of
// it too.
func propDigest(t *rapid.T) {
	tb := &testing.T{}
	shapes := []*Shape{gpuShape(tb, 8, 4, 1, 8192), gpuShape(tb, 16, 2, 2, 16384), gpuShape(tb, 4, 0, 0, 4096), countShape(tb, 8000, 8192, 2)}
	p := NewPool(len(shapes))
	for i, s := range shapes {
		p.SetNode(int32(i), p.AddShape(s))
	}
	requests := []*Request{gpuRequest(0), gpuRequest(1), gpuRequest(2), gpuRequest(4)}
	requests[2].Needs[0].Type = 2
	r := requests[rapid.IntRange(0, len(requests)-1).Draw(t, "request")]
	r.MemMiB = rapid.Int64Range(0, 9000).Draw(t, "memory")
	c := p.AddClass(r)
	fill := p.AddClass(gpuRequest(rapid.Int64Range(0, 2).Draw(t, "GPUs in use")))
	views := []ViewID{p.AddView(allWords(len(shapes)))}
	var g Grant
	for range rapid.IntRange(0, 12).Draw(t, "in use") {
		if n := p.PlaceOne(fill, PassAny, views, nil, &g); n >= 0 {
			p.Take(n, &g)
		}
	}
	ask, ok := p.Ask(c)
	for n := range int32(len(shapes)) {
		id := p.StateOf(n)
		if f := p.FitState(c, PassAny, 1, id); f.Refusal != RefuseNone {
			continue
		}
		if d := p.Digest(id); !ok || !d.Covers(ask) || !d.Covers(p.Coarse(ask)) || !ask.Covers(p.Coarse(ask)) {
			t.Fatalf("node %d fits with digest %x, asked %x (coarse %x)", n, d, ask, p.Coarse(ask))
		}
	}
}

func TestDigestCoversWhatFits(t *testing.T) { rapid.Check(t, propDigest) }

func TestHeldStates(t *testing.T) {
	p := uniformPool(t, 2, gpuShape(t, 8, 4, 1, 8192))
	c := p.AddClass(gpuRequest(2))
	var g, h Grant
	if !p.ArrangeState(c, PassAny, p.StateOf(0), &g) {
		t.Fatal("an idle node refuses")
	}
	row := append([]uint64(nil), p.Row(0)...)
	p.Shape(0).Take(row, &g)
	id := p.HoldRow(p.ShapeID(0), row)
	p.Take(1, &g)
	if p.StateOf(1) != id {
		t.Errorf("node 1 is in state %d, the same row is state %d", p.StateOf(1), id)
	}
	p.Give(1, &g)
	p.Forget()
	p.Check()
	if !p.ArrangeState(c, PassAny, id, &h) || h.Devices[0].Device == g.Devices[0].Device {
		t.Errorf("a second job gets %v beside %v", h, g)
	}
	p.HoldState(id)
	f := p.Fork()
	f.Check()
	p.DropState(id)
	p.DropState(id)
	p.Check()
}

func TestStateAllocs(t *testing.T) {
	if checking {
		t.Skip("self-checks allocate")
	}
	p := uniformPool(t, 100, gpuShape(t, 8, 4, 1, 8192))
	p.ReserveStates(100)
	c := p.AddClass(gpuRequest(1))
	var g Grant
	row := make([]uint64, p.Shape(0).RowLen())
	got := testing.AllocsPerRun(100, func() {
		clear(row)
		for range 4 {
			id := p.HoldRow(p.ShapeID(0), row)
			if ask, _ := p.Ask(c); p.Digest(id).Covers(ask) && p.ArrangeState(c, PassAny, id, &g) {
				p.Shape(0).Take(row, &g)
			}
			p.DropState(id)
		}
	})
	if got != 0 {
		t.Errorf("hold, look and drop: %v allocs per run, want 0", got)
	}
}
