package gres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
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

// coresSettings are the words of with=.
var coresSettings = map[string]func(*cluster){
	"cr_cpu":                               cpuMode,
	"cr_socket":                            socketMode,
	"one_task_per_core":                    oneTask,
	"allow_spec":                           allowSpec,
	"no_default_memory":                    noDefMem,
	"memory_not_consumed":                  noMem,
	"max_mem_per_cpu_500":                  maxMemCPU,
	"max_mem_per_node_1000":                maxMemNode,
	"dist_block":                           distBlock,
	"core_0_busy":                          core0Busy,
	"max_cpus_per_socket_3":                maxSocket3,
	"max_cpus_per_node_5_two_used":         maxNode5Use2,
	"max_cpus_per_socket_3_cores_0-2_used": socket0Used,
	"max_cpus_per_socket_3_cores_0,4_used": coresUsed04,
}

func TestCoresScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/cores", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var kind, with string
			var nodes int
			d.ScanArgs(t, "kind", &kind)
			d.ScanArgs(t, "nodes", &nodes)
			c := coresCluster(t, kind, nodes)
			if d.HasArg("with") {
				for _, arg := range d.CmdArgs {
					if arg.Key == "with" {
						with = strings.Join(arg.Vals, ",")
					}
				}
				set := coresSettings[with]
				if set == nil {
					t.Fatalf("unknown setting %q", with)
				}
				set(c)
			}
			var b strings.Builder
			for line := range strings.SplitSeq(d.Input, "\n") {
				got, out := c.submit(strings.Fields(line))
				if got.state != "RUN" {
					fmt.Fprintln(&b, got.state)
					continue
				}
				for x, n := range out.nodes {
					g := &out.grants[x]
					if x > 0 {
						b.WriteByte(' ')
					}
					fmt.Fprintf(&b, "%s:%s/%d/%d", c.names[n], c.shapes[n].AppendCPUIDs(nil, g.Cores), g.CPUs, g.MemMiB)
				}
				b.WriteByte('\n')
			}
			return b.String()
		})
	})
}
