package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// propFeatures compares starts of whole-node jobs on a partly busy cluster with
// what the expression says, in the plainest words: the first alternative with
// enough idle nodes; so many nodes of each term; preferred nodes if they are
// enough, else the required ones.
func propFeatures(t *rapid.T) {
	n := rapid.IntRange(1, 7).Draw(t, "nodes")
	cfg := scheduler.Config{Profile: rapid.SampledFrom([]scheduler.Profile{scheduler.ProfileBest, scheduler.ProfileSlurm}).Draw(t, "profile")}
	cfg.Parameters.Select.NoMemory = true
	has := map[string][]bool{"a": make([]bool, n), "b": make([]bool, n), "c": make([]bool, n)}
	for i := range n {
		s := scheduler.NodeSpec{Names: fmt.Sprintf("n%d", i), Features: []string{}}
		for _, f := range []string{"a", "b", "c"} {
			if has[f][i] = i == 0 || rapid.Bool().Draw(t, f); has[f][i] {
				s.Features = append(s.Features, f) // the first node has all, so that all names are known
			}
		}
		cfg.Nodes = append(cfg.Nodes, s)
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	idle := make([]bool, n)
	for i := range n {
		if idle[i] = rapid.Bool().Draw(t, "idle"); !idle[i] {
			id := scheduler.JobID(100 + i)
			j := scheduler.JobSpec{ID: id, NodeList: fmt.Sprintf("n%d", i), Exclusive: scheduler.ExclusiveNode, TimeLimit: time.Hour}
			if err := s.Apply(0, scheduler.Submit(&j)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Pass(0, nil)
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3).Draw(t, "names")
	want := rapid.IntRange(1, 3).Draw(t, "wanted")
	j := scheduler.JobSpec{ID: 1, MinNodes: int32(want), Exclusive: scheduler.ExclusiveNode, TimeLimit: time.Hour}
	idleWith := func(f string) (set []int) {
		for i := range n {
			if idle[i] && has[f][i] {
				set = append(set, i)
			}
		}
		return set
	}
	var holds func(on []int) bool
	starts := false
	form := rapid.IntRange(0, 2).Draw(t, "form")
	switch form {
	case 0: // alternatives
		j.Constraint = "[" + strings.Join(names, "|") + "]"
		for _, f := range names {
			if len(idleWith(f)) >= want {
				starts = true
				holds = func(on []int) bool { return !slices.ContainsFunc(on, func(i int) bool { return !has[f][i] }) }
				break
			}
		}
	case 1: // a count
		count := rapid.IntRange(1, 3).Draw(t, "count")
		j.Constraint, j.MinNodes = fmt.Sprintf("%s*%d", names[0], count), int32(max(want, count))
		want = int(j.MinNodes)
		free := 0
		for i := range n {
			if idle[i] {
				free++
			}
		}
		starts = len(idleWith(names[0])) >= count && free >= want
		holds = func(on []int) bool {
			k := 0
			for _, i := range on {
				if has[names[0]][i] {
					k++
				}
			}
			return k >= count
		}
	case 2: // prefers the first, requires the last
		first, last := names[0], names[len(names)-1]
		j.Prefer, j.Constraint = first, last
		preferred := len(idleWith(first)) >= want
		starts = preferred || len(idleWith(last)) >= want
		holds = func(on []int) bool {
			f := last
			if preferred {
				f = first
			}
			return !slices.ContainsFunc(on, func(i int) bool { return !has[f][i] })
		}
	}
	if err := s.Apply(0, scheduler.Submit(&j)); err != nil {
		if starts && form != 2 {
			t.Fatalf("-N%d -C %s fits now and is refused: %v", want, j.Constraint, err)
		}
		return
	}
	var on []int
	for _, d := range s.Pass(0, nil) {
		for _, name := range d.Nodes {
			on = append(on, int(name[1]-'0'))
		}
	}
	if (len(on) > 0) != starts || starts && (len(on) != want || !holds(on)) {
		t.Fatalf("-N%d -C %q --prefer=%q: idle %v, features %v: started on %v, should start: %v", want, j.Constraint, j.Prefer, idle, has, on, starts)
	}
	if x, err := s.Explain(1); err != nil || !starts && x.State != scheduler.StatePending {
		t.Fatal(x, err)
	}
}

func TestFeaturesAgreeWithTheirWords(t *testing.T) { rapid.Check(t, propFeatures) }
