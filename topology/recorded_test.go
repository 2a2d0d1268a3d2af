package topology_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-sched/berth/topology"
)

// The files of ../../shared/vectors as far as this test reads them.
type recordedFile struct {
	Files map[string]string `json:"files"`
	Cases []recordedCase    `json:"cases"`
}

type recordedCase struct {
	ID    string `json:"id"`
	State struct {
		Drained string        `json:"drained"`
		Running []recordedJob `json:"running"`
	} `json:"state"`
	Submit  []recordedJob             `json:"submit"`
	Expect  map[string]recordedResult `json:"expect"`
	Suspect []string                  `json:"suspect"`
}

type recordedJob struct {
	Name   string         `json:"name"`
	Args   []string       `json:"args"`
	Result recordedResult `json:"result"`
}

type recordedResult struct {
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Error    string `json:"error"`
	Nodelist string `json:"nodelist"`
	Alloc    []struct {
		Nodes  string `json:"nodes"`
		CPUIDs string `json:"cpu_ids"`
		Gres   string `json:"gres"`
	} `json:"alloc"`
}

// A recorded is a cluster set up from the files of a vector.
type recorded struct {
	m     *machine
	ts    *topology.Topologies
	parts map[string]*recordedPartition
	def   string
	opts  topology.Options

	excl []exclusiveJob
	busy topology.NodeSet
}

type recordedPartition struct {
	nodes    topology.NodeSet
	topology string
	whole    bool
	lln      bool
}

type exclusiveJob struct {
	top   *topology.Topology
	nodes topology.NodeSet
}

// countIDs counts the CPUs of "0-3,8".
func countIDs(text string) int32 {
	n := int32(0)
	for r := range strings.SplitSeq(text, ",") {
		lo, hi, ok := strings.Cut(r, "-")
		a, _ := strconv.Atoi(lo)
		b := a
		if ok {
			b, _ = strconv.Atoi(hi)
		}
		n += int32(b - a + 1)
	}
	return n
}

// occupy books what a recorded job holds.
func (r *recorded) occupy(args []string, res *recordedResult) error {
	var nodes topology.NodeSet
	nodes.Init(r.m.names.Len())
	for _, al := range res.Alloc {
		ids, err := r.m.names.AppendIDs(nil, al.Nodes)
		if err != nil {
			return err
		}
		for _, id := range ids {
			nodes.Add(id)
			r.m.free[id] -= countIDs(al.CPUIDs)
			if _, g, ok := strings.Cut(al.Gres, "gpu:"); ok {
				g, _, _ = strings.Cut(g, "(")
				x, _ := strconv.Atoi(g)
				r.m.freeGPUs[id] -= int32(x)
			}
		}
	}
	r.busy.Or(&nodes)
	a, err := parseAsk(args)
	if err != nil {
		return err
	}
	if a.topo {
		_, top := r.partition(a)
		r.excl = append(r.excl, exclusiveJob{top: top, nodes: *nodes.Clone()})
	}
	return nil
}

func (r *recorded) partition(a *ask) (*recordedPartition, *topology.Topology) {
	p := r.parts[r.def]
	if a.partition != "" {
		p = r.parts[a.partition]
	}
	top, _ := r.ts.Find(p.topology)
	return p, top
}

// empty frees the cluster.
func (r *recorded) empty() {
	copy(r.m.free, r.m.cpus)
	copy(r.m.freeGPUs, r.m.gpus)
	r.m.up.AddAll()
	r.busy.Clear()
	r.excl = nil
}

// place fits a job now.
func (r *recorded) place(ws *topology.Scratch, a *ask, res *topology.Result) (bool, error) {
	p, top := r.partition(a)
	within := p.nodes.Clone()
	for _, e := range r.excl {
		var blocked topology.NodeSet
		blocked.Init(within.Len())
		r.ts.AddBlocked(&blocked, e.top, &e.nodes, r.opts.Profile)
		within.AndNot(&blocked)
	}
	if a.topo {
		var no topology.NodeSet
		no.Init(within.Len())
		r.ts.AddForbidden(&no, top, &r.busy, r.opts.Profile)
		within.AndNot(&no)
	}
	r.m.whole = p.whole
	lln := r.m.lln
	r.m.lln = lln || p.lln
	q, err := r.m.request(a, within)
	r.m.lln = lln
	if err != nil {
		return false, err
	}
	return top.Fitter(r.opts).Fit(ws, &q.Request, res), nil
}

