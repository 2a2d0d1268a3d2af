package gres

import (
	"fmt"
	"strings"
	"testing"
)

// The nodes of spec/cores.md, Cases.
func coresCluster(t testing.TB, kind string, n int) *cluster {
	t.Helper()
	c := &cluster{tab: NewDeviceTable()}
	c.params.ConsumeMem = true
	c.params.Cluster.PerCPU = 100
	s := ShapeConfig{Sockets: 2, CoresPerSocket: 4, Threads: 2, MemMiB: 16000}
	switch kind {
	case "B":
		s.CPUs = 8
	case "D":
		s.Sockets, s.Boards, s.Threads = 4, 2, 1
	case "E":
		s.Threads = 1
	case "Espec":
		s.Threads, s.SpecCores, s.MemMiB = 1, AppendSpecCores(nil, 2, 4, 2, false), 12000
	case "Elist":
		s.Threads, s.SpecCores = 1, []int{0, 4}
	case "Aspec":
		s.SpecCores = AppendSpecCores(nil, 2, 4, 2, false)
	case "F": // 4 CPUs, 8000 MB
		s = ShapeConfig{Sockets: 2, CoresPerSocket: 2, MemMiB: 8000}
	}
	for i := range n {
		sh, err := NewShape(s)
		if err != nil {
			t.Fatal(err)
		}
		c.names = append(c.names, fmt.Sprintf("n%d", i+1))
		c.shapes = append(c.shapes, sh)
		c.rows = append(c.rows, make([]uint64, sh.RowLen()))
		c.weight = append(c.weight, 1)
	}
	return c
}

// coresCase is a row of the table: several command lines one after another on
// the same nodes, the answers joined by "; ".
type coresCase struct {
	nodes int
	kind  string
	set   func(*cluster)
	lines string // separated by " / "
	want  string // "n1:ids/cpus/MB,n2:…" for each line, separated by " / "
}

func cpuMode(c *cluster)    { c.params.Unit = UnitCPU }
func socketMode(c *cluster) { c.params.Unit = UnitSocket }
func oneTask(c *cluster)    { c.params.OneTaskPerCore = true }
func allowSpec(c *cluster)  { c.params.AllowSpec = true }
func noDefMem(c *cluster)   { c.params.Cluster = MemDefaults{} }
func noMem(c *cluster)      { c.params.ConsumeMem = false }
func maxMemCPU(c *cluster)  { c.maxMem.PerCPU = 500 }
func maxMemNode(c *cluster) { c.maxMem.PerNode = 1000 }
func distBlock(c *cluster)  { c.params.DistBlock = true }
func core0Busy(c *cluster)  { c.rows[0][0] = 1 }
func maxSocket3(c *cluster) { c.limit(0, 3) }
func maxNode5Use2(c *cluster) {
	c.limit(5, 0)
	c.rows[0][0] = 0b10001
	c.limits[0].Used, c.limits[0].UsedSocket = 2, []int32{1, 1}
}
func socket0Used(c *cluster) {
	c.limit(0, 3)
	c.rows[0][0] = 0b111
	c.limits[0].Used, c.limits[0].UsedSocket = 3, []int32{3, 0}
}
func coresUsed04(c *cluster) {
	c.limit(0, 3)
	c.rows[0][0] = 0b10001
	c.limits[0].Used, c.limits[0].UsedSocket = 2, []int32{1, 1}
}

func (c *cluster) limit(node, socket int32) {
	for _, s := range c.shapes {
		c.limits = append(c.limits, &CPULimits{PerNode: node, PerSocket: socket, UsedSocket: make([]int32, s.Sockets())})
	}
}

