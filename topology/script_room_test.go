package topology_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/berth-sched/berth/topology"
)

// room runs "holders", whose lines are "NAME NODES cost=N [ends]", "room", whose
// lines are "LEVEL SIZE", "suggest", whose lines are requests, and "score".
func (w *world) room(t *testing.T, d *datadriven.TestData) string {
	top, _ := w.ts.Find(arg(d, "in", w.cur))
	var b strings.Builder
	switch d.Cmd {
	case "holders":
		w.held, w.who = nil, nil
	case "score":
		for line := range strings.Lines(d.Input) {
			var left topology.NodeSet
			left.Init(w.m.names.Len())
			left.AddAll()
			f := strings.Fields(line)
			if len(f) > 1 {
				ids, err := w.m.names.AppendIDs(nil, f[1])
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				for _, id := range ids {
					left.Remove(id)
				}
			}
			fmt.Fprintf(&b, "%s %d\n", strings.TrimSpace(line), top.BlockScore(&left))
		}
		return b.String()
	}
	var free topology.NodeSet
	free.Init(w.m.names.Len())
	free.AddAll()
	for _, h := range w.held {
		for _, id := range h.Nodes {
			free.Remove(id)
		}
	}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		switch d.Cmd {
		case "holders":
			h := topology.Holder{Ends: slices.Contains(f, "ends")}
			var err error
			if h.Nodes, err = w.m.names.AppendIDs(nil, f[1]); err != nil {
				d.Fatalf(t, "%v", err)
			}
			for _, kv := range f[2:] {
				if v, ok := strings.CutPrefix(kv, "cost="); ok {
					h.Cost, _ = strconv.ParseInt(v, 10, 64)
				}
			}
			w.held, w.who = append(w.held, h), append(w.who, f[0])
		case "room":
			level, _ := strconv.Atoi(f[0])
			size, _ := strconv.Atoi(f[1])
			for _, r := range top.AppendRoom(nil, []topology.RoomQuery{{Level: level, Size: int32(size)}}, &free, w.held) {
				fmt.Fprintf(&b, "level %d size %d: %d now, %d once jobs ended, %d free in %d units, %.0f %% stranded\n", r.Level, r.Size, r.Now, r.Ended, r.Free, r.Units, 100*r.Stranded())
				if len(r.Next.Holders) == 0 {
					b.WriteString("  no more can be made\n")
					continue
				}
				unit := "all nodes"
				if r.Next.Unit >= 0 {
					unit = top.Unit(topology.UnitID(r.Next.Unit)).Name
				}
				fmt.Fprintf(&b, "  in the way of one more in %s (%d free, %d lacking):", unit, r.Next.Free, r.Next.Lack)
				for _, h := range r.Next.Holders {
					fmt.Fprintf(&b, " %s", w.who[h])
				}
				fmt.Fprintf(&b, ", cost %d\n", r.Next.Cost)
			}
		case "suggest":
			a, err := parseAsk(f)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			q, err := w.m.request(a, &free)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			var res topology.Result
			fit := top.Fitter(topology.Options{Profile: topology.ProfileSlurm})
			if fit.Fit(w.ws, &q.Request, &res) {
				fmt.Fprintf(&b, "%s fits\n", strings.TrimSpace(line))
				continue
			}
			why := w.refusal(top, &res.Refusal)
			s := topology.Suggest(fit, w.ws, &q.Request, &res, 20)
			fmt.Fprintf(&b, "%s %s; would fit with %d or %d nodes or segments of %d\n", strings.TrimSpace(line), why, s.Fewer, s.More, s.Segment)
		}
	}
	if d.Cmd == "holders" {
		return "ok\n"
	}
	return b.String()
}
