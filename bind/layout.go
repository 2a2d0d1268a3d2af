package bind

// A Spread is the NODE part of -m: how tasks go over the nodes of a step.
type Spread uint8

// The spreads.
const (
	SpreadBlock     Spread = iota // fill node after node, one task on each first
	SpreadCyclic                  // one task a node, round and round
	SpreadPlane                   // Plane tasks a node, round and round
	SpreadArbitrary               // as Tasks of each node says
)

// An InSocket is the SOCKET part of -m: how tasks go over the sockets of a node.
type InSocket uint8

// The socket distributions.
const (
	SocketDefault InSocket = iota // cyclic, or block with CR_CORE_DEFAULT_DIST_BLOCK
	SocketCyclic
	SocketBlock
	SocketFCyclic // the next socket after every CPU
)

// A Distribution is a parsed -m. The zero value is the default.
type Distribution struct {
	Spread Spread
	Plane  int32 // of SpreadPlane, at least 1
	Socket InSocket
}

// Layout says which tasks of a step are on which of its nodes.
type Layout struct {
	// Tasks has the number of tasks by node.
	Tasks []int32
	// Node and Local have for each task its node's position and its number
	// there.
	Node, Local []int32
}

// Lay stores in l where n tasks go. room[i] is how many tasks node i can take;
// a node takes at least one as long as there are tasks. With overcommit the
// rooms bound nothing once they are full. It reports whether all tasks found a
// place; if not, l is not to be used. It takes O(n + nodes) steps per round
// and allocates nothing once l has grown.
//
// Within a node tasks are numbered in the order in which they came.
//
// Source: srun(1) -m; specification bind.md 4.1.
func (l *Layout) Lay(n int32, room []int32, d Distribution, overcommit bool) bool {
	nodes := len(room)
	l.Tasks = grow(l.Tasks, nodes)
	l.Node, l.Local = l.Node[:0], l.Local[:0]
	total := int64(0)
	for _, r := range room {
		total += int64(max(r, 0))
	}
	if nodes == 0 || total < int64(n) && !overcommit {
		return n == 0
	}
	switch d.Spread {
	case SpreadCyclic:
		l.rounds(n, room, 1)
	case SpreadPlane:
		l.rounds(n, room, max(d.Plane, 1))
	case SpreadArbitrary:
		l.block(n, room, false)
	default:
		l.block(n, room, true)
	}
	return true
}

// block fills node after node; one keeps a task back for each later node that
// has room.
func (l *Layout) block(n int32, room []int32, one bool) {
	left, later := n, int32(0)
	for _, r := range room {
		if one && r > 0 {
			later++
		}
	}
	for i := range room {
		if room[i] <= 0 {
			continue
		}
		if one {
			later--
		}
		take := min(room[i], max(left-later, 0))
		if one && take == 0 && left > 0 {
			take = 1
		}
		l.Tasks[i] = take
		left -= take
	}
	// Too many for the rooms: overcommitted tasks go round.
	for i := 0; left > 0; i = (i + 1) % len(room) {
		l.Tasks[i]++
		left--
	}
	for i, t := range l.Tasks {
		for k := range t {
			l.place(i, k)
		}
	}
}

// rounds gives every node up to per tasks a round.
func (l *Layout) rounds(n int32, room []int32, per int32) {
	for over := false; n > 0; {
		before := n
		for i := range room {
			take := per
			if !over {
				take = min(take, room[i]-l.Tasks[i])
			}
			for take = min(take, n); take > 0; take-- {
				l.place(i, l.Tasks[i])
				l.Tasks[i]++
				n--
			}
		}
		over = over || n == before
	}
}

func (l *Layout) place(node int, local int32) {
	l.Node = append(l.Node, int32(node))
	l.Local = append(l.Local, local)
}

// AppendRanks appends the global numbers of the tasks on node, ascending, as
// SLURM_GTIDS lists them.
func (l *Layout) AppendRanks(dst []int32, node int) []int32 {
	for rank, at := range l.Node {
		if int(at) == node {
			dst = append(dst, int32(rank))
		}
	}
	return dst
}