func TestRecordedPlacements(t *testing.T) {
	files, _ := filepath.Glob("../../shared/vectors/topology/*.json")
	more, _ := filepath.Glob("../../shared/vectors/gres/tree-*.json")
	files = append(files, more...)
	if len(files) == 0 {
		t.Skip("recorded vectors are not here")
	}
	agree, total, left := 0, 0, map[string]int{}
	var ws topology.Scratch
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var f recordedFile
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		r, err := loadRecorded(f.Files)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for i := range f.Cases {
			a, n := r.runCase(t, &ws, strings.TrimSuffix(filepath.Base(path), ".json"), &f.Cases[i], left)
			agree += a
			total += n
		}
	}
	t.Logf("%d of %d answers agree; left out: %v", agree, total, left)
}

func (r *recorded) runCase(t *testing.T, ws *topology.Scratch, file string, c *recordedCase, left map[string]int) (agree, total int) {
	r.empty()
	if c.State.Drained != "" {
		ids, err := r.m.names.AppendIDs(nil, c.State.Drained)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			r.m.up.Remove(id)
		}
	}
	for i := range c.State.Running {
		j := &c.State.Running[i]
		if err := r.occupy(j.Args, &j.Result); err != nil {
			t.Fatalf("%s/%s: %v", file, c.ID, err)
		}
	}
	waiting := map[string]bool{}
	var res topology.Result
	for _, j := range c.Submit {
		want := c.Expect[j.Name]
		a, err := parseAsk(j.Args)
		if err == nil && len(a.unknown) > 0 {
			left["options that need more than counts"]++
			if want.State == "RUNNING" {
				r.occupy(j.Args, &want)
			}
			continue
		}
		if strings.HasPrefix(want.Error, "fatal:") || strings.Contains(want.Error, "Invalid node name") {
			left["refused by the client"]++
			continue
		}
		ok := false
		if err == nil {
			ok, err = r.place(ws, a, &res)
		}
		got := "waits"
		switch {
		case err != nil:
			got = err.Error()
		case ok:
			got = string(r.m.names.AppendNodes(nil, res.Nodes))
		default:
			got = "waits (" + res.Refusal.Rule.String() + ")"
		}
		name := fmt.Sprintf("%s/%s %s %v", file, c.ID, j.Name, j.Args)
		total++
		switch want.State {
		case "RUNNING":
			ids, _ := r.m.names.AppendIDs(nil, want.Nodelist)
			if ok && slices.Equal(ids, res.Nodes) {
				agree++
			} else {
				t.Errorf("%s: got %s, want %s", name, got, want.Nodelist)
			}
			if err := r.occupy(j.Args, &want); err != nil {
				t.Fatal(err)
			}
		case "PENDING":
			if ok && waiting[a.partition] {
				total--
				left["behind a waiting job"]++
				break
			}
			waiting[a.partition] = true
			if !ok {
				agree++
			} else {
				t.Errorf("%s: got %s, want waiting: %s", name, got, want.Reason)
			}
		case "REJECTED":
			save := r.save()
			r.empty()
			could, err := r.place(ws, a, &res)
			why := res.Refusal.Rule
			r.restore(save)
			switch {
			case could && err == nil:
				t.Errorf("%s: got %s, with all nodes free %s, want rejected: %s", name, got, r.m.names.AppendNodes(nil, res.Nodes), want.Error)
			case strings.Contains(want.Error, "topology configuration") != (why == topology.RuleConfig):
				t.Errorf("%s: refused by rule %q, want %s", name, why, want.Error)
			default:
				agree++
			}
		}
	}
	return agree, total
}

type recordedState struct {
	free, gpus []int32
	up, busy   *topology.NodeSet
	excl       []exclusiveJob
}

func (r *recorded) save() recordedState {
	return recordedState{slices.Clone(r.m.free), slices.Clone(r.m.freeGPUs), r.m.up.Clone(), r.busy.Clone(), r.excl}
}

func (r *recorded) restore(s recordedState) {
	copy(r.m.free, s.free)
	copy(r.m.freeGPUs, s.gpus)
	r.m.up.Copy(s.up)
	r.busy.Copy(s.busy)
	r.excl = s.excl
}
