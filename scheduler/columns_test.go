package scheduler

import (
	"testing"
	"time"
)

// The largest entries that a request promises to the topology are those of the
// columns, whatever the passes that filled them; where entries are set one by one,
// nothing is promised.
func TestPromisedEntries(t *testing.T) {
	for _, f := range []struct {
		name   string
		spec   JobSpec
		silent bool
	}{
		{name: "cores", spec: JobSpec{MinNodes: 2, Tasks: 20}},
		{name: "gpus of the job", spec: JobSpec{MinNodes: 2, GPUs: "6"}},
		{name: "near", spec: JobSpec{MinNodes: 2, GPUsPerNode: "2", TasksPerNode: 2, GPUsPerTask: "1"}},
		{name: "too large", spec: JobSpec{MinNodes: 8, GPUs: "64"}},
		{name: "required", spec: JobSpec{MinNodes: 2, GPUs: "4", NodeList: "n3"}, silent: true},
	} {
		s, err := New(Config{
			Profile:    ProfileSlurm,
			Nodes:      []NodeSpec{{Names: "n[0-7]", Sockets: 2, CoresPerSocket: 16, MemMiB: 1 << 20, GRES: "gpu:8"}},
			Parameters: Parameters{Plan: PlanParameters{Mode: PlanNone}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		submit := func(id JobID, spec JobSpec) {
			spec.ID, spec.Mem, spec.MemMiB, spec.TimeLimit = id, MemPerNode, 1000, time.Hour
			if err := s.Apply(Seconds(int64(id)), Submit(&spec)); err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
			s.Pass(Seconds(int64(id)), nil)
		}
		for id := range JobID(8) { // unequal nodes
			submit(id+1, JobSpec{MinNodes: 1, MaxNodes: 1, Tasks: int32(1 + 5*id%29), GPUs: "1"})
		}
		submit(100, f.spec)
		r := &s.(*engine).try.req
		for _, c := range []struct {
			what string
			col  []int32
			most int32
		}{
			{"CPUs", r.CPUs, r.MostCPUs}, {"GPUs", r.NodeGPUs, r.MostGPUs},
			{"relaxed CPUs", r.RelaxedCPUs, r.MostRelaxedCPUs}, {"relaxed GPUs", r.RelaxedGPUs, r.MostRelaxedGPUs},
		} {
			want := int32(0)
			for n := range r.Eligible.All() {
				if c.col != nil && !f.silent {
					want = max(want, c.col[n])
				}
			}
			if c.most != want {
				t.Errorf("%s: %d %s promised as the most, want %d", f.name, c.most, c.what, want)
			}
		}
		if f.silent == (r.MostCPUs > 0) {
			t.Errorf("%s: the topology was not asked, or was told what is not known", f.name)
		}
	}
}
