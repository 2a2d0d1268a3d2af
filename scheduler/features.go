package scheduler

import (
	"fmt"

	"github.com/berth-sched/berth/topology"
)

// A featureWish is what an expression of -C or --prefer asks of nodes (spec:
// cores 8).
type featureWish struct {
	// nodes may be used, in one way or another.
	nodes topology.NodeSet
	// alts are the alternatives of brackets, in order: all nodes of a job meet
	// one of them.
	alts []featureSet
	// terms are counts: so many nodes with each feature.
	terms []featureSet
	// picks is the sum of the counts.
	picks int32
}

// A featureSet is an alternative or a term with its count.
type featureSet struct {
	text  string
	nodes topology.NodeSet
	// better are those of nodes that Slurm takes first in parentheses: the ones
	// with the feature named last; nil if it makes no difference.
	better *topology.NodeSet
	count  int32
}

// plain reports whether the wish is a filter on nodes and no more.
func (w *featureWish) plain() bool { return len(w.alts) == 0 && len(w.terms) == 0 }

// A featureTerm is an operand of an expression: a name, parentheses, or brackets.
type featureTerm struct {
	op      byte // joins it to what stands left of it; 0 for the first
	text    string
	nodes   *topology.NodeSet
	last    *topology.NodeSet // of parentheses joined by |: nodes with the feature named last
	count   int32             // 0 without
	bracket []featureTerm
}

// A featureParser reads an expression, strictly from left to right (spec: cores
// 8.1). A trailing operator is ignored.
type featureParser struct {
	e       *engine
	text    string
	pos     int
	ignore  bool // names that no node has are no error
	bracket bool // one pair has been seen
}

// featureWish reads an expression of features. ignore accepts names that no node
// has.
func (e *engine) featureWish(text string, ignore bool) (*featureWish, error) {
	p := featureParser{e: e, text: text, ignore: ignore}
	terms, err := p.expr(0)
	if err == nil && p.pos < len(text) {
		err = ErrFeature
	}
	for i := range terms {
		if t := &terms[i]; err == nil && t.count > 0 && (len(terms) > 1 || t.last != nil || t.text[0] == '(') {
			err = ErrFeature
		}
	}
	if err != nil {
		return nil, fmt.Errorf("scheduler: parse features %q at %d: %w", text, p.pos, err)
	}
	return e.wishOf(terms), nil
}

// wishOf evaluates terms: brackets stand in turn for each of what they hold.
func (e *engine) wishOf(terms []featureTerm) *featureWish {
	w := new(featureWish)
	w.nodes.Init(len(e.nodes))
	if len(terms) == 1 && terms[0].count > 0 {
		t := &terms[0]
		w.terms = []featureSet{{text: t.text, nodes: *t.nodes.Clone(), count: t.count}}
		w.picks = t.count
		w.nodes.AddAll() // the nodes beyond the count may be any
		return w
	}
	var inner []featureTerm
	for i := range terms {
		if terms[i].bracket != nil {
			inner = terms[i].bracket
		}
	}
	if inner == nil {
		e.combine(&w.nodes, terms, nil)
		return w
	}
	for i := range inner {
		t := &inner[i]
		s := featureSet{text: t.text, better: t.last, count: t.count}
		s.nodes.Init(len(e.nodes))
		e.combine(&s.nodes, terms, t.nodes)
		w.nodes.Or(&s.nodes)
		w.picks += t.count
		if t.count > 0 {
			w.terms = append(w.terms, s)
		} else if len(inner) > 1 {
			w.alts = append(w.alts, s)
		}
	}
	return w
}

// combine evaluates terms as set algebra; brackets are the set that is given.
func (e *engine) combine(dst *topology.NodeSet, terms []featureTerm, bracket *topology.NodeSet) {
	for i := range terms {
		set := terms[i].nodes
		if set == nil {
			set = bracket
		}
		switch terms[i].op {
		case 0:
			dst.Copy(set)
		case '|':
			dst.Or(set)
		default:
			dst.And(set)
		}
	}
}

