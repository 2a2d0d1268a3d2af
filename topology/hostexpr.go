package topology

import "strings"

// AppendHostExpr appends to dst the nodes of a host expression: a hostlist whose
// items may call functions. block{u}, switch{u}, ring{u} and torus{u} are the
// nodes of unit u of the default topology, whatever its type; blockwith{n},
// switchwith{n}, ringwith{n} and toruswith{n} the nodes of the base block, leaf
// switch, ring or torus of node n, and n alone if it is in none; feature{f} the
// nodes with feature f, none if nobody has it. Brackets inside braces expand
// first, and text after the brace is ignored.
//
// Nodes come in the order of the text, those of a function ascending; duplicates
// stay. features returns the nodes with a feature, nil if there is none. Errors
// are of type *[ParseError] with the offset of the item; dst is then returned as
// it came.
//
// Source: spec/topology.md 1.8.
func (ts *Topologies) AppendHostExpr(dst []NodeID, text string, features func(string) *NodeSet) ([]NodeID, error) {
	p := hostParser{text: text}
	n := len(dst)
	var names []string
	for p.more() {
		start := p.at
		if err := p.next(); err != nil {
			return dst[:n], err
		}
		names = p.appendNames(names[:0])
		for _, s := range names {
			var err error
			if dst, err = ts.appendTerm(dst, s, features); err != nil {
				return dst[:n], &ParseError{Text: text, Offset: start, Err: err}
			}
		}
	}
	return dst, nil
}

// appendTerm appends the nodes of one item.
func (ts *Topologies) appendTerm(dst []NodeID, s string, features func(string) *NodeSet) ([]NodeID, error) {
	fn, rest, call := strings.Cut(s, "{")
	if !call {
		id, ok := ts.names.ID(s)
		if !ok {
			return dst, ErrUnknownNode
		}
		return append(dst, id), nil
	}
	arg, _, closed := strings.Cut(rest, "}")
	if !closed {
		return dst, ErrUnclosed
	}
	t := ts.all[0]
	switch fn {
	case "block", "switch", "ring", "torus":
		u, ok := t.FindUnit(arg)
		if !ok {
			return dst, ErrUnknownUnit
		}
		return t.AppendUnit(dst, u), nil
	case "blockwith", "switchwith", "ringwith", "toruswith":
		id, ok := ts.names.ID(arg)
		if !ok {
			return dst, ErrUnknownNode
		}
		if u := t.UnitOf(id); u != NoUnit {
			return t.AppendUnit(dst, u), nil
		}
		return append(dst, id), nil
	case "feature":
		if features == nil {
			return dst, nil
		}
		if set := features(arg); set != nil {
			dst = set.AppendIDs(dst)
		}
		return dst, nil
	}
	return dst, ErrUnknownFunction
}

// AppendUnit appends the nodes of unit u to dst, ascending. It panics if u is no
// unit of t.
func (t *Topology) AppendUnit(dst []NodeID, u UnitID) []NodeID {
	var set NodeSet
	set.Init(t.nodes)
	t.AddUnit(&set, u)
	return set.AppendIDs(dst)
}
