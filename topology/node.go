package topology

import (
	"errors"
	"fmt"
)

// A NodeID is the dense index of a node in the cluster's node order, which is
// the order of Slurm's node table: 0 is the first node. Wherever nodes tie, the
// lower NodeID is "the lowest node". NoNode is none.
type NodeID int32

// NoNode is the NodeID of no node.
const NoNode NodeID = -1

// Names is the table of a cluster's node names in node order. It is immutable
// after [NewNames]; the edge uses it to turn names into NodeIDs and back. The
// zero value is a cluster without nodes.
type Names struct {
	names []string
	ids   map[string]NodeID
}

// ErrDuplicateNode is returned by [NewNames] for a name given twice.
var ErrDuplicateNode = errors.New("duplicate node name")

// ErrUnknownNode is returned where a text names a node that is not in the table.
var ErrUnknownNode = errors.New("unknown node")

// NewNames makes the table of names, which are in node order, and keeps a copy.
// A duplicate or an empty name is an error.
func NewNames(names []string) (*Names, error) {
	for i, s := range names {
		if s == "" {
			return nil, fmt.Errorf("topology: name node %d: empty name", i)
		}
	}
	return NewPlaces(names)
}

// NewPlaces is [NewNames] for a cluster that nodes join while it runs: an empty
// name is a place where no node is yet.
func NewPlaces(names []string) (*Names, error) {
	t := &Names{names: append([]string(nil), names...), ids: make(map[string]NodeID, len(names))}
	for i, s := range t.names {
		if s == "" {
			continue
		}
		if _, ok := t.ids[s]; ok {
			return nil, fmt.Errorf("topology: name node %q: %w", s, ErrDuplicateNode)
		}
		t.ids[s] = NodeID(i)
	}
	return t, nil
}

// Len returns the number of nodes.
func (t *Names) Len() int { return len(t.names) }

// Name returns the name of node id. It panics if id is outside the table.
func (t *Names) Name(id NodeID) string { return t.names[id] }

// ID returns the node called name.
func (t *Names) ID(name string) (NodeID, bool) {
	id, ok := t.ids[name]
	return id, ok
}

// AppendIDs appends to dst the nodes of the hostlist text in the order of the
// text, duplicates included. Unknown names are an error that wraps
// ErrUnknownNode; dst is then returned as it came.
func (t *Names) AppendIDs(dst []NodeID, text string) ([]NodeID, error) {
	p := hostParser{text: text}
	n := len(dst)
	guess := NodeID(0)
	for p.more() {
		if err := p.next(); err != nil {
			return dst[:n], err
		}
		at := 0
		for _, end := range p.ends {
			name := p.buf[at:end]
			at = end
			// Names mostly come in node order: look at the next node first.
			if int(guess) >= len(t.names) || t.names[guess] != string(name) {
				id, ok := t.ids[string(name)]
				if !ok {
					return dst[:n], fmt.Errorf("topology: find node %q: %w", name, ErrUnknownNode)
				}
				guess = id
			}
			dst = append(dst, guess)
			guess++
		}
		p.buf, p.ends = p.buf[:0], p.ends[:0]
	}
	return dst, nil
}

// AppendSet appends to dst the hostlist of the nodes of s, folded, in node
// order: "n[0-3,7]".
func (t *Names) AppendSet(dst []byte, s *NodeSet) []byte {
	var f folder
	f.dst = dst
	for id := range s.All() {
		f.add(t.names[id])
	}
	return f.end()
}

// AppendNodes appends to dst the hostlist of ids, folded, in the order given.
func (t *Names) AppendNodes(dst []byte, ids []NodeID) []byte {
	var f folder
	f.dst = dst
	for _, id := range ids {
		f.add(t.names[id])
	}
	return f.end()
}
