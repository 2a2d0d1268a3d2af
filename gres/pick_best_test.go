package gres

import (
	"fmt"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// bestByTrying is the slow twin of the search for the best set of devices: it
// scores every subset in ascending order of index and keeps the first best.
func bestByTrying(s *Shape, free uint64, n int, near []int) (best uint64) {
	g := &s.groups[0]
	var bestKey [4]int
	for _, set := range subsets(free, n) {
		var key [4]int
		var socks uint64
		for i := range g.devs {
			if set>>i&1 == 0 {
				continue
			}
			socks |= g.devs[i].sockets
			for j := range i {
				if set>>j&1 != 0 {
					key[0] += int(g.devs[i].links[j])
				}
			}
		}
		key[1] = -bits.OnesCount64(socks)
		for q := range near {
			if socks>>q&1 != 0 {
				key[2] += near[q]
			}
		}
		for _, c := range wholes(s) {
			if c&^free == 0 && c&set != 0 && c&^set != 0 {
				key[3]--
			}
		}
		if best == 0 || less(bestKey, key) {
			best, bestKey = set, key
		}
	}
	return best
}

func less(a, b [4]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// subsets lists the subsets of n bits, those with lower indices first.
func subsets(free uint64, n int) []uint64 {
	if n == 0 {
		return []uint64{0}
	}
	var out []uint64
	for m := free; m != 0; m &= m - 1 {
		low := m & -m
		for _, rest := range subsets(m&(m-1), n-1) {
			out = append(out, low|rest)
		}
	}
	return out
}

// wholes lists the sets of devices worth keeping together: sockets, and groups
// in which every device reaches every other over links of one level or more.
func wholes(s *Shape) []uint64 {
	g := &s.groups[0]
	n := len(g.devs)
	sets := map[uint64]bool{}
	for q := range s.sockets {
		var m uint64
		for i := range g.devs {
			if g.devs[i].sockets>>q&1 != 0 {
				m |= 1 << i
			}
		}
		sets[m] = true
	}
	for level := int32(1); level <= 20; level++ {
		label := make([]int, n)
		for i := range label {
			label[i] = i
		}
		for range n {
			for i := range n {
				for j := range n {
					if i != j && g.devs[i].links[j] >= level {
						label[i] = min(label[i], label[j])
						label[j] = label[i]
					}
				}
			}
		}
		for i := range n {
			var m uint64
			for j := range n {
				if label[j] == label[i] {
					m |= 1 << j
				}
			}
			sets[m] = true
		}
	}
	var out []uint64
	for m := range sets {
		if k := bits.OnesCount64(m); k > 1 && k < n {
			out = append(out, m)
		}
	}
	return out
}

// linkedShape draws a node of 2×8 cores with n GPUs and symmetric links.
func linkedShape(t *rapid.T, n int) *Shape {
	c := ShapeConfig{Sockets: 2, CoresPerSocket: 8, MemMiB: 1000}
	links := make([][]int32, n)
	for i := range links {
		links[i] = make([]int32, n)
		links[i][i] = -1
		for j := range i {
			links[i][j] = rapid.SampledFrom([]int32{0, 0, 1, 2, 4}).Draw(t, "link")
			links[j][i] = links[i][j]
		}
	}
	g := GroupConfig{Name: NameGPU, Flags: Tracked}
	for i := range n {
		d := DeviceConfig{Links: links[i]}
		if q := rapid.IntRange(-1, 1).Draw(t, "socket"); q >= 0 {
			d.Cores = []uint64{0xff << (8 * q)}
		}
		g.Devices = append(g.Devices, d)
	}
	c.Groups = []GroupConfig{g}
	s, err := NewShape(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func propBest(t *rapid.T) {
	n := rapid.IntRange(1, 9).Draw(t, "devices")
	s := linkedShape(t, n)
	row := make([]uint64, s.RowLen())
	row[s.groups[0].off] = rapid.Uint64Range(0, 1<<n-1).Draw(t, "busy")
	free := ^row[s.groups[0].off] & (1<<n - 1)
	if free == 0 {
		return
	}
	k := rapid.IntRange(1, bits.OnesCount64(free)).Draw(t, "asked")
	r := Request{Tasks: 1, TasksKnown: Given, CPUsPerTask: 1, MinCPUs: 1, NodeCPUs: 1, MinNodes: 1, MaxNodes: 1, Links: LinkBest}
	need := Need{Name: NameGPU, PerNode: int64(k)}
	if rapid.Bool().Draw(t, "job") {
		need = Need{Name: NameGPU, PerJob: int64(k)}
	}
	r.SetNeeds(need)
	var sc Scratch
	node := NodeRow{Shape: s, Row: row}
	fit := Evaluate(node, &r, PassAny, 1, &sc)
	if fit.Refusal != RefuseNone {
		t.Fatalf("%d of %d free devices refused: %v", k, bits.OnesCount64(free), fit.Refusal)
	}
	var tk Taking
	tk.Start(&r)
	c := Chosen{Node: node, Fit: fit}
	c.CPUs, c.Devices = tk.Take(s, &r, &fit)
	grants := make([]Grant, 1)
	if why := Select(grants, []Chosen{c}, &r, PassAny, 1, &sc); why != RefuseNone {
		t.Fatalf("not selected: %v", why)
	}
	near := []int{countRange(grants[0].Cores, 0, 8), countRange(grants[0].Cores, 8, 16)}
	var got uint64
	for _, d := range grants[0].Devices {
		got |= 1 << d.Device
	}
	if want := bestByTrying(s, free, k, near); got != want {
		t.Fatalf("best %d of %b: got %b, want %b", k, free, got, want)
	}
}

func TestBestDevicesModel(t *testing.T) { rapid.Check(t, propBest) }

func TestBestDevicesOfKnownMachines(t *testing.T) {
	pairSock := oracleNode{name: "p", sock: []int{0, 0, 1, 1, 0, 0, 1, 1}, links: pairs(8)}
	flat := make([][]int32, 8)
	for i := range flat {
		flat[i] = make([]int32, 8)
		flat[i][i] = -1
	}
	for _, c := range []struct {
		name string
		node oracleNode
		busy string
		ask  int
		want string
	}{
		{"pairs keep together", oracleNode{name: "a", sock: std, links: pairs(4)}, "", 2, "0-1"},
		{"the free pair", oracleNode{name: "a", sock: std, links: pairs(4)}, "0", 2, "2-3"},
		{"one NUMA node behind a switch", oracleNode{name: "s", sock: []int{0, 0, 0, 0, 1, 1, 1, 1}, links: flat}, "0-1", 4, "4-7"},
		{"the orphan of a broken pair", pairSock, "0", 1, "1"},
		{"a whole pair", pairSock, "0", 2, "4-5"},
		{"a quad of the cube mesh", oracleNode{name: "c", sock: []int{0, 0, 0, 0, 1, 1, 1, 1}, links: cube()}, "1", 4, "4-7"},
	} {
		tab := NewDeviceTable()
		s := c.node.shape(t, tab)
		row := make([]uint64, s.RowLen())
		var g Grant
		if c.busy != "" {
			devs, err := s.ParseGRES(nil, tab, fmt.Sprintf("gpu:1(IDX:%s)", c.busy))
			if err != nil {
				t.Fatal(err)
			}
			g.Devices = devs
			s.Take(row, &g)
		}
		r := Request{Tasks: 1, TasksKnown: Given, CPUsPerTask: 1, MinCPUs: 1, NodeCPUs: 1, MinNodes: 1, MaxNodes: 1, Links: LinkBest}
		r.SetNeeds(Need{Name: NameGPU, PerNode: int64(c.ask)})
		var sc Scratch
		node := NodeRow{Shape: s, Row: row}
		fit := Evaluate(node, &r, PassAny, 1, &sc)
		grants := make([]Grant, 1)
		if why := Select(grants, []Chosen{{Node: node, Fit: fit, CPUs: fit.CPUs, Devices: fit.Devices}}, &r, PassAny, 1, &sc); why != RefuseNone {
			t.Fatalf("%s: %v", c.name, why)
		}
		set := make([]uint64, 1)
		for _, d := range grants[0].Devices {
			set[0] |= 1 << d.Device
		}
		if got := string(appendBits(nil, set)); got != c.want {
			t.Errorf("%s: devices %s, want %s", c.name, got, c.want)
		}
	}
}

func BenchmarkBestDevices(b *testing.B) {
	for _, n := range []int{8, 16} {
		b.Run(fmt.Sprintf("devices=%d/ask=%d", n, n/2), func(b *testing.B) {
			sock := make([]int, n)
			for i := range sock {
				sock[i] = i * 2 / n
			}
			node := oracleNode{name: "n", sock: sock, links: pairs(n)}
			s := node.shape(b, NewDeviceTable())
			row := make([]uint64, s.RowLen())
			r := Request{Tasks: 1, TasksKnown: Given, CPUsPerTask: 1, MinCPUs: 1, NodeCPUs: 1, MinNodes: 1, MaxNodes: 1, Links: LinkBest}
			r.SetNeeds(Need{Name: NameGPU, PerNode: int64(n / 2)})
			var sc Scratch
			nr := NodeRow{Shape: s, Row: row}
			fit := Evaluate(nr, &r, PassAny, 1, &sc)
			c := []Chosen{{Node: nr, Fit: fit, CPUs: fit.CPUs, Devices: fit.Devices}}
			grants := make([]Grant, 1)
			b.ReportAllocs()
			for b.Loop() {
				Select(grants, c, &r, PassAny, 1, &sc)
			}
		})
	}
}
