package gres

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testSchema(t testing.TB) *Schema {
	t.Helper()
	s, err := NewSchema("gres/gpu", "gres/gpu:h100", "license/matlab", "bb/cray")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseTRES(t *testing.T) {
	s := testSchema(t)
	gpu, _ := s.Kind("gres/gpu")
	typed, _ := s.Kind("GRES/GPU:H100")
	bb, _ := s.Kind("bb/cray")
	for _, c := range []struct {
		name, before, text string
		kind               Kind
		want               int64
	}{
		{"plain count", "", "cpu=16", CPU, 16},
		{"memory is MiB", "", "mem=500", Mem, 500},
		{"memory in GiB", "", "mem=32G", Mem, 32 << 10},
		{"memory in TiB", "", "cpu=1,mem=1T", Mem, 1 << 20},
		{"K below the base is ignored", "", "mem=2048K", Mem, 2048},
		{"counts multiply by 1024", "", "cpu=2k", CPU, 2048},
		{"burst buffers are MiB", "", "bb/cray=1G", bb, 1024},
		{"case does not matter", "", "GRES/Gpu:h100=3", typed, 3},
		{"number of a fixed kind", "", "1=7", CPU, 7},
		{"number of a configured kind", "", "1001=7", gpu, 7},
		{"minus one clears", "cpu=4", "cpu=-1", CPU, Unlimited},
		{"others stay", "cpu=4", "mem=1", CPU, 4},
		{"taken away", "mem=32G", "mem-=8G,gres/gpu+=2", Mem, 24 << 10},
		{"added", "gres/gpu=2", "gres/gpu+=2", gpu, 4},
		{"stops at zero", "gres/gpu=4", "gres/gpu-=10", gpu, 0},
		{"added to unset", "node=-1", "node+=5", Node, 5},
		{"taken from unset", "billing=-1", "billing-=5", Billing, 0},
		{"last of two wins", "gres/gpu=0", "gres/gpu+=3,gres/gpu+=4", gpu, 4},
		{"last of two applies to the stored", "gres/gpu=4", "gres/gpu=3,gres/gpu+=4", gpu, 8},
		{"64 bits saturate", "", "cpu=18446744073709551600", CPU, Unlimited},
		{"product saturates", "", "cpu=9000000000P", CPU, Unlimited},
		{"empty", "cpu=3", "", CPU, 3},
	} {
		v := s.NewVector()
		if err := ParseTRES(s, v, c.before); err != nil {
			t.Fatalf("%s: ParseTRES(%q): %v", c.name, c.before, err)
		}
		if err := ParseTRES(s, v, c.text); err != nil || v[c.kind] != c.want {
			t.Errorf("%s: ParseTRES(%q) after %q: %s = %d, %v; want %d", c.name, c.text, c.before, s.Name(c.kind), v[c.kind], err, c.want)
		}
	}
}

func TestParseTRESErrors(t *testing.T) {
	s := testSchema(t)
	for _, c := range []struct {
		text string
		off  int
		err  error
	}{
		{"cpu", 3, ErrSyntax},
		{"cpu=", 4, ErrSyntax},
		{"cpu=4,", 6, ErrSyntax},
		{",cpu=4", 0, ErrSyntax},
		{"=4", 0, ErrSyntax},
		{"cpu=4,gpu=1", 6, ErrUnknownKind},
		{"cpu=4x", 5, ErrSyntax},
		{"cpu=4KK", 5, ErrSyntax},
		{"cpu=-2", 4, ErrSyntax},
		{"cpu+=-1", 5, ErrSyntax},
		{"mem=99999999999999999999", 23, ErrRange},
		{"9=1", 0, ErrUnknownKind},
		{"1005=1", 0, ErrUnknownKind},
		{"gres/gpu:=1", 0, ErrUnknownKind},
	} {
		v := s.NewVector()
		v[CPU] = 77
		err := ParseTRES(s, v, c.text)
		pe, ok := errors.AsType[*ParseError](err)
		if !ok || pe.Offset != c.off || !errors.Is(err, c.err) {
			t.Errorf("ParseTRES(%q) = %v, want %v at %d", c.text, err, c.err, c.off)
		}
		if v[CPU] != 77 {
			t.Errorf("ParseTRES(%q) changed the vector though it failed", c.text)
		}
	}
}

func TestAppendTRES(t *testing.T) {
	s := testSchema(t)
	v := s.NewVector()
	const text = "cpu=16,mem=32G,node=-1,gres/gpu=4096,bb/cray=1500M"
	if err := ParseTRES(s, v, text); err != nil {
		t.Fatal(err)
	}
	if got := string(AppendTRES(nil, s, v)); got != text {
		t.Errorf("AppendTRES = %q, want %q", got, text)
	}
	Fill(v, Unlimited)
	if err := ParseTRES(s, v, "cpu=0,mem=0"); err != nil {
		t.Fatal(err)
	}
	if got := string(AppendLimits([]byte("x:"), s, v)); got != "x:cpu=0,mem=0M" {
		t.Errorf("AppendLimits = %q", got)
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4K": 4096, "4kb": 4000, "1kib": 1024, "2M": 2 << 20, "2mb": 2e6, "10g": 10737418240, "1tb": 1e12, "1PiB": 1 << 50,
	} {
		if got, err := ParseCount(text); err != nil || got != want {
			t.Errorf("ParseCount(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "K", "-1", "4 K", "4Ki", "4Kbb", "4x", "999999999999999999999"} {
		if _, err := ParseCount(text); err == nil {
			t.Errorf("ParseCount(%q) succeeded", text)
		}
	}
	for n, want := range map[int64]string{0: "0", 4096: "4K", 1500: "1500", 1 << 20: "1M", 3 << 40: "3T", 1 << 60: "1024P"} {
		if got := string(AppendCount(nil, n)); got != want {
			t.Errorf("AppendCount(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSchema(t *testing.T) {
	s := testSchema(t)
	typed, _ := s.Kind("gres/gpu:h100")
	gpu, _ := s.Kind("gres/gpu")
	if u, ok := s.Untyped(typed); !ok || u != gpu {
		t.Errorf("Untyped(gres/gpu:h100) = %v, %v, want gres/gpu", u, ok)
	}
	if _, ok := s.Untyped(gpu); ok {
		t.Error("Untyped(gres/gpu) is ok")
	}
	if s.Name(gpu) != "gres/gpu" || s.Len() != int(fixedKinds)+4 {
		t.Errorf("schema is %v", s.names)
	}
	for _, bad := range [][]string{{"gpu"}, {"gres/"}, {"gres/gpu:"}, {"gres/a,b"}, {"gres/a", "GRES/A"}, {"gres/gpu+"}, {"gres/a:b:c"}, {"disk/x"}, {"license/a=b"}} {
		if _, err := NewSchema(bad...); err == nil {
			t.Errorf("NewSchema(%q) succeeded", bad)
		}
	}
	if _, err := NewSchema("CPU", "mem"); err != nil {
		t.Errorf("NewSchema with fixed kinds: %v", err)
	}
}

func TestSaturation(t *testing.T) {
	const lo, hi = math.MinInt64, math.MaxInt64
	for _, c := range []struct {
		name       string
		f          func(a, b int64) int64
		a, b, want int64
	}{
		{"add", SatAdd, hi - 1, 2, hi}, {"add", SatAdd, lo, -1, lo}, {"add", SatAdd, hi, -5, hi}, {"add", SatAdd, -5, hi, hi},
		{"sub", SatSub, lo, 1, lo}, {"sub", SatSub, hi, 1, hi}, {"sub", SatSub, 5, lo, hi}, {"sub", SatSub, -2, hi, lo},
		{"mul", SatMul, hi, 2, hi}, {"mul", SatMul, lo, -1, hi}, {"mul", SatMul, -1, lo, hi}, {"mul", SatMul, hi, -2, lo}, {"mul", SatMul, 0, hi, 0},
	} {
		if got := c.f(c.a, c.b); got != c.want {
			t.Errorf("%s(%d, %d) = %d, want %d", c.name, c.a, c.b, got, c.want)
		}
	}
	if diff := cmp.Diff(Vector{4, 0}, SubTo(make(Vector, 2), Vector{5, 2}, Vector{1, 2})); diff != "" {
		t.Errorf("SubTo mismatch (-want +got):\n%s", diff)
	}
	if Fits(Vector{1, 3}, Vector{1, 2}) || !Fits(Vector{1, 2}, Vector{1, Unlimited}) {
		t.Error("Fits is wrong")
	}
	if k, ok := FirstOver(Vector{1, 3, 9}, Vector{1, 2, 2}); !ok || k != 1 {
		t.Errorf("FirstOver = %v, %v", k, ok)
	}
}
