package slurmconf

import "strings"

// A Node is one NodeName line with the values of the DEFAULT lines before it.
// The names are a hostlist: one line may stand for many nodes.
type Node struct {
	// Names is the hostlist after NodeName=.
	Names Value[string]

	CPUs, Boards, Sockets, SocketsPerBoard, CoresPerSocket, ThreadsPerCore Value[int64]
	// RealMemory, MemSpecLimit and TmpDisk are MiB.
	RealMemory, MemSpecLimit, TmpDisk Value[int64]
	// Weight orders nodes, lower first. Default 1.
	Weight Value[int64]
	// CoreSpecCount is a number of cores, CPUSpecList a list of abstract CPU
	// ids; they exclude each other.
	CoreSpecCount Value[int64]
	CPUSpecList   Value[string]
	// RestrictedCoresPerGPU is the cores kept for each GPU.
	RestrictedCoresPerGPU Value[int64]
	// Features is the Feature list; Gres the Gres list as written; Topology
	// the memberships, topology:unit.
	Features       Value[[]string]
	Gres, Topology Value[string]
	// State is the state after the controller's start, in lower case:
	// unknown, idle, down, drain, fail, failing, future, cloud, and flags
	// after a +. Reason goes with it.
	State, Reason Value[string]
	// HostName and Addr are kept as written.
	HostName, Addr Value[string]
}

var nodeKeys = table[Node]{
	"nodename":              put(parseText, func(n *Node) *Value[string] { return &n.Names }),
	"cpus":                  put(parseCount(1, 1<<16-1, false), func(n *Node) *Value[int64] { return &n.CPUs }),
	"boards":                put(parseCount(1, 1<<16-1, false), func(n *Node) *Value[int64] { return &n.Boards }),
	"sockets":               put(parseCount(1, 1<<16-1, false), func(n *Node) *Value[int64] { return &n.Sockets }),
	"socketsperboard":       put(parseCount(1, 1<<16-1, false), func(n *Node) *Value[int64] { return &n.SocketsPerBoard }),
	"corespersocket":        put(parseCount(1, 1<<16-1, false), func(n *Node) *Value[int64] { return &n.CoresPerSocket }),
	"threadspercore":        put(parseCount(1, 1<<16-1, false), func(n *Node) *Value[int64] { return &n.ThreadsPerCore }),
	"realmemory":            put(parseMiB, func(n *Node) *Value[int64] { return &n.RealMemory }),
	"memspeclimit":          put(parseMiB, func(n *Node) *Value[int64] { return &n.MemSpecLimit }),
	"tmpdisk":               put(parseMiB, func(n *Node) *Value[int64] { return &n.TmpDisk }),
	"weight":                put(parseCount(0, 1<<32-1, false), func(n *Node) *Value[int64] { return &n.Weight }),
	"corespeccount":         put(parseCount(0, 1<<16-1, false), func(n *Node) *Value[int64] { return &n.CoreSpecCount }),
	"cpuspeclist":           put(parseText, func(n *Node) *Value[string] { return &n.CPUSpecList }),
	"restrictedcorespergpu": put(parseCount(0, 1<<16-1, false), func(n *Node) *Value[int64] { return &n.RestrictedCoresPerGPU }),
	"feature":               put(parseList, func(n *Node) *Value[[]string] { return &n.Features }),
	"gres":                  put(parseText, func(n *Node) *Value[string] { return &n.Gres }),
	"topology":              put(parseText, func(n *Node) *Value[string] { return &n.Topology }),
	"state":                 put(parseNodeState, func(n *Node) *Value[string] { return &n.State }),
	"reason":                put(parseText, func(n *Node) *Value[string] { return &n.Reason }),
	"nodehostname":          put(parseText, func(n *Node) *Value[string] { return &n.HostName }),
	"nodeaddr":              put(parseText, func(n *Node) *Value[string] { return &n.Addr }),
	"bcastaddr":             drop[Node],
	"port":                  drop[Node],
	"cpubind":               drop[Node],
	"extra":                 drop[Node],
	"instanceid":            drop[Node],
	"instancetype":          drop[Node],
	"parameters":            drop[Node],
	"cert":                  drop[Node],
	"certtoken":             drop[Node],
}.with("cpus", "procs").with("feature", "features").with("weight", "nodeweight")

var nodeStates = parseWord("unknown", "idle", "down", "drain", "fail", "failing", "future", "cloud",
	"dynamic", "noresp", "external")

// parseNodeState reads the words of a node's State, which may be joined by
// commas or plus signs.
func parseNodeState(s string) (string, error) {
	var out []string
	for f := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == '+' }) {
		w, err := nodeStates(f)
		if err != nil {
			return "", err
		}
		out = append(out, w)
	}
	if len(out) == 0 {
		return "", valueErr("a node state is wanted")
	}
	return strings.Join(out, "+"), nil
}

// A NodeSet is one NodeSet line: a name for a list of nodes, for all nodes with
// a feature, or for both together.
type NodeSet struct {
	Name, Nodes, Feature Value[string]
}

var nodeSetKeys = table[NodeSet]{
	"nodeset": put(parseText, func(n *NodeSet) *Value[string] { return &n.Name }),
	"nodes":   put(parseText, func(n *NodeSet) *Value[string] { return &n.Nodes }),
	"feature": put(parseText, func(n *NodeSet) *Value[string] { return &n.Feature }),
}

// A DownNode is one DownNodes line: nodes whose state is not the one of their
// NodeName line.
type DownNode struct {
	Names, State, Reason Value[string]
}

var downNodeKeys = table[DownNode]{
	"downnodes": put(parseText, func(n *DownNode) *Value[string] { return &n.Names }),
	"state":     put(parseNodeState, func(n *DownNode) *Value[string] { return &n.State }),
	"reason":    put(parseText, func(n *DownNode) *Value[string] { return &n.Reason }),
}
