package gres

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type recordedFile struct {
	Area, Name string
	Files      map[string]json.RawMessage
	Cases      []recordedCase
}

type recordedJob struct {
	Name   string
	Args   []string
	Result *recordedResult
}

type recordedCase struct {
	ID    string
	State struct {
		Drained string
		Running []recordedJob
	}
	Submit  []recordedJob
	Expect  map[string]*recordedResult
	Suspect []string
}

type recordedResult struct {
	State, Reason, Error string
	Nodelist             string
	NumCPUs              int64 `json:"num_cpus"`
	NumTasks             int32 `json:"num_tasks"`
	TRES                 string
	Alloc                []struct {
		Nodes string
		CPUs  string `json:"cpu_ids"`
		Mem   int64
		GRES  string
	}
}

func (f *recordedFile) text(name string) string {
	var s string
	json.Unmarshal(f.Files[name], &s)
	return s
}

// keys splits "A=1 B=2" into a map with lower-case keys.
func keys(line string) map[string]string {
	m := map[string]string{}
	for w := range strings.FieldsSeq(line) {
		k, v, _ := strings.Cut(w, "=")
		m[strings.ToLower(k)] = v
	}
	return m
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// bitsOf reads "0-3,8" into a core set.
func bitsOf(text string) []uint64 {
	if text == "" {
		return nil
	}
	out := make([]uint64, 4)
	if err := eachRange(text, 0, func(lo, hi int) bool {
		for k := lo; k <= hi; k++ {
			out[k>>6] |= 1 << (k & 63)
		}
		return true
	}); err != nil {
		panic(err)
	}
	return out
}

// recordedCluster builds the nodes of a recorded configuration.
func recordedCluster(t *testing.T, f *recordedFile) *cluster {
	t.Helper()
	c := &cluster{tab: NewDeviceTable()}
	var types []string
	var nodeLines []map[string]string
	part := map[string]string{}
	for line := range strings.SplitSeq(f.text("slurm.conf"), "\n") {
		m := keys(line)
		switch {
		case m["nodename"] != "":
			nodeLines = append(nodeLines, m)
			continue
		case m["partitionname"] != "":
			part = m
			continue
		}
		for k, v := range m {
			switch k {
			case "grestypes":
				types = strings.Split(v, ",")
			case "selecttypeparameters":
				c.setParams(v)
			case "defmempercpu":
				c.params.Cluster.PerCPU = int64(atoi(v))
			case "defmempernode":
				c.params.Cluster.PerNode = int64(atoi(v))
			case "defmempergpu":
				c.params.Cluster.PerGPU = int64(atoi(v))
			case "defcpupergpu":
				c.params.DefCPUsPerGPU = int32(atoi(v))
			case "maxmempercpu":
				c.maxMem.PerCPU = int64(atoi(v))
			case "maxmempernode":
				c.maxMem.PerNode = int64(atoi(v))
			}
		}
	}
	for _, n := range types {
		c.tab.InternName(n)
	}
	if v := part["defcpupergpu"]; v != "" {
		c.params.DefCPUsPerGPU = int32(atoi(v))
	}
	c.params.Partition.PerGPU = int64(atoi(part["defmempergpu"]))
	c.params.Partition.PerCPU = int64(atoi(part["defmempercpu"]))
	c.params.WholeNodes = part["oversubscribe"] == "EXCLUSIVE"
	for _, m := range nodeLines {
		for _, name := range hosts(m["nodename"]) {
			c.addNode(t, name, m, types, f.text("gres.conf"))
		}
	}
	if m := part["maxcpuspernode"] + part["maxcpuspersocket"]; m != "" {
		for _, s := range c.shapes {
			c.limits = append(c.limits, &CPULimits{PerNode: int32(atoi(part["maxcpuspernode"])),
				PerSocket: int32(atoi(part["maxcpuspersocket"])), UsedSocket: make([]int32, s.Sockets())})
		}
	}
	return c
}

func (c *cluster) setParams(v string) {
	p := &c.params
	for w := range strings.SplitSeq(v, ",") {
		switch strings.ToLower(w) {
		case "cr_cpu_memory", "cr_core_memory", "cr_socket_memory":
			p.ConsumeMem = true
		case "cr_one_task_per_core":
			p.OneTaskPerCore = true
		case "cr_core_default_dist_block":
			p.DistBlock = true
		case "enforce_binding_gres":
			p.EnforceBinding = true
		case "one_task_per_sharing_gres":
			p.OneTaskPerSharing = true
		case "multiple_sharing_gres_pj":
			p.MultipleSharing = true
		case "ll_shared_gres":
			p.LeastLoaded = true
		case "cr_lln":
			c.lln = true
		}
		switch strings.ToLower(w) {
		case "cr_cpu_memory", "cr_cpu":
			p.Unit = UnitCPU
		case "cr_socket_memory", "cr_socket":
			p.Unit = UnitSocket
		}
	}
}

func (c *cluster) addNode(t *testing.T, name string, m map[string]string, types []string, gresConf string) {
	t.Helper()
	n := NodeConf{Name: name, Types: types}
	s := &n.Shape
	s.Boards = max(atoi(m["boards"]), 1)
	s.Sockets = s.Boards * max(atoi(m["socketsperboard"]), 1)
	if v := m["sockets"]; v != "" {
		s.Sockets = atoi(v)
	}
	s.CoresPerSocket, s.Threads, s.CPUs = max(atoi(m["corespersocket"]), 1), atoi(m["threadspercore"]), atoi(m["cpus"])
	if m["corespersocket"] == "" && m["cpus"] != "" {
		s.CoresPerSocket = s.CPUs / s.Sockets
	}
	s.RealMemMiB = int64(atoi(m["realmemory"]))
	s.MemMiB = s.RealMemMiB - int64(atoi(m["memspeclimit"]))
	s.RestrictedPerGPU = atoi(m["restrictedcorespergpu"])
	s.SpecCores = AppendSpecCores(nil, s.Sockets, s.CoresPerSocket, atoi(m["corespeccount"]), false)
	if v := m["cpuspeclist"]; v != "" {
		for _, k := range setBits(bitsOf(v)) {
			s.SpecCores = append(s.SpecCores, k/max(s.Threads, 1))
		}
	}
	var err error
	if n.GRES, err = ParseNodeGRES(m["gres"]); err != nil {
		t.Fatal(err)
	}
	lines, probs := CheckRecords(gresLines(name, gresConf))
	records, more := MergeNode(n.GRES, lines, nil, false)
	groups, drains := n.Groups(c.tab, records)
	for _, p := range slices.Concat(probs, more, drains) {
		t.Errorf("%s: %v", name, p.Error())
	}
	s.Groups = groups
	shape, err := NewShape(*s)
	if err != nil {
		t.Fatal(err)
	}
	c.names = append(c.names, name)
	c.shapes = append(c.shapes, shape)
	c.rows = append(c.rows, make([]uint64, shape.RowLen()))
	c.weight = append(c.weight, max(atoi(m["weight"]), 1))
}

func setBits(words []uint64) []int {
	var out []int
	for k := nextBit(words, 0); k >= 0; k = nextBit(words, k+1) {
		out = append(out, k)
	}
	return out
}

// gresLines reads the gres.conf lines for one node.
func gresLines(node, text string) []Record {
	var out []Record
	for line := range strings.SplitSeq(text, "\n") {
		m := keys(line)
		if m["name"] == "" || m["nodename"] != "" && !slices.Contains(hosts(m["nodename"]), node) {
			continue
		}
		r := Record{Name: m["name"], Type: m["type"], Cores: bitsOf(m["cores"])}
		if v := m["count"]; v != "" {
			r.Count, _ = ParseCount(v)
		}
		r.Files = hosts(m["file"])
		if v := m["multiplefiles"]; v != "" {
			r.Files, r.Multiple = hosts(v), true
		}
		for v := range strings.SplitSeq(m["links"], ",") {
			if v != "" {
				r.Links = append(r.Links, int32(atoi(v)))
			}
		}
		r.Flags, _ = ParseRecordFlags(m["flags"])
		out = append(out, r)
	}
	return out
}

// hold books what a recorded job holds.
func (c *cluster) hold(t *testing.T, r *recordedResult) {
	t.Helper()
	for _, a := range r.Alloc {
		for _, n := range hosts(a.Nodes) {
			i := c.index(n)
			s := c.shapes[i]
			g := Grant{Cores: make([]uint64, s.CoreWords())}
			if err := s.ParseCPUIDs(g.Cores, a.CPUs); err != nil {
				t.Fatal(err)
			}
			var err error
			if g.Devices, err = s.ParseGRES(nil, c.tab, a.GRES); err != nil {
				t.Fatal(err)
			}
			if c.params.ConsumeMem {
				g.MemMiB = a.Mem
			}
			s.Take(c.rows[i], &g)
			c.count(i, &g)
		}
	}
}

// count adds to what the partition's limits count.
func (c *cluster) count(i int, g *Grant) {
	if c.limits == nil {
		return
	}
	s := c.shapes[i]
	for k := range s.Sockets() {
		n := int32(countRange(g.Cores, k*s.CoresPerSocket(), (k+1)*s.CoresPerSocket()) * s.Threads())
		c.limits[i].UsedSocket[k] += n
		c.limits[i].Used += n
	}
}

// othersBusiness reports whether a job of the case asks for something that
// decides which nodes are taken beyond what the chooser of these tests knows.
func (k *recordedCase) othersBusiness() bool {
	for i := range k.Submit {
		for _, w := range k.Submit[i].Args {
			if w == "--contiguous" || w == "--spread-job" || w == "-x" {
				return true
			}
		}
	}
	return false
}

func TestRecordedFlat(t *testing.T) {
	for _, area := range []string{"gres", "topology"} {
		agree, total, later := 0, 0, 0
		for _, f := range readRecorded(t, area) {
			if f.Files["topology.yaml"] != nil || f.Files["topology.conf"] != nil {
				continue
			}
			if strings.Contains(f.text("slurm.conf"), "LLN") && area == "topology" {
				continue // which node is emptiest is a fitter's business
			}
			for i := range f.Cases {
				if f.Cases[i].othersBusiness() {
					continue
				}
				a, n, l := f.check(t, &f.Cases[i])
				agree, total, later = agree+a, total+n, later+l
			}
		}
		fmt.Printf("recorded %s, flat: %d of %d jobs agree, %d behind a waiting job\n", area, agree, total, later)
	}
}

// checkRunning places the jobs that were running when a case starts one after
// another and compares what they hold.
func (f *recordedFile) checkRunning(t *testing.T, k *recordedCase) (agree, total int) {
	c := recordedCluster(t, f)
	for i := range k.State.Running {
		j := &k.State.Running[i]
		got, _ := c.submit(j.Args)
		for x := range c.rows {
			clear(c.rows[x])
			if c.limits != nil {
				c.limits[x].Used = 0
				clear(c.limits[x].UsedSocket)
			}
		}
		for x := range k.State.Running[:i+1] {
			c.hold(t, k.State.Running[x].Result)
		}
		total++
		diff := j.Result.diff(c, got)
		if diff != "" {
			t.Errorf("%s/%s %s %s: %s", f.Name, k.ID, j.Name, strings.Join(j.Args, " "), diff)
			continue
		}
		agree++
	}
	return agree, total
}

func TestRecordedRunning(t *testing.T) {
	agree, total := 0, 0
	for _, f := range readRecorded(t, "gres") {
		for i := range f.Cases {
			a, n := f.checkRunning(t, &f.Cases[i])
			agree, total = agree+a, total+n
		}
	}
	fmt.Printf("recorded gres, running jobs: %d of %d agree\n", agree, total)
}

// readRecorded returns the recorded files of an area: of the directory
// BERTH_RECORDED if that is set, else the copy in testdata, else the shared
// ones; none if there are none.
func readRecorded(t *testing.T, area string) []*recordedFile {
	t.Helper()
	var raw [][]byte
	dir := os.Getenv("BERTH_RECORDED")
	if z, err := os.Open(filepath.Join("testdata/recorded", area+".jsonl.gz")); err == nil && dir == "" {
		defer z.Close()
		r, err := gzip.NewReader(z)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		raw = bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	} else {
		if dir == "" {
			dir = "../../shared/vectors"
		}
		files, _ := filepath.Glob(filepath.Join(dir, area, "*.json"))
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			raw = append(raw, b)
		}
	}
	var out []*recordedFile
	for _, b := range raw {
		f := &recordedFile{}
		if err := json.Unmarshal(b, f); err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

func (f *recordedFile) check(t *testing.T, k *recordedCase) (agree, total, later int) {
	c := recordedCluster(t, f)
	for _, n := range hosts(k.State.Drained) {
		c.drained = append(c.drained, c.index(n))
	}
	for i := range k.State.Running {
		c.hold(t, k.State.Running[i].Result)
	}
	waiting := false
	for i := range k.Submit {
		j := &k.Submit[i]
		want := k.Expect[j.Name]
		if waiting && want.State == "PENDING" {
			later++
			continue
		}
		total++
		got, _ := c.submit(j.Args)
		diff := want.diff(c, got)
		if diff == "" {
			agree++
		} else if k.Suspect == nil {
			t.Errorf("%s/%s %s %s: %s", f.Name, k.ID, j.Name, strings.Join(j.Args, " "), diff)
		}
		waiting = waiting || want.State == "PENDING"
		if diff != "" {
			break // what follows depends on it
		}
	}
	return agree, total, later
}

// diff compares a recorded result with an answer.
func (want *recordedResult) diff(c *cluster, got answer) string {
	switch want.State {
	case "REJECTED":
		lines := strings.Split(want.Error, "\n")
		if last := lines[len(lines)-1]; !strings.HasSuffix(got.state, last) {
			return fmt.Sprintf("got %v, want %s", got, want.Error)
		}
	case "PENDING":
		if !strings.HasPrefix(got.state, "PENDING") {
			return fmt.Sprintf("got %v, want PENDING %s", got, want.Reason)
		}
	default:
		w := answer{state: "RUN", cpus: want.NumCPUs, nodes: map[string]string{}}
		for _, a := range want.Alloc {
			for _, n := range hosts(a.Nodes) {
				w.nodes[n] = fmt.Sprintf("%s | %d | %s", a.CPUs, a.Mem, a.GRES)
				w.mem += a.Mem
			}
		}
		if g, w := fmt.Sprint(got), fmt.Sprint(w); g != w {
			return fmt.Sprintf("\n got %s\nwant %s", g, w)
		}
	}
	return ""
}