// expr reads terms up to the end or to what cannot belong to them.
func (p *featureParser) expr(inside byte) ([]featureTerm, error) {
	var terms []featureTerm
	op := byte(0)
	for {
		t, err := p.item(inside)
		if err != nil {
			return nil, err
		}
		t.op = op
		terms = append(terms, t)
		switch c := p.peek(); c {
		case '&', '|', ',':
			p.pos++
			if op = c; c == ',' {
				op = '&'
			}
			if p.pos == len(p.text) && inside == 0 {
				return terms, nil
			}
		default:
			return terms, nil
		}
	}
}

func (p *featureParser) peek() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

// item reads one operand with its count.
func (p *featureParser) item(inside byte) (t featureTerm, err error) {
	from := p.pos
	switch {
	case p.peek() == '[':
		if p.bracket || inside != 0 {
			return t, ErrFeature
		}
		p.bracket = true
		if t.bracket, err = p.group('[', ']'); err == nil {
			err = countsAgree(t.bracket)
		}
		t.text = p.text[from:p.pos]
		return t, err
	case p.peek() == '(':
		if inside == '(' {
			return t, ErrFeature
		}
		group, err := p.group('(', ')')
		if err != nil {
			return t, err
		}
		t.nodes = new(topology.NodeSet)
		t.nodes.Init(len(p.e.nodes))
		p.e.combine(t.nodes, group, nil)
		if n := len(group) - 1; group[n].op == '|' {
			t.last = group[n].nodes
		}
	default:
		for p.pos < len(p.text) && featureByte(p.text[p.pos]) {
			p.pos++
		}
		if p.pos == from {
			return t, ErrFeature
		}
		if t.nodes, err = p.named(p.text[from:p.pos]); err != nil {
			return t, err
		}
	}
	t.text = p.text[from:p.pos]
	if p.peek() == '*' {
		if inside == '(' {
			return t, ErrFeature
		}
		p.pos++
		if t.count, err = p.number(); err != nil {
			return t, err
		}
		t.text = p.text[from:p.pos]
	}
	return t, nil
}

// group reads an expression in parentheses or brackets.
func (p *featureParser) group(left, right byte) ([]featureTerm, error) {
	p.pos++
	terms, err := p.expr(left)
	if err == nil && p.peek() != right {
		err = ErrFeature
	}
	if err == nil {
		p.pos++
	}
	return terms, err
}

// named returns the nodes of a feature.
func (p *featureParser) named(name string) (*topology.NodeSet, error) {
	if set := p.e.features[name]; set != nil {
		return set, nil
	}
	if !p.ignore && !p.e.reading {
		return nil, ErrFeature
	}
	set := new(topology.NodeSet)
	set.Init(len(p.e.nodes))
	return set, nil
}

// number reads a count of nodes from 1.
func (p *featureParser) number() (int32, error) {
	n := int32(0)
	for ; p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9'; p.pos++ {
		if n = 10*n + int32(p.text[p.pos]-'0'); n > 1<<24 {
			return 0, ErrFeature
		}
	}
	if n == 0 {
		return 0, ErrFeature
	}
	return n, nil
}

// countsAgree tests the terms of brackets: all joined by & and counted, or all
// joined by | and not.
func countsAgree(terms []featureTerm) error {
	for i := range terms {
		op := terms[i].op
		if i == 0 && len(terms) > 1 {
			op = terms[1].op
		}
		if op == '&' && terms[i].count == 0 || op == '|' && terms[i].count > 0 {
			return ErrFeature
		}
	}
	return nil
}

func featureByte(c byte) bool {
	switch c {
	case '&', '|', ',', '(', ')', '[', ']', '*', '!', ' ', '\t', '\r', '\n':
		return false
	}
	return true
}

// buildFeatures lists the nodes of each feature.
func (e *engine) buildFeatures() {
	e.features = make(map[string]*topology.NodeSet)
	for i := range e.there.All() {
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
			set.Add(i)
		}
	}
}
