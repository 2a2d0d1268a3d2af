package topology_test

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/topology"
)

func TestSwitchWaits(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
	}{
		{"10", 10 * time.Minute}, {"0:09", 9 * time.Second}, {"10:00", 10 * time.Minute}, {"1:02:03", time.Hour + 2*time.Minute + 3*time.Second},
		{"2-03", 51 * time.Hour}, {"2-03:04", 51*time.Hour + 4*time.Minute}, {"2-03:04:05", 51*time.Hour + 4*time.Minute + 5*time.Second},
	} {
		if got, err := topology.ParseSwitchWait(c.text); err != nil || got != c.want {
			t.Errorf("ParseSwitchWait(%q) = %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "-1", "1:2:3:4", "x", "1-", "1:-2", "170000000", "99999999999999999999"} {
		if got, err := topology.ParseSwitchWait(text); err == nil {
			t.Errorf("ParseSwitchWait(%q) = %v, want an error", text, got)
		}
	}
	for _, c := range []struct{ given, cluster, want time.Duration }{
		{0, 0, 300 * time.Second}, {0, 20 * time.Second, 20 * time.Second}, {time.Hour, 0, 300 * time.Second},
		{9 * time.Second, 0, 9 * time.Second}, {-1, 0, 0},
	} {
		if got := topology.SwitchLimit(c.given, c.cluster); got != c.want {
			t.Errorf("SwitchLimit(%v, %v) = %v, want %v", c.given, c.cluster, got, c.want)
		}
	}
}

// A description built from a topology builds the same topology.
func TestSpecsRoundTrip(t *testing.T) {
	for i := range 200 {
		for k, world := range []func() *twinWorld{
			func() *twinWorld { return randomTree(seeded(i)) }, func() *twinWorld { return randomBlocks(seeded(i)) },
			func() *twinWorld { return randomRings(seeded(i)) }, func() *twinWorld { return randomTorus(seeded(i)) },
		} {
			w := world()
			names := make([]string, w.n)
			for n := range names {
				names[n] = name(n)
			}
			table, _ := topology.NewNames(names)
			a, problems := topology.New(&w.spec, table)
			if a == nil {
				t.Fatal(problems.Err())
			}
			spec := a.Spec(table)
			b, problems := topology.New(&spec, table)
			if b == nil {
				t.Fatalf("case %d kind %d: %v", i, k, problems.Err())
			}
			if d := topology.Diff(a, b, table); len(d) > 0 {
				t.Fatalf("case %d kind %d: %s", i, k, topology.AppendDiff(nil, d, table))
			}
		}
	}
}