var coresCases = []coresCase{
	{1, "A", nil, "-n1", "n1:0-1/2/200"},
	{1, "A", cpuMode, "-n1", "n1:0-1/1/100"},
	{1, "A", cpuMode, "-n3", "n1:0-3/3/300"},
	{1, "A", socketMode, "-n1", "n1:0-7/8/800"},
	{1, "A", socketMode, "-n9", "n1:0-15/16/1600"},
	{1, "A", socketMode, "--exclusive", "n1:0-15/16/1600"},
	{1, "A", nil, "-n3 -c3", "n1:0-5,8-11/10/1000"},
	{1, "A", nil, "-n4 --threads-per-core=1", "n1:0-3,8-11/8/400"},
	{1, "A", nil, "-n4 --hint=nomultithread", "n1:0-3,8-11/8/400"},
	{1, "A", nil, "-n4 --hint=compute_bound", "n1:0-3,8-11/8/400"},
	{1, "A", nil, "-n4 --hint=memory_bound", "n1:0-3,8-11/8/400"},
	{1, "A", nil, "-n4 --ntasks-per-core=1", "n1:0-3,8-11/8/800"},
	{1, "A", nil, "--exclusive -n1 --threads-per-core=1", "n1:0-15/16/800"},
	{1, "A", oneTask, "-n5", "n1:0-5,8-11/10/1000"},
	{1, "A", oneTask, "-n5 --hint=multithread", "n1:0-3,8-9/6/600"},
	{1, "A", nil, "-B 2:2:2", "n1:0-3,8-11/8/800"},
	{1, "A", nil, "-N1 -B 2:2:1", "n1:0-3,8-11/8/400"},
	{1, "A", nil, "-N1 --sockets-per-node=2", "n1:0-1/2/200"},
	{1, "A", nil, "-n2 --ntasks-per-core=2 --threads-per-core=1", "fatal: --ntasks-per-core (2) can not be bigger than --threads-per-core (1)"},
	{1, "D", nil, "-n3 --ntasks-per-socket=1", "n1:4,8,12/3/300"},
	{1, "A", nil, "-n5 --ntasks-per-socket=3", "n1:0-3,8-9/6/600"},
	{1, "B", nil, "-n3", "n1:0-3,8-9/3/300"},
	{2, "A", nil, "-n17 -N2", "n1:0-15/16/1600,n2:0-1/2/200"},
	{2, "A", nil, "-n9 -N2", "n1:0-3,8-11/8/800,n2:0-1/2/200"},
	{3, "A", nil, "-N3 -n2", "n1:0-1/2/200,n2:0-1/2/200"},
	{3, "A", nil, "-N2-3 -n7", "n1:0-1,8-9/4/400,n2:0-1/2/200,n3:0-1/2/200"},
	{1, "D", nil, "-n5 -m block:block", "n1:8-12/5/500"},
	{1, "D", nil, "-n9 -m block:block", "n1:0-8/9/900"},
	{1, "D", nil, "-n5", "n1:0-1,4,8,12/5/500"},
	{1, "E", distBlock, "-n5", "n1:0-4/5/500"},
	{1, "E", nil, "-n5", "n1:0-2,4-5/5/500"},
	{1, "E", nil, "-N1 -n2 -c3", "n1:0-5/6/600"},
	{1, "E", core0Busy, "-N1 -n3 -c2", "n1:1-6/6/600"},
	{1, "E", nil, "-N1 -n9 -O", "n1:0/1/100"},
	{2, "E", nil, "-N2 -n9 -O", "n1:0/1/100,n2:0/1/100"},
	{2, "E", maxNode5Use2, "-n8", "n1:1-2,5/3/300,n2:0-2,4-5/5/500"},
	{1, "E", socket0Used, "-n3", "n1:4-6/3/300"},
	{1, "E", maxSocket3, "-N1 -n7", "error: Batch job submission failed: Requested node configuration is not available"},
	{1, "E", coresUsed04, "-n6", "n1:1-3,5-7/6/600"},
	{1, "Espec", nil, "--exclusive", "n1:0-2,4-6/6/600"},
	{1, "Elist", nil, "-n3", "n1:1-2,5/3/300"},
	{1, "Aspec", allowSpec, "-S1", "n1:0-5,8-15/12/1400"},
	{1, "Aspec", allowSpec, "-S0", "n1:0-15/12/1600"},
	{1, "Aspec", allowSpec, "-S2", "n1:0-5,8-13/12/1200"},
	{1, "Aspec", allowSpec, "-S3", "n1:0-5,8-11/12/1000"},
	{1, "Aspec", allowSpec, "-S7", "n1:0-1/12/200"},
	{1, "A", allowSpec, "-S2", "n1:0-5,8-13/16/1200"},
	{1, "A", allowSpec, "--thread-spec=3", "n1:0-15/16/1300"},
	{1, "E", nil, "-n1 -S1", "n1:0/1/100"},
	{2, "F", noDefMem, "-n1 / -n1", "n1:0/1/8000 / n2:0/1/8000"},
	{1, "F", noMem, "--mem=8000 / --mem=8000", "n1:0/1/0 / n1:1/1/0"},
	{2, "F", nil, "-n4 --mem-per-cpu=3000", "n1:0,2/2/6000,n2:0,2/2/6000"},
	{2, "F", nil, "-N1 -n4 --mem-per-cpu=3000", "error: Batch job submission failed: Requested node configuration is not available"},
	{2, "F", nil, "--exclusive --mem-per-cpu=3000", "error: Batch job submission failed: Requested node configuration is not available"},
	{1, "F", maxMemCPU, "-n1 --mem=1500", "n1:0-2/3/1500"},
	{1, "F", maxMemCPU, "-n1 --mem-per-cpu=1500", "n1:0-2/3/1500"},
	{1, "F", maxMemCPU, "-n2 --mem-per-cpu=700", "n1:0-3/4/1400"},
	{1, "F", maxMemCPU, "-n3 -N1 --mem=1300", "n1:0-2/3/1300"},
	{2, "F", maxMemCPU, "-N2 --ntasks-per-node=2 --mem=1500", "n1:0-3/4/1500,n2:0-3/4/1500"},
	{1, "F", maxMemNode, "--mem=1001", "PENDING MaxMemPerLimit"},
	{1, "F", maxMemNode, "-n4 -N1 --mem-per-cpu=300", "PENDING MaxMemPerLimit"},
	{2, "F", maxMemNode, "-n6 --mem-per-cpu=250", "n1:0-3/4/1000,n2:0,2/2/500"},
	{2, "F", nil, "-n1 / --exclusive -N1 / -n1", "n1:0/1/100 / n2:0-3/4/400 / n1:1/1/100"},
	{1, "E", allowSpec, "-n1 --thread-spec=2", "n1:0-2,4-6/8/600"},
	{1, "E", allowSpec, "-n1 -S2", "n1:0-2,4-6/8/600"},
}

func TestCoresTable(t *testing.T) {
	for _, k := range coresCases {
		c := coresCluster(t, k.kind, k.nodes)
		if k.set != nil {
			k.set(c)
		}
		wants := strings.Split(k.want, " / ")
		for i, line := range strings.Split(k.lines, " / ") {
			got, out := c.submit(strings.Fields(line))
			text := got.state
			if got.state == "RUN" {
				text = ""
				for x, n := range out.nodes {
					g := &out.grants[x]
					if x > 0 {
						text += ","
					}
					text += fmt.Sprintf("%s:%s/%d/%d", c.names[n], c.shapes[n].AppendCPUIDs(nil, g.Cores), g.CPUs, g.MemMiB)
				}
			}
			if text != wants[i] {
				t.Errorf("%s %s: got %s, want %s", k.kind, line, text, wants[i])
			}
		}
	}
}
