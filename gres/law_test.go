package gres

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// amounts draws from the whole range, its ends more often than chance.
func amounts() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), rapid.Int64Range(Unlimited-2, Unlimited), rapid.Int64Range(-Unlimited-1, -Unlimited+2))
}

func TestAddLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := amounts().Draw(t, "a"), amounts().Draw(t, "b")
		if SatAdd(a, b) != SatAdd(b, a) {
			t.Fatalf("SatAdd(%d, %d) depends on order", a, b)
		}
		if SatMul(a, b) != SatMul(b, a) {
			t.Fatalf("SatMul(%d, %d) depends on order", a, b)
		}
		if SatAdd(a, Unlimited) != Unlimited || SatSub(Unlimited, a) != Unlimited {
			t.Fatalf("Unlimited does not absorb %d", a)
		}
		if a <= b && b != Unlimited && a >= 0 {
			if SatAdd(a, SatSub(b, a)) != b {
				t.Fatalf("%d + (%d − %d) is not %d", a, b, a, b)
			}
		}
	})
}

func TestAddIsAssociativeFromZeroUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, Unlimited), rapid.Int64Range(Unlimited-3, Unlimited))
		a, b, c := g.Draw(t, "a"), g.Draw(t, "b"), g.Draw(t, "c")
		if SatAdd(SatAdd(a, b), c) != SatAdd(a, SatAdd(b, c)) {
			t.Fatalf("(%d + %d) + %d differs from %d + (%d + %d)", a, b, c, a, b, c)
		}
	})
}

func TestVectorsRoundTrip(t *testing.T) {
	s := testSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		v := Vector(rapid.SliceOfN(rapid.Int64Range(0, Unlimited), s.Len(), s.Len()).Draw(t, "amounts"))
		w := s.NewVector()
		if err := ParseTRES(s, w, string(AppendTRES(nil, s, v))); err != nil || !slices.Equal(v, w) {
			t.Fatalf("%v came back as %v, %v", v, w, err)
		}
	})
}
