package gres

import (
	"slices"
	"strings"
)

// A NodeConf is what the controller knows of a node when its daemon reports
// its devices.
type NodeConf struct {
	Name string
	// Shape is the hardware; its Groups are replaced.
	Shape ShapeConfig
	// GRES are the node's slurm.conf entries, Types the cluster's GresTypes:
	// the order of groups.
	GRES  []ConfGRES
	Types []string
	// Spread are the flags that hold cluster-wide ([SpreadFlags]); nil uses
	// those of the node's own records.
	Spread map[string]RecordFlags
	// ShardScope and MPSScope say who may be together on a shared device.
	ShardScope, MPSScope ShareScope
	// Overrides is SlurmdParameters=config_overrides: counts are not checked.
	Overrides bool
}

// Groups is the controller's side of the merge: it checks the reported records
// against the configuration and returns the device groups of the node, names
// and types entered in t. Problems that drain the node come with their reason;
// the groups then still hold what is there.
//
// Source: spec/gres.md 1, 5 and 6.
func (n *NodeConf) Groups(t *DeviceTable, records []Record) ([]GroupConfig, []MergeProblem) {
	var out []GroupConfig
	var probs []MergeProblem
	for _, name := range orderTypes(n.Types) {
		var conf []ConfGRES
		for i := range n.GRES {
			if n.GRES[i].Name == name {
				conf = append(conf, n.GRES[i])
			}
		}
		if len(conf) == 0 {
			continue
		}
		var recs []Record
		for i := range records {
			if records[i].Name == name {
				recs = append(recs, records[i])
			}
		}
		g, ps := n.group(t, name, conf, recs, out)
		out, probs = append(out, g), append(probs, ps...)
	}
	return out, probs
}

// orderTypes puts the shared names behind gpu.
func orderTypes(types []string) []string {
	var out []string
	for _, t := range types {
		if !sharedName(t) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	k := slices.Index(out, "gpu") + 1
	for _, t := range types {
		if sharedName(t) && !slices.Contains(out, t) {
			out = slices.Insert(out, k, t)
			k++
		}
	}
	return out
}

func (n *NodeConf) group(t *DeviceTable, name string, conf []ConfGRES, recs []Record, before []GroupConfig) (GroupConfig, []MergeProblem) {
	g := GroupConfig{Name: t.InternName(name)}
	for i := range conf {
		g.Count += conf[i].Count
		if conf[i].NoConsume {
			g.Flags |= NoConsume
		}
	}
	table := name == "gpu" && n.hasShared()
	countOnly := n.Spread[name]&RecordCountOnly != 0
	if n.Spread[name]&RecordExplicit != 0 {
		g.Flags |= Explicit
	}
	for i := range recs {
		r := &recs[i]
		countOnly = countOnly || r.Flags&RecordCountOnly != 0
		if r.Flags&RecordExplicit != 0 {
			g.Flags |= Explicit
		}
		table = table || r.Type != "" || len(r.Cores) > 0
	}
	probs := n.checkCounts(name, conf, recs, g.Count)
	if sharedName(name) {
		n.shareGroup(&g, name, recs, before)
		return g, probs
	}
	if table {
		g.Flags |= Tracked
	}
	files := slices.ContainsFunc(recs, func(r Record) bool { return len(r.Files) > 0 })
	if countOnly || !files && !table {
		return g, probs
	}
	for i := range recs {
		r := &recs[i]
		if p := n.checkSockets(r); p != nil {
			probs = append(probs, *p)
		}
		for range min(r.Count, maxDevices-int64(len(g.Devices))) {
			g.Devices = append(g.Devices, DeviceConfig{Type: t.InternType(r.Type), Cores: r.Cores, Links: r.Links})
		}
	}
	// Links have one row a device that is there; a partial matrix is none.
	return g, probs
}

func (n *NodeConf) hasShared() bool {
	return slices.ContainsFunc(n.GRES, func(c ConfGRES) bool { return sharedName(c.Name) })
}

// shareGroup fills in the units by GPU. Per-GPU counts are honoured only where
// the GPUs have cores or types; else the total is spread evenly.
func (n *NodeConf) shareGroup(g *GroupConfig, name string, recs []Record, before []GroupConfig) {
	under := slices.IndexFunc(before, func(b GroupConfig) bool { return b.Name == NameGPU })
	if under < 0 || len(recs) == 0 {
		return
	}
	g.Over = NameGPU
	g.Flags |= Tracked
	var flags RecordFlags
	units := make([]int64, len(before[under].Devices))
	own := false
	for i := range recs {
		flags |= recs[i].Flags
		own = own || recs[i].Type != "" || len(recs[i].Cores) > 0
		if i < len(units) {
			units[i] = recs[i].Count
		}
	}
	if !own {
		spreadUnits(units, g.Count)
	}
	one := flags&RecordOneSharing != 0 || name == "mps" && flags&RecordAllSharing == 0
	if n.Spread != nil {
		one = n.Spread[name]&RecordOneSharing != 0
	}
	if one {
		g.Flags |= OneSharing
	}
	g.Scope = n.ShardScope
	if name == "mps" {
		g.Scope = n.MPSScope
	}
	for _, u := range units {
		g.Devices = append(g.Devices, DeviceConfig{Units: u})
	}
}

// checkCounts compares what is found with what is configured, total first.
func (n *NodeConf) checkCounts(name string, conf []ConfGRES, recs []Record, want int64) []MergeProblem {
	if n.Overrides {
		return nil
	}
	var found int64
	for i := range recs {
		found += recs[i].Count
	}
	if found < want {
		return []MergeProblem{{Kind: CountLow, Name: name, Have: found, Want: want}}
	}
	for i := range conf {
		if conf[i].Type == "" {
			continue
		}
		var k int64
		for x := range recs {
			if strings.EqualFold(recs[x].Type, conf[i].Type) {
				k += recs[x].Count
			}
		}
		if k < conf[i].Count {
			return []MergeProblem{{Kind: TypeLow, Name: name, Type: conf[i].Type, Have: k, Want: conf[i].Count}}
		}
	}
	return nil
}

// checkSockets tests that the cores of a device are whole sockets.
func (n *NodeConf) checkSockets(r *Record) *MergeProblem {
	per := n.Shape.CoresPerSocket
	if len(r.Cores) == 0 || per == 0 {
		return nil
	}
	for s := range n.Shape.Sockets {
		k := 0
		for c := s * per; c < (s+1)*per; c++ {
			if hasBit(r.Cores, c) {
				k++
			}
		}
		if k != 0 && k != per {
			return &MergeProblem{Kind: SocketBoundary, Name: r.Name, Have: int64(s), Node: n.Name,
				Cores:       string(appendBits(nil, r.Cores)),
				SocketCores: string(appendRange(nil, s*per, (s+1)*per-1))}
		}
	}
	return nil
}

// appendBits appends the set bits of words as ranges.
func appendBits(dst []byte, words []uint64) []byte {
	start := len(dst)
	for lo := nextBit(words, 0); lo >= 0; {
		hi := lo
		for hasBit(words, hi+1) {
			hi++
		}
		dst = appendRange(appendSep(dst, start), lo, hi)
		lo = nextBit(words, hi+1)
	}
	return dst
}
