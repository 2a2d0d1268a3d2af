package gres

import "testing"

func TestPoolAllocs(t *testing.T) {
	if checking {
		t.Skip("self-checks allocate")
	}
	p, c, views := filledPool(t, 1000, "0.95", 1)
	var g Grant
	var cols Columns
	cols.Size(p.Len())
	within := allWords(p.Len())
	got := testing.AllocsPerRun(200, func() {
		n := p.PlaceOne(c, PassNear, views, within, &g)
		p.Take(n, &g)
		m := p.Mark()
		k := p.PlaceOne(c, PassNear, views, nil, &g)
		p.Take(k, &g)
		p.SetAvailable(k, false)
		p.Fill(&cols, c, PassAny, 1, nil)
		p.Rollback(m)
		p.Give(n, &g)
		p.Forget()
	})
	if got != 0 {
		t.Errorf("place, take, try, roll back and give: %v allocs per run, want 0", got)
	}
}
