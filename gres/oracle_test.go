package gres

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// oracleNode describes one node of an oracle configuration: the socket of each
// GPU (−1: no cores), types, links and further groups.
type oracleNode struct {
	name    string
	sock    []int
	types   []string
	links   [][]int32
	shards  []int64 // shard units by GPU
	mps     []int64
	weight  int
	threads int
	extra   func(tab *DeviceTable, c *ShapeConfig)
	cores   []uint64 // of all GPUs, if not by socket
	restr   int
}

func (o *oracleNode) shape(t testing.TB, tab *DeviceTable) *Shape {
	t.Helper()
	c := ShapeConfig{Sockets: 2, CoresPerSocket: 8, Threads: max(o.threads, 1), MemMiB: 16000, RestrictedPerGPU: o.restr}
	var flags GroupFlags
	g := GroupConfig{Name: NameGPU}
	for i, s := range o.sock {
		d := DeviceConfig{}
		if s >= 0 {
			d.Cores = []uint64{0xff << (8 * s)}
			flags = Tracked
		}
		if o.cores != nil {
			d.Cores = o.cores
			flags = Tracked
		}
		if o.types != nil {
			d.Type = tab.InternType(o.types[i])
			flags = Tracked
		}
		if o.links != nil {
			d.Links = o.links[i]
		}
		g.Devices = append(g.Devices, d)
	}
	if o.shards != nil || o.mps != nil {
		flags = Tracked
	}
	g.Flags = flags
	c.Groups = append(c.Groups, g)
	share := func(name NameID, units []int64, f GroupFlags) {
		s := GroupConfig{Name: name, Over: NameGPU, Flags: Tracked | f}
		for _, u := range units {
			s.Devices = append(s.Devices, DeviceConfig{Units: u})
		}
		c.Groups = append(c.Groups, s)
	}
	if o.shards != nil {
		share(NameShard, o.shards, 0)
	}
	if o.mps != nil {
		share(NameMPS, o.mps, OneSharing)
	}
	if o.extra != nil {
		o.extra(tab, &c)
	}
	s, err := NewShape(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pairs(n int) [][]int32 {
	m := make([][]int32, n)
	for i := range m {
		m[i] = make([]int32, n)
		m[i][i] = -1
		m[i][i^1] = 4
	}
	return m
}

// cube is two quads with 2 lanes inside and 1 lane to the partner.
func cube() [][]int32 {
	m := make([][]int32, 8)
	for i := range m {
		m[i] = make([]int32, 8)
		for j := range m {
			switch {
			case i == j:
				m[i][j] = -1
			case i/4 == j/4:
				m[i][j] = 2
			case i%4 == j%4:
				m[i][j] = 1
			}
		}
	}
	return m
}

var std = []int{0, 0, 1, 1}

func licences(tab *DeviceTable, c *ShapeConfig) {
	c.Groups = append(c.Groups,
		GroupConfig{Name: tab.InternName("fs"), Count: 1, Flags: NoConsume},
		GroupConfig{Name: tab.InternName("lic"), Count: 10},
		GroupConfig{Name: tab.InternName("ex"), Count: 2, Flags: Explicit})
}

func nics(tab *DeviceTable, c *ShapeConfig) {
	c.Groups = append(c.Groups, GroupConfig{Name: tab.InternName("nic"), Flags: Tracked, Devices: []DeviceConfig{
		{Cores: []uint64{0xff}}, {Cores: []uint64{0xff00}}}})
}

// oracleConfigs are the configurations that the head of rows.tsv describes.
var oracleConfigs = map[string][]oracleNode{
	"pa1": {{name: "a", sock: []int{-1, -1, -1, -1}, links: pairs(4)}},
	"pb":  {{name: "b", sock: []int{0, 0, 0, 0, 1, 1, 1, 1}, links: cube()}},
	"pc":  {{name: "c", sock: std}},
	"pd1": {{name: "d", sock: std, types: []string{"a100", "a100", "h100", "h100"}}},
	"pp":  {{name: "p", sock: []int{0, 0, 0, 0}, links: pairs(4)}},
	"pq":  {{name: "q", sock: []int{-1, -1, -1, -1}, types: []string{"v", "v", "v", "v"}, links: pairs(4)}},
	"pm":  {{name: "m1", sock: std}, {name: "m2", sock: std}, {name: "m3", sock: std}, {name: "m4", sock: std}},
	"pk": {{name: "k1", sock: []int{0, 1}, weight: 5}, {name: "k2", sock: std, weight: 5},
		{name: "k3", sock: []int{0, 0, 0, 0, 1, 1, 1, 1}, weight: 1}},
	"ps":   {{name: "s", sock: std, shards: []int64{5, 5, 5, 5}}},
	"pt":   {{name: "t", sock: []int{-1, -1}, shards: []int64{5, 5}}},
	"pu":   {{name: "u", sock: []int{-1, -1, -1, -1}, mps: []int64{100, 100, 100, 100}}},
	"pw":   {{name: "w", sock: []int{-1, -1, -1}, shards: []int64{3, 3, 4}}},
	"pa":   {{name: "a1", sock: std, extra: licences}, {name: "a2", sock: std, extra: licences}},
	"pd":   {{name: "a1", sock: std, extra: licences}, {name: "a2", sock: std, extra: licences}},
	"ph":   {{name: "h1", sock: std, threads: 2}},
	"pr":   {{name: "r1", sock: std, restr: 2}},
	"pn":   {{name: "nic1", sock: std, extra: nics}},
	"k2":   {{name: "k2", sock: std}},
	"k2ht": {{name: "k2", sock: std, threads: 2}},
	"kk":   {{name: "k1", sock: []int{0, 0}}, {name: "k2", sock: std}, {name: "k3", sock: std}},
}

func oracleCluster(t testing.TB, config string) *cluster {
	t.Helper()
	parts := strings.Split(config, "+")
	c := &cluster{tab: NewDeviceTable()}
	c.params.ConsumeMem = true
	c.params.Cluster.PerCPU = 100
	switch parts[0] {
	case "pa1", "pb", "pc", "pd1":
		c.params.Cluster.PerCPU = 0
	case "pd":
		c.params.DefCPUsPerGPU = 3
		c.params.Partition.PerGPU = 1000
	}
	for _, p := range parts[1:] {
		switch p {
		case "LL":
			c.params.LeastLoaded = true
		case "MULT":
			c.params.MultipleSharing = true
		}
	}
	for _, n := range oracleConfigs[parts[0]] {
		c.names = append(c.names, n.name)
		c.shapes = append(c.shapes, n.shape(t, c.tab))
		c.rows = append(c.rows, make([]uint64, c.shapes[len(c.shapes)-1].RowLen()))
		c.weight = append(c.weight, max(n.weight, 1))
	}
	return c
}

// answer is what the tests compare: the state, and each node's line.
type answer struct {
	state string // RUN, PENDING Resources or the error text
	cpus  int64
	mem   int64
	nodes map[string]string // name → "CPU ids | MiB | GRES"
}

// submit derives, places and, if it runs, books the job.
func (c *cluster) submit(words []string) (answer, outcome) {
	a, err := parseArgs(words)
	if err != nil {
		return answer{state: slurmText(err)}, outcome{}
	}
	r, err := Derive(&a.Options, &c.params, c.tab)
	if err != nil {
		return answer{state: slurmText(err)}, outcome{}
	}
	return c.run(&r, &a)
}

func (c *cluster) run(r *Request, a *args) (answer, outcome) {
	var eligible, required, all []int
	listed := hosts(a.nodes)
	for i, n := range c.names {
		in := len(listed) == 0 || len(listed) <= int(r.MinNodes)
		for _, l := range listed {
			if l == n {
				in = true
				if len(listed) <= int(r.MinNodes) {
					required = append(required, i)
				}
			}
		}
		for _, x := range hosts(a.exclude) {
			in = in && x != n
		}
		if in {
			all = append(all, i)
		}
		in = in && !slices.Contains(c.drained, i)
		if in {
			eligible = append(eligible, i)
		}
	}
	idle := make([][]uint64, len(c.rows))
	for i := range idle {
		idle[i] = make([]uint64, len(c.rows[i]))
	}
	all = slices.DeleteFunc(all, func(i int) bool { return r.NodeFilter(c.shapes[i]) != RefuseNone })
	cpus, facts := int64(0), MemFacts{FirstNodeMiB: c.shapes[0].MemMiB(), DefPerNode: c.params.Cluster.PerNode}
	for _, s := range c.shapes {
		cpus += int64(s.Cores() * s.Threads())
		facts.MaxCPUs = max(facts.MaxCPUs, int32(s.CPUs()))
	}
	var perNode int64
	if c.limits != nil {
		perNode = int64(c.limits[0].PerNode)
	}
	if a, b := r.ExceedsPartition(int64(len(c.names)), cpus, perNode); a || b {
		return answer{state: "PENDING PartitionConfig"}, outcome{}
	}
	lr, ok := r.LimitMemory(c.maxMem, facts)
	r = &lr
	for _, i := range all {
		if r.NodeFilter(c.shapes[i]) != RefuseNone {
			all = slices.DeleteFunc(all, func(k int) bool { return k == i })
			break
		}
	}
	if !ok && c.place(r, all, required, idle, true).ok {
		return answer{state: "PENDING MaxMemPerLimit"}, outcome{}
	}
	if !c.place(r, all, required, idle, true).ok {
		return answer{state: "error: Batch job submission failed: Requested node configuration is not available"}, outcome{}
	}
	out := c.place(r, eligible, required, c.rows, false)
	if !out.ok {
		return answer{state: "PENDING Resources"}, out
	}
	ans := answer{state: "RUN", nodes: map[string]string{}}
	for x, i := range out.nodes {
		g := &out.grants[x]
		if err := c.shapes[i].CheckGrant(c.rows[i], g); err != nil {
			return answer{state: err.Error()}, out
		}
		c.shapes[i].Take(c.rows[i], g)
		c.count(i, g)
		ans.cpus += g.CPUs
		ans.mem += g.MemMiB
		ans.nodes[c.names[i]] = fmt.Sprintf("%s | %d | %s", c.shapes[i].AppendCPUIDs(nil, g.Cores), g.MemMiB, c.shapes[i].AppendGRES(nil, c.tab, g))
	}
	return ans, out
}

func TestOracleRows(t *testing.T) {
	f, err := os.Open("testdata/oracle/rows.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	agree, total := 0, 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		col := strings.Split(sc.Text(), "\t")
		if strings.HasPrefix(sc.Text(), "#") || len(col) < 3 {
			continue
		}
		total++
		c := oracleCluster(t, col[0])
		got, _ := c.submit(strings.Fields(col[1]))
		if diff := oracleDiff(col, got); diff != "" {
			t.Errorf("%s %s: %s", col[0], col[1], diff)
			continue
		}
		agree++
	}
	fmt.Printf("oracle rows: %d of %d agree\n", agree, total)
}

// oracleDiff compares one row with an answer; "" is equal.
func oracleDiff(col []string, got answer) string {
	for len(col) < 6 {
		col = append(col, "")
	}
	switch want := col[2]; want {
	case "REJECT":
		if !strings.HasSuffix(got.state, strings.TrimSuffix(col[5], "\r")) {
			return fmt.Sprintf("got %q, want REJECT %q", got.state, col[5])
		}
	case "RUN":
		w := answer{state: "RUN", nodes: map[string]string{}}
		w.cpus, _ = strconv.ParseInt(col[3], 10, 64)
		w.mem, _ = strconv.ParseInt(col[4], 10, 64)
		for part := range strings.SplitSeq(col[5], "; ") {
			names, line, _ := strings.Cut(part, " CPU ")
			for _, n := range hosts(names) {
				w.nodes[n] = strings.TrimRight(line, " ")
			}
		}
		for n, l := range got.nodes {
			got.nodes[n] = strings.TrimRight(l, " ")
		}
		if g, w := fmt.Sprint(got), fmt.Sprint(w); g != w {
			return fmt.Sprintf("\n got %s\nwant %s", g, w)
		}
	default:
		if got.state != want {
			return fmt.Sprintf("got %v, want %s", got, want)
		}
	}
	return ""
}

// randomCase is one line of random.jsonl.
type randomCase struct {
	Kind      string
	GPUSocket json.RawMessage `json:"gpu_socket"`
	Links     [][]int32
	BusyGPUs  []int           `json:"busy_gpus"`
	BusyCores json.RawMessage `json:"busy_cores"`
	Args      string
	CPUs      json.RawMessage
	GPUs      json.RawMessage
	Pending   bool
	Mode      string
	Capacity  []int64
	Used      []int64
	Units     []int64
}

func TestOracleRandom(t *testing.T) {
	f, err := os.Open("testdata/oracle/random.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	agree, total := map[string]int{}, map[string]int{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var rc randomCase
		if err := json.Unmarshal(sc.Bytes(), &rc); err != nil {
			t.Fatal(err)
		}
		total[rc.Kind]++
		if diff := rc.check(t); diff != "" {
			if total[rc.Kind]-agree[rc.Kind] < 6 {
				t.Errorf("%s\n%s", sc.Text(), diff)
			} else {
				t.Fail()
			}
			continue
		}
		agree[rc.Kind]++
	}
	fmt.Printf("oracle random: gpu %d of %d, shard %d of %d, multi %d of %d agree\n",
		agree["gpu"], total["gpu"], agree["shard"], total["shard"], agree["multi"], total["multi"])
}

func (rc *randomCase) check(t *testing.T) string {
	var nodes []oracleNode
	var socks [][]int
	if json.Unmarshal(rc.GPUSocket, &socks) != nil {
		var one []int
		json.Unmarshal(rc.GPUSocket, &one)
		socks = [][]int{one}
	}
	for i, s := range socks {
		n := oracleNode{name: "n" + strconv.Itoa(i+1), sock: s, links: rc.Links}
		if rc.Kind == "shard" {
			if s == nil {
				n.sock = make([]int, len(rc.Capacity))
				for k := range n.sock {
					n.sock[k] = -1
				}
			}
			n.shards = rc.Capacity
		}
		nodes = append(nodes, n)
	}
	c := &cluster{tab: NewDeviceTable()}
	c.params.ConsumeMem = true
	c.params.Cluster.PerCPU = 100
	c.params.LeastLoaded = strings.Contains(rc.Mode, "LL_SHARED")
	c.params.MultipleSharing = strings.Contains(rc.Mode, "MULTIPLE_SHARING")
	c.params.OneTaskPerSharing = strings.Contains(rc.Mode, "ONE_TASK")
	for _, n := range nodes {
		c.names = append(c.names, n.name)
		s := n.shape(t, c.tab)
		c.shapes = append(c.shapes, s)
		row := make([]uint64, s.RowLen())
		g := Grant{Cores: make([]uint64, s.CoreWords())}
		if err := s.ParseCPUIDs(g.Cores, rc.busy()); err != nil {
			t.Fatal(err)
		}
		for _, x := range rc.BusyGPUs {
			g.Devices = append(g.Devices, DeviceGrant{Device: int16(x), Units: 1})
		}
		for x, u := range rc.Used {
			g.Devices = append(g.Devices, DeviceGrant{Group: 1, Device: int16(x), Units: u})
		}
		s.Take(row, &g)
		c.rows = append(c.rows, row)
		c.weight = append(c.weight, 1)
	}
	got, out := c.submit(strings.Fields(rc.Args))
	if rc.Pending {
		if got.state == "RUN" {
			return fmt.Sprintf("got %v", got)
		}
		return ""
	}
	if got.state != "RUN" {
		return fmt.Sprintf("got %v (%v)", got, out.why)
	}
	switch rc.Kind {
	case "gpu":
		var cpus string
		json.Unmarshal(rc.CPUs, &cpus)
		var gpus []int
		json.Unmarshal(rc.GPUs, &gpus)
		var mine []int
		for _, d := range out.grants[0].Devices {
			mine = append(mine, int(d.Device))
		}
		ids := string(c.shapes[0].AppendCPUIDs(nil, out.grants[0].Cores))
		if ids != cpus || fmt.Sprint(mine) != fmt.Sprint(gpus) {
			return fmt.Sprintf("got cpus %s gpus %v", ids, mine)
		}
	case "shard":
		mine := make([]int64, len(rc.Capacity))
		for _, d := range out.grants[0].Devices {
			if d.Device >= 0 {
				mine[d.Device] = d.Units
			}
		}
		if fmt.Sprint(mine) != fmt.Sprint(rc.Units) {
			return fmt.Sprintf("got units %v", mine)
		}
	case "multi":
		if g, w := rc.multi(c, out), strings.ReplaceAll(string(rc.GPUs)+string(rc.CPUs), " ", ""); g != w {
			return fmt.Sprintf("got  %s\nwant %s", g, w)
		}
	}
	return ""
}

// busy returns the busy cores as a list, whichever way they are written.
func (rc *randomCase) busy() string {
	var s string
	if json.Unmarshal(rc.BusyCores, &s) == nil {
		return s
	}
	return strings.Trim(strings.ReplaceAll(string(rc.BusyCores), " ", ""), "[]")
}

// multi returns GPUs and CPUs by node in the form of the recording.
func (rc *randomCase) multi(c *cluster, out outcome) string {
	gpus, cpus := make([][]int, len(c.names)), make([]string, len(c.names))
	for x, i := range out.nodes {
		for _, d := range out.grants[x].Devices {
			gpus[i] = append(gpus[i], int(d.Device))
		}
		cpus[i] = string(c.shapes[i].AppendCPUIDs(nil, out.grants[x].Cores))
	}
	a, _ := json.Marshal(gpus)
	b, _ := json.Marshal(cpus)
	return string(a) + string(b)
}
