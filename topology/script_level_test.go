package topology_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/berth-sched/berth/topology"
)

// placeLevels runs "levels", whose lines "NODES LEVEL=VALUE ..." build levels, and
// "place", whose lines are requests.
func (w *world) placeLevels(t *testing.T, d *datadriven.TestData) string {
	if d.Cmd == "levels" {
		return w.buildLevels(t, d)
	}
	var b strings.Builder
	for line := range strings.Lines(d.Input) {
		line = strings.TrimSpace(line)
		fmt.Fprintf(&b, "%s\n  %s\n", line, w.placeLine(t, d, line))
	}
	return b.String()
}

func (w *world) buildLevels(t *testing.T, d *datadriven.TestData) string {
	if in := arg(d, "of", ""); in != "" {
		top, _ := w.ts.Find(in)
		w.lv = top.Levels()
	} else {
		var names []string
		var labels [][]string
		for line := range strings.Lines(d.Input) {
			f := strings.Fields(line)
			ids, err := w.m.names.AppendIDs(nil, f[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			for l, kv := range f[1:] {
				k, v, _ := strings.Cut(kv, "=")
				if l == len(names) {
					names = append(names, k)
					labels = append(labels, make([]string, w.m.names.Len()))
				}
				for _, id := range ids {
					labels[l][id] = v
				}
			}
		}
		lv, err := topology.NewLevels(names, labels, w.m.names.Len())
		if err != nil {
			return err.Error() + "\n"
		}
		w.lv = lv
	}
	var b strings.Builder
	for l := range w.lv.Len() {
		fmt.Fprintf(&b, "%s: %d", w.lv.LevelName(l), w.lv.Domains(l))
		for k := range w.lv.Domains(l) {
			if name := w.lv.Domain(l, int32(k)); name != "" {
				fmt.Fprintf(&b, " %s", name)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// placeLine places one request: "count=7 free=3,3,2,1 want=rack must=zone
// slice=2@node fill=best balanced leader=n0 beside=1,0 owned=n3@rack".
func (w *world) placeLine(t *testing.T, d *datadriven.TestData, line string) string {
	n := w.m.names.Len()
	req := topology.LevelRequest{Want: topology.NoLevel, Must: topology.NoLevel, Exclusive: topology.NoLevel, Capacity: make([]int32, n)}
	level := func(name string) int {
		l, ok := w.lv.FindLevel(name)
		if !ok {
			d.Fatalf(t, "no level %s", name)
		}
		return l
	}
	column := func(v string) []int32 {
		out := make([]int32, n)
		for i, f := range strings.Split(v, ",") {
			x, err := strconv.Atoi(f)
			if err != nil || i >= n {
				d.Fatalf(t, "column %s", v)
			}
			out[i] = int32(x)
		}
		return out
	}
	set := func(v string) *topology.NodeSet {
		ids, err := w.m.names.AppendIDs(nil, v)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		s := new(topology.NodeSet)
		s.Init(n)
		for _, id := range ids {
			s.Add(id)
		}
		return s
	}
	var cur topology.Assignment
	cur.Leader = topology.NoNode
	var failed *topology.NodeSet
	grow, shrink := int32(0), int32(0)
	for f := range strings.FieldsSeq(line) {
		k, v, _ := strings.Cut(f, "=")
		switch k {
		case "count", "grow", "shrink":
			x, err := strconv.Atoi(v)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			*map[string]*int32{"count": &req.Count, "grow": &grow, "shrink": &shrink}[k] = int32(x)
		case "free":
			req.Capacity = column(v)
		case "want":
			req.Want = level(v)
		case "must":
			req.Must = level(v)
		case "slice":
			size, at, _ := strings.Cut(v, "@")
			x, _ := strconv.Atoi(size)
			req.Slices = append(req.Slices, topology.Slice{Level: level(at), Size: int32(x)})
		case "fill":
			req.Fill = map[string]topology.Fill{"best": topology.FillBestFit, "least": topology.FillLeastFree, "most": topology.FillMostFree, "fullest": topology.FillFullest}[v]
		case "balanced":
			req.Balanced = true
		case "leader":
			req.Leader, req.LeaderFits = true, set(v)
		case "beside":
			req.WithLeader = column(v)
		case "owned":
			nodes, at, _ := strings.Cut(v, "@")
			req.Occupied, req.Exclusive = set(nodes), level(at)
		case "has":
			for i, m := range column(v) {
				if m > 0 {
					cur.Nodes, cur.Members = append(cur.Nodes, topology.NodeID(i)), append(cur.Members, m)
				}
			}
		case "failed":
			failed = set(v)
		default:
			d.Fatalf(t, "unknown %s", k)
		}
	}
	var ws topology.LevelScratch
	var res topology.LevelResult
	var ok bool
	switch {
	case failed != nil:
		ok = w.lv.Replace(&ws, &req, &cur, failed, &res)
	case grow > 0:
		ok = w.lv.Grow(&ws, &req, &cur, grow, &res)
	case shrink > 0:
		ok = w.lv.Shrink(&ws, &req, &cur, shrink, &res)
	default:
		ok = w.lv.Fit(&ws, &req, &res)
	}
	if !ok {
		s := fmt.Sprintf("no: %v, %d of %d", res.Rule, res.Have, res.Need)
		if res.NearLevel != topology.NoLevel {
			s += fmt.Sprintf(" in %s %s", w.lv.LevelName(res.NearLevel), w.lv.Domain(res.NearLevel, res.NearDomain))
		}
		if res.Owned > 0 {
			s += fmt.Sprintf(", %d owned by others", res.Owned)
		}
		if res.Broken > 0 {
			s += fmt.Sprintf(", %d in no whole slice", res.Broken)
		}
		return s
	}
	var b strings.Builder
	for i, id := range res.Nodes {
		fmt.Fprintf(&b, "%s:%d ", w.m.names.Name(id), res.Members[i])
	}
	if res.Leader != topology.NoNode {
		fmt.Fprintf(&b, "leader %s ", w.m.names.Name(res.Leader))
	}
	if res.Level != topology.NoLevel {
		fmt.Fprintf(&b, "in %s %s", w.lv.LevelName(res.Level), w.lv.Domain(res.Level, res.Domain))
	}
	return strings.TrimSpace(b.String())
}
