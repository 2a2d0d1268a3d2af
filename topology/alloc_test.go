package topology

import "testing"

// noAlloc demands that f does not allocate once it has run.
func noAlloc(t *testing.T, what string, f func()) {
	t.Helper()
	if checking {
		return // checks allocate
	}
	f()
	if got := testing.AllocsPerRun(20, f); got != 0 {
		t.Errorf("%s: %v allocs per run, want 0", what, got)
	}
}

func TestNodeSetAllocs(t *testing.T) {
	var s, a, b NodeSet
	for _, p := range []*NodeSet{&s, &a, &b} {
		p.Init(8192)
	}
	a.AddAll()
	dst := make([]NodeID, 0, 8192)
	sum := NodeID(0)
	noAlloc(t, "NodeSet", func() {
		s.AndNotOf(&a, &b)
		s.Or(&b)
		s.Copy(&a)
		dst = s.AppendIDs(dst[:0])
		for id := range s.All() {
			sum += id
		}
		s.Init(8192)
	})
}

func TestHostlistAllocs(t *testing.T) {
	names, err := ParseHostlist("n[001-400],m[5,7,9],login")
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 8192)
	table, err := NewNames(names)
	if err != nil {
		t.Fatal(err)
	}
	var s NodeSet
	s.Init(table.Len())
	s.AddAll()
	noAlloc(t, "AppendHostlist", func() {
		buf = AppendHostlist(buf[:0], names)
		buf = table.AppendSet(buf[:0], &s)
	})
}
