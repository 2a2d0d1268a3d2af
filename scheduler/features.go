package scheduler

import (
	"fmt"

	"github.com/berth-sched/berth/topology"
)

// A featureParser evaluates an expression of -C as set algebra over nodes: names,
// "&" (or ","), "|" from left to right without precedence, and parentheses that
// are not nested (spec: cores 8.1, 8.2). A trailing operator is ignored.
type featureParser struct {
	e    *engine
	text string
	pos  int
}

// featureNodes stores in dst the nodes that meet the expression.
func (e *engine) featureNodes(dst *topology.NodeSet, text string) error {
	p := featureParser{e: e, text: text}
	if err := p.expr(dst, false); err != nil {
		return fmt.Errorf("scheduler: parse features %q at %d: %w", text, p.pos, err)
	}
	return nil
}

// expr evaluates up to the end, or up to the closing parenthesis.
func (p *featureParser) expr(dst *topology.NodeSet, inner bool) error {
	var term topology.NodeSet
	term.Init(len(p.e.nodes))
	op, first := byte('&'), true
	for {
		if p.pos == len(p.text) || inner && p.text[p.pos] == ')' {
			if first || inner && p.pos == len(p.text) {
				return ErrFeature
			}
			return nil
		}
		if err := p.item(&term, inner); err != nil {
			return err
		}
		switch {
		case first:
			dst.Copy(&term)
		case op == '|':
			dst.Or(&term)
		default:
			dst.And(&term)
		}
		first = false
		if p.pos == len(p.text) || inner && p.text[p.pos] == ')' {
			return nil
		}
		op = p.text[p.pos]
		if op != '&' && op != '|' && op != ',' {
			return ErrFeature
		}
		p.pos++
	}
}

func (p *featureParser) item(dst *topology.NodeSet, inner bool) error {
	switch c := p.text[p.pos]; {
	case c == '(':
		if inner {
			return ErrFeature
		}
		p.pos++
		if err := p.expr(dst, true); err != nil {
			return err
		}
		p.pos++
		return nil
	case c == '[':
		return fmt.Errorf("alternatives and counts: %w", ErrUnsupported)
	}
	from := p.pos
	for p.pos < len(p.text) && featureByte(p.text[p.pos]) {
		p.pos++
	}
	if p.pos < len(p.text) && p.text[p.pos] == '*' {
		return fmt.Errorf("counts: %w", ErrUnsupported)
	}
	set := p.e.features[p.text[from:p.pos]]
	if set == nil {
		return ErrFeature
	}
	dst.Copy(set)
	return nil
}

func featureByte(c byte) bool {
	switch c {
	case '&', '|', ',', '(', ')', '[', ']', '*', ' ':
		return false
	}
	return true
}

// buildFeatures lists the nodes of each feature.
func (e *engine) buildFeatures() {
	e.features = make(map[string]*topology.NodeSet)
	for i := range e.nodes {
		spec := &e.cfg.Nodes[e.nodes[i].spec]
		list := spec.Features
		if spec.ActiveFeatures != nil {
			list = spec.ActiveFeatures
		}
		for _, f := range list {
			set := e.features[f]
			if set == nil {
				set = new(topology.NodeSet)
				set.Init(len(e.nodes))
				e.features[f] = set
			}
			set.Add(topology.NodeID(i))
		}
	}
}
