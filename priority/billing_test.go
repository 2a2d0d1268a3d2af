package priority

import (
	"errors"
	"math"
	"testing"

	"github.com/berth-sched/berth/gres"
)

func testSchema(t testing.TB) *gres.Schema {
	t.Helper()
	s, err := gres.NewSchema("gres/gpu", "gres/gpu:a100", "gres/gpu:h100", "license/lic")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func vector(t testing.TB, s *gres.Schema, text string) gres.Vector {
	t.Helper()
	v := s.NewVector()
	if err := gres.ParseTRES(s, v, text); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBillingClasses: burst buffers, licences and energy are summed whatever the
// flags, and a maximum is never below 0.
func TestBillingClasses(t *testing.T) {
	s := testSchema(t)
	b, err := ParseBilling(s, "CPU=-1,Node=-2,GRES/gpu=-3,License/lic=5,Energy=1", MaxTRES)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Points(vector(t, s, "cpu=4,node=1,gres/gpu=1,license/lic=2,energy=7")); got != 17 {
		t.Errorf("Points = %v, want 17", got)
	}
	for _, tt := range []struct {
		points float64
		want   int64
	}{{-1, 0}, {math.NaN(), 0}, {4.99, 4}, {1e300, math.MaxInt64}} {
		if got := WholePoints(tt.points); got != tt.want {
			t.Errorf("WholePoints(%v) = %d, want %d", tt.points, got, tt.want)
		}
	}
}

func TestParseWeights(t *testing.T) {
	s := testSchema(t)
	w, err := ParseWeights(nil, s, "cpu=1000,MEM=-2.5,gres/GPU:A100=1e2,cpu=7")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(AppendWeights(nil, s, w)), "cpu=7,mem=-2.5,gres/gpu:a100=100"; got != want {
		t.Errorf("weights are %q, want %q", got, want)
	}
	for _, tt := range []struct {
		text   string
		offset int
		err    error
	}{
		{"billing=1", 0, gres.ErrUnknownKind}, {"cpu=1K", 4, gres.ErrSyntax}, {"cpu=1,,mem=2", 6, gres.ErrSyntax}, {"cpu=", 4, gres.ErrSyntax},
		{"cpu=nan", 4, gres.ErrSyntax}, {"mem=1,cpu=1e400", 10, gres.ErrRange},
	} {
		dst := []float64{42}
		got, err := ParseWeights(dst, s, tt.text)
		p, ok := errors.AsType[*ParseError](err)
		if !ok || p.Offset != tt.offset || !errors.Is(err, tt.err) || len(got) != 1 {
			t.Errorf("ParseWeights(%q) = %v, %v; want an error at %d: %v", tt.text, got, err, tt.offset, tt.err)
		}
	}
}

func TestStrandedWeights(t *testing.T) {
	s := testSchema(t)
	plain, err := gres.NewSchema("gres/gpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		s      *gres.Schema
		shapes []string
		prices string
		want   string
	}{
		{"a node of eight", plain, []string{"cpu=112,mem=1900000M,node=1,gres/gpu=8", "cpu=64,mem=256000M,node=1"}, "CPU=1,Mem=0.000244140625",
			"cpu=1,mem=0.000244140625,gres/gpu=72"},
		{"the dearest shape counts", plain, []string{"cpu=64,gres/gpu=8", "cpu=64,gres/gpu=4"}, "CPU=1", "cpu=1,gres/gpu=16"},
		{"types are priced above the least", s, []string{"cpu=64,gres/gpu=8,gres/gpu:a100=8", "cpu=160,gres/gpu=8,gres/gpu:h100=8"}, "CPU=1",
			"cpu=1,gres/gpu=8,gres/gpu:h100=12"},
		{"a price stays", plain, []string{"cpu=64,gres/gpu=8"}, "CPU=1,GRES/gpu=3", "cpu=1,gres/gpu=3"},
	} {
		prices, err := ParseWeights(nil, tt.s, tt.prices)
		if err != nil {
			t.Fatal(err)
		}
		var shapes []gres.Vector
		for _, text := range tt.shapes {
			shapes = append(shapes, vector(t, tt.s, text))
		}
		got := string(AppendWeights(nil, tt.s, StrandedWeights(nil, tt.s, shapes, prices)))
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
