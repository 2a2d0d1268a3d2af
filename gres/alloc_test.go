package gres

import "testing"

func TestTextAllocs(t *testing.T) {
	if checking {
		t.Skip("self-checks allocate")
	}
	s := testSchema(t)
	v, w := s.NewVector(), s.NewVector()
	buf := make([]byte, 0, 256)
	got := testing.AllocsPerRun(100, func() {
		if err := ParseTRES(s, v, "cpu=16,mem=32G,gres/gpu=2"); err != nil {
			t.Fatal(err)
		}
		AddTo(w, v, v)
		AddScaled(w, 3, v)
		buf = AppendTRES(buf[:0], s, w)
	})
	if got != 0 {
		t.Errorf("ParseTRES, AddTo and AppendTRES: %v allocs per run, want 0", got)
	}
}
