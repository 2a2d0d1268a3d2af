package schedtest

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// GenConfig draws a small cluster: one or two kinds of nodes, with and without
// GPUs, one or two partitions that overlap, and parameters of planning.
func GenConfig(t *rapid.T) scheduler.Config {
	kinds := rapid.IntRange(1, 2).Draw(t, "node kinds")
	var c scheduler.Config
	for k := range kinds {
		n := rapid.IntRange(1, 4).Draw(t, "nodes")
		s := scheduler.NodeSpec{
			Names:   fmt.Sprintf("%c[0-%d]", 'a'+k, n-1),
			Sockets: rapid.Int32Range(1, 2).Draw(t, "sockets"), CoresPerSocket: rapid.Int32Range(1, 4).Draw(t, "cores"),
			ThreadsPerCore: rapid.Int32Range(1, 2).Draw(t, "threads"), MemMiB: 1000,
			Weight: rapid.Uint32Range(1, 2).Draw(t, "weight"),
		}
		if g := rapid.IntRange(0, 4).Draw(t, "GPUs"); g > 0 {
			s.GRES = fmt.Sprintf("gpu:%s:%d", rapid.SampledFrom([]string{"x", "y"}).Draw(t, "type"), g)
		}
		c.Nodes = append(c.Nodes, s)
	}
	c.Partitions = []scheduler.PartitionSpec{{Name: "p", Nodes: "ALL", Default: true}}
	if rapid.Bool().Draw(t, "two partitions") {
		c.Partitions = append(c.Partitions, scheduler.PartitionSpec{Name: "q", Nodes: c.Nodes[0].Names, MaxTime: 20 * time.Second})
	}
	c.Profile = rapid.SampledFrom([]scheduler.Profile{scheduler.ProfileBest, scheduler.ProfileSlurm}).Draw(t, "profile")
	p := &c.Parameters
	p.Plan.Mode = rapid.SampledFrom([]scheduler.PlanMode{scheduler.PlanBackfill, scheduler.PlanNone}).Draw(t, "mode")
	p.Plan.Depth = rapid.Int32Range(0, 2).Draw(t, "depth")
	p.Plan.Resolution = time.Second
	p.Priority.Age = rapid.Uint32Range(0, 1).Draw(t, "age weight") * 1000
	p.Priority.MaxAge = time.Minute
	p.Priority.CalcPeriod = 5 * time.Second
	p.Select.NoMemory = rapid.Bool().Draw(t, "no memory")
	return c
}

// GenJob draws a job that such a cluster may take.
func GenJob(t *rapid.T, id scheduler.JobID) *scheduler.JobSpec {
	j := &scheduler.JobSpec{
		ID: id, User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"),
		TimeLimit: time.Duration(rapid.IntRange(1, 30).Draw(t, "limit")) * time.Second,
		Nice:      int64(rapid.IntRange(0, 2).Draw(t, "nice")) * -100,
		Mem:       scheduler.MemPerNode, MemMiB: rapid.Int64Range(1, 600).Draw(t, "memory"),
	}
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 0:
		j.Tasks = rapid.Int32Range(1, 6).Draw(t, "tasks")
	case 1:
		j.MinNodes = rapid.Int32Range(1, 3).Draw(t, "nodes")
		j.Exclusive = rapid.SampledFrom([]scheduler.Exclusive{scheduler.ExclusiveNo, scheduler.ExclusiveNode}).Draw(t, "exclusive")
	case 2:
		j.MinNodes, j.Tasks = 1, 1
		j.GPUsPerNode = fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "GPUs"))
	case 3:
		j.MinNodes = rapid.Int32Range(1, 2).Draw(t, "nodes")
		j.TasksPerNode = rapid.Int32Range(1, 3).Draw(t, "tasks a node")
		j.GRES = rapid.SampledFrom([]string{"gpu:1", "gpu:x:1", "gpu:y:2"}).Draw(t, "gres")
	}
	switch rapid.IntRange(0, 9).Draw(t, "partition") {
	case 0:
		j.Partitions = []string{"q"}
	case 1:
		j.Partitions = []string{"q", "p"}
	}
	return j
}
