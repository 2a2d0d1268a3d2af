package priority_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/priority"
)

// checkFairShare computes the whole table of sshare -a -l and compares every
// printed digit, and what is recorded in full precision to 1e-12.
func checkFairShare(r *recording, c *recordedCase) []string {
	b := newBooks(r.Files.Sacctmgr)
	usage := b.usage(r)
	d := priority.Decay{HalfLife: priority.DefaultHalfLife}
	if h, ok := c.Conf["PriorityDecayHalfLife"]; ok {
		d.HalfLife = slurmTime(h)
	}
	d.Fade(usage, time.Duration(c.DecaySeconds)*time.Second)
	lines, _ := b.shares(c.Conf, usage)
	var want []map[string]any
	if err := json.Unmarshal(c.Expect, &want); err != nil {
		return []string{err.Error()}
	}
	diffs := compareTable(want, lines)
	for i, w := range c.ExpectExact {
		if i < len(lines) {
			diffs = append(diffs, compareExact(w, &lines[i])...)
		}
	}
	return diffs
}

// shares computes the table and the factor of each row.
func (b *books) shares(conf map[string]string, usage []float64) ([]priority.ShareLine, []float64) {
	factor := make([]float64, len(usage))
	rows, depth := b.inOrder()
	var shares []priority.Share
	flags := strings.ToUpper(conf["PriorityFlags"])
	if oblivious := strings.Contains(flags, "DEPTH_OBLIVIOUS"); oblivious || strings.Contains(flags, "NO_FAIR_TREE") {
		damp, _ := strconv.ParseUint(conf["FairShareDampeningFactor"], 10, 32)
		f := priority.NewClassic(&b.tree, uint32(damp), oblivious)
		f.Rank(factor, usage)
		shares = f.AppendShares(nil, rows, usage, factor)
	} else {
		f := priority.NewFairTree(&b.tree, priority.AsShipped)
		f.Rank(factor, usage)
		shares = f.AppendShares(nil, rows, usage, factor)
	}
	lines := make([]priority.ShareLine, len(rows))
	for i, r := range rows {
		lines[i] = priority.ShareLine{Account: b.account[r], User: b.user[r], Depth: depth[i], Share: shares[i]}
	}
	return lines, factor
}

// shareCells are the recorded names of the printed columns, in order.
var shareCells = [...]string{2: "raw_shares", 3: "norm_shares", 4: "raw_usage", 5: "norm_usage", 6: "effectv_usage", 7: "fairshare", 8: "level_fs"}

func compareTable(want []map[string]any, got []priority.ShareLine) (diffs []string) {
	if len(want) != len(got) {
		return []string{fmt.Sprintf("%d rows, want %d", len(got), len(want))}
	}
	for i, w := range want {
		l := &got[i]
		if w["account"] != l.Account || w["user"] != l.User || w["depth"] != float64(l.Depth) {
			return append(diffs, fmt.Sprintf("row %d is %s|%s at %d, want %v|%v at %v", i, l.Account, l.User, l.Depth, w["account"], w["user"], w["depth"]))
		}
		for k, name := range shareCells {
			if k < 2 {
				continue
			}
			if cell := string(l.AppendCell(nil, k)); cell != w[name] {
				diffs = append(diffs, fmt.Sprintf("%s|%s %s is %q, want %q", l.Account, l.User, name, cell, w[name]))
			}
		}
	}
	return diffs
}

func compareExact(want map[string]any, got *priority.ShareLine) (diffs []string) {
	if want["account"] != got.Account || want["user"] != got.User {
		return []string{fmt.Sprintf("exact row is %s|%s, want %v|%v", got.Account, got.User, want["account"], want["user"])}
	}
	for _, f := range []struct {
		name string
		got  float64
	}{
		{"norm_shares", got.Norm}, {"norm_usage", got.NormUsage}, {"effectv_usage", got.Effective},
		{"fairshare", got.Factor}, {"level_fs", got.LevelFS}, {"raw_usage", math.Floor(got.Usage)},
	} {
		if !sameNumber(want[f.name], f.got) {
			diffs = append(diffs, fmt.Sprintf("%s|%s exact %s is %v, want %v", got.Account, got.User, f.name, f.got, want[f.name]))
		}
	}
	return diffs
}

// sameNumber compares to 1e-12; null is no number.
func sameNumber(want any, got float64) bool {
	switch w := want.(type) {
	case nil:
		return math.IsNaN(got)
	case string:
		return w == "inf" && math.IsInf(got, 1)
	case float64:
		return math.Abs(got-w) <= 1e-12*math.Abs(w)
	}
	return false
}
