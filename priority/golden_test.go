package priority_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
	"github.com/cockroachdb/datadriven"
)

// TestGolden runs the scripts of testdata/golden. Their bits must be the same on
// every architecture.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		g := &golden{conf: map[string]string{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "tree":
				return g.readTree(t, d)
			case "shares":
				return g.shares(d)
			case "ranks":
				return g.ranks(d)
			case "billing":
				return billing(t, d)
			case "keep":
				return keep(d)
			case "reset":
				return reset(t, d)
			case "jobs":
				return jobs(t, d)
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

type golden struct {
	*books
	conf  map[string]string
	usage []float64
}

// readTree reads lines of sacctmgr, and "usage ACCOUNT USER SECONDS".
func (g *golden) readTree(t *testing.T, d *datadriven.TestData) string {
	var lines []string
	r := &recording{}
	for line := range strings.SplitSeq(d.Input, "\n") {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "usage" {
			u, err := strconv.ParseFloat(f[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			r.Usage = append(r.Usage, struct {
				Account  string  `json:"account"`
				User     string  `json:"user"`
				RawUsage float64 `json:"raw_usage"`
			}{f[1], f[2], u})
			continue
		}
		lines = append(lines, line)
	}
	g.books = newBooks(lines)
	g.usage = g.books.usage(r)
	return fmt.Sprintf("%d associations\n", len(g.user))
}

func (g *golden) shares(d *datadriven.TestData) string {
	conf := map[string]string{}
	for _, a := range d.CmdArgs {
		conf[a.Key] = strings.Join(a.Vals, ",")
	}
	lines, factor := g.books.shares(conf, g.usage)
	if !d.HasArg("bits") {
		return string(priority.AppendSshare(nil, lines))
	}
	var b strings.Builder
	rows, _ := g.inOrder()
	for i, l := range lines {
		fmt.Fprintf(&b, "%s|%s %016x %016x %016x %016x\n", l.Account, l.User, math.Float64bits(l.Norm),
			math.Float64bits(l.Effective), math.Float64bits(factor[rows[i]]), math.Float64bits(l.LevelFS))
	}
	return b.String()
}

func (g *golden) ranks(d *datadriven.TestData) string {
	ties := priority.AsShipped
	if d.HasArg("documented") {
		ties = priority.Documented
	}
	f := priority.NewFairTree(&g.tree, ties)
	factor := make([]float64, len(g.usage))
	f.Rank(factor, g.usage)
	var b strings.Builder
	rows, _ := g.inOrder()
	for _, r := range rows {
		if g.user[r] != "" {
			fmt.Fprintf(&b, "%s|%s %.6f\n", g.account[r], g.user[r], factor[r])
		}
	}
	return b.String()
}

// billing bills lines of TRES by weights= under each of the flags.
func billing(t *testing.T, d *datadriven.TestData) string {
	s, err := gres.NewSchema("gres/gpu", "gres/gpu:a100", "license/lic", "bb/cray")
	if err != nil {
		t.Fatal(err)
	}
	var text string
	d.MaybeScanArgs(t, "weights", &text)
	var out strings.Builder
	for i, flags := range []priority.Flags{0, priority.MaxTRES, priority.MaxTRES | priority.MaxTRESGRES} {
		b, err := priority.ParseBilling(s, strings.Trim(text, "'"), flags)
		if err != nil {
			return err.Error() + "\n"
		}
		for line := range strings.SplitSeq(d.Input, "\n") {
			v := s.NewVector()
			if err := gres.ParseTRES(s, v, line); err != nil {
				t.Fatal(err)
			}
			p := b.Points(v)
			fmt.Fprintf(&out, "%-13s %-30s %s a second, %d whole\n", []string{"sum", "MAX_TRES", "MAX_TRES_GRES"}[i], line,
				strconv.FormatFloat(p, 'g', -1, 64), priority.WholePoints(p))
		}
	}
	return out.String()
}

// keep shows what is left after each period, in Slurm's way and exactly, with
// all bits, and what a point a second adds.
func keep(d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.SplitSeq(d.Input, "\n") {
		f := strings.Fields(line)
		slurm := priority.Decay{HalfLife: slurmTime(f[0])}
		exact := slurm
		exact.Exact = true
		after := slurmTime(f[1])
		for _, v := range []float64{slurm.Keep(after), exact.Keep(after), slurm.Charge(1, after), exact.Charge(1, after)} {
			fmt.Fprintf(&out, "%.9g %016x  ", v, math.Float64bits(v))
		}
		fmt.Fprintln(&out, line)
	}
	return out.String()
}

var periods = map[string]priority.Period{"none": priority.ResetNone, "now": priority.ResetNow, "daily": priority.ResetDaily,
	"weekly": priority.ResetWeekly, "monthly": priority.ResetMonthly, "quarterly": priority.ResetQuarterly, "yearly": priority.ResetYearly}

// reset shows the next boundary after each instant, in a place whose clock
// changes as zone= says: UTC instant/offset pairs.
func reset(t *testing.T, d *datadriven.TestData) string {
	cal := &priority.Calendar{}
	for _, a := range d.CmdArgs {
		if a.Key != "zone" {
			continue
		}
		for i := 0; i+1 < len(a.Vals); i += 2 {
			east, err := time.ParseDuration(a.Vals[i+1])
			if err != nil {
				t.Fatal(err)
			}
			cal.Offsets = append(cal.Offsets, priority.Offset{From: instant(t, a.Vals[i]), East: east})
		}
	}
	var out strings.Builder
	for line := range strings.SplitSeq(d.Input, "\n") {
		period, after, _ := strings.Cut(line, " ")
		at, ok := periods[period].Next(cal, instant(t, after))
		if !ok {
			fmt.Fprintf(&out, "%s: never\n", line)
			continue
		}
		fmt.Fprintf(&out, "%s: %s\n", line, time.UnixMicro(at).UTC().Format("2006-01-02T15:04:05 Mon"))
	}
	return out.String()
}

func instant(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMicro()
}

// jobs shows lines like those of sprio -l for a small cluster, and the bits of
// the sums.
func jobs(t *testing.T, d *datadriven.TestData) string {
	s, err := gres.NewSchema("gres/gpu")
	if err != nil {
		t.Fatal(err)
	}
	tres, err := priority.ParseWeights(nil, s, "CPU=1000,Mem=-200,Node=300.5,GRES/gpu=3000")
	if err != nil {
		t.Fatal(err)
	}
	cfg := priority.Config{Weights: priority.Weights{Age: 1000, Assoc: 500, FairShare: 100000, JobSize: 2000, Partition: 3000, QOS: 10000, TRES: tres}}
	if d.HasArg("timed") {
		cfg.Flags, cfg.FavorSmall = priority.SmallRelativeToTime, true
	}
	total := s.NewVector()
	if err := gres.ParseTRES(s, total, "cpu=3584,mem=59375G,node=32,gres/gpu=256"); err != nil {
		t.Fatal(err)
	}
	m := priority.NewMultifactor(cfg, &priority.Cluster{Nodes: 32, CPUs: 3584, PartitionFactor: []uint32{10, 40}, PartitionTRES: append(total, total...),
		Kinds: s.Len(), QOSPriority: []uint32{100, 25}, AssocPriority: []uint32{7, 3}})
	share := []float64{1. / 3, 2. / 3}
	var out strings.Builder
	var lines []priority.PriorityLine
	for i, line := range strings.Split(d.Input, "\n") {
		v := s.NewVector()
		f := strings.Fields(line)
		if err := gres.ParseTRES(s, v, f[1]); err != nil {
			t.Fatal(err)
		}
		nice, _ := strconv.Atoi(f[2])
		j := &priority.Jobs{Partition: []int32{int32(i % 2)}, QOS: []int32{int32(i / 2 % 2)}, Assoc: []int32{int32(i % 2)}, Age: []time.Duration{slurmTime(f[0])},
			Nodes: []int32{int32(v[gres.Node])}, CPUs: []int32{int32(v[gres.CPU])}, TimeLimit: []time.Duration{time.Hour}, TRES: v, Nice: []int32{int32(nice)}}
		l := priority.PriorityLine{Job: strconv.Itoa(i + 1), Partition: []string{"main", "gpu"}[i%2], User: "ada", Account: "lab", QOS: "normal"}
		m.Breakdown(&l.Breakdown, j, share, 0)
		lines = append(lines, l)
		fmt.Fprintf(&out, "job %d sum %016x\n", i+1, math.Float64bits(l.Sum))
	}
	return string(priority.AppendSprio(nil, s, lines)) + out.String()
}
