package sbatch

import (
	"slices"
	"strconv"
	"strings"
)

// Features is an expression of --constraint or --prefer: its terms strictly
// from left to right, without precedence.
type Features struct{ Terms []FeatureTerm }

// A FeatureTerm is a feature or a group of terms.
type FeatureTerm struct {
	// Op joins the term to what stands on its left: '&' or '|', 0 for the
	// first.
	Op byte
	// Name is the feature, if the term is no group.
	Name string
	// Group are the terms in parentheses or brackets.
	Group []FeatureTerm
	// Bracket says that Group stood in brackets: one alternative for all
	// nodes if its terms are joined by |, counts of nodes if by &.
	Bracket bool
	// Count is the number of nodes after a *; 0 if none was written.
	Count int32
}

// ParseFeatures reads the expression of -C: names joined by & and | (a comma is
// an &), in parentheses or brackets, with counts. Whether any node has a
// feature is not asked. Errors are [*GrammarError].
//
//	expr := item { op item }     op := "&" | "|" | ","
//	item := name [ "*" count ] | "(" expr ")" [ "*" count ] | "[" expr "]"
//
// Source: spec/cores.md 8.1, with all rules of its table.
func ParseFeatures(text string) (Features, error) {
	p := featureParser{scanner: scanner{grammar: "constraint", text: text, end: len(text)}}
	terms, err := p.expr(0)
	if err != nil {
		return Features{}, err
	}
	if p.at != p.end {
		return Features{}, p.fail(p.at, "an operator is wanted")
	}
	for _, t := range terms {
		if t.Count > 0 && (len(terms) > 1 || t.Group != nil) {
			return Features{}, p.fail(0, "a count outside brackets is for a single feature alone")
		}
	}
	return Features{terms}, nil
}

type featureParser struct {
	scanner
	bracket bool // one pair has been seen
}

// expr reads terms up to the closing byte, or to the end for close 0.
func (p *featureParser) expr(closing byte) ([]FeatureTerm, error) {
	var terms []FeatureTerm
	op := byte(0)
	for {
		t, err := p.item(closing)
		if err != nil {
			return nil, err
		}
		t.Op = op
		terms = append(terms, t)
		switch c := p.peek(); c {
		case '&', '|', ',':
			p.at++
			if op = c; c == ',' {
				op = '&'
			}
			if p.at == p.end && closing == 0 {
				return terms, nil // a trailing operator is ignored
			}
		default:
			return terms, nil
		}
	}
}

func (p *featureParser) item(inside byte) (FeatureTerm, error) {
	start := p.at
	var t FeatureTerm
	var err error
	switch {
	case p.peek() == '[':
		if p.bracket || inside != 0 {
			return t, p.fail(start, "one pair of brackets is possible, outside parentheses")
		}
		p.at++
		p.bracket, t.Bracket = true, true
		if t.Group, err = p.expr(']'); err != nil {
			return t, err
		}
		if !p.take(']') {
			return t, p.fail(p.at, "the bracket is not closed")
		}
		return t, p.counts(t.Group, start)
	case p.peek() == '(':
		if inside == ')' {
			return t, p.fail(start, "parentheses cannot be nested")
		}
		p.at++
		if t.Group, err = p.expr(')'); err != nil {
			return t, err
		}
		if !p.take(')') {
			return t, p.fail(p.at, "the parenthesis is not closed")
		}
	default:
		t.Name = p.until("&|,*()[]! \t\r\n")
		if t.Name == "" {
			return t, p.fail(start, "a feature is wanted")
		}
	}
	if p.take('*') {
		if inside == ')' {
			return t, p.fail(p.at-1, "no counts inside parentheses")
		}
		if t.Count, err = p.number(1<<24, "a number of nodes"); err != nil {
			return t, err
		}
		if t.Count == 0 {
			return t, p.fail(p.at-1, "a count of 0")
		}
	}
	return t, nil
}

// counts tests the terms of brackets: all joined by & and counted, or all
// joined by | and not.
func (p *featureParser) counts(terms []FeatureTerm, at int) error {
	for i, t := range terms {
		op := t.Op
		if i == 0 && len(terms) > 1 {
			op = terms[1].Op
		}
		if op == '&' && t.Count == 0 {
			return p.fail(at, "in brackets & needs a count on each term")
		}
		if op == '|' && t.Count > 0 {
			return p.fail(at, "in brackets | forbids counts")
		}
	}
	return nil
}

// AppendFeatures appends f in sbatch's grammar. [ParseFeatures] reads it back.
func AppendFeatures(dst []byte, f Features) []byte { return appendTerms(dst, f.Terms) }

func appendTerms(dst []byte, terms []FeatureTerm) []byte {
	for _, t := range terms {
		if t.Op != 0 {
			dst = append(dst, t.Op)
		}
		switch {
		case t.Bracket:
			dst = append(appendTerms(append(dst, '['), t.Group), ']')
		case t.Group != nil:
			dst = append(appendTerms(append(dst, '('), t.Group), ')')
		default:
			dst = append(dst, t.Name...)
		}
		if t.Count > 0 {
			dst = strconv.AppendInt(append(dst, '*'), int64(t.Count), 10)
		}
	}
	return dst
}

// Names returns the features that f names, in order of their first place.
func (f Features) Names() []string {
	var out []string
	var walk func([]FeatureTerm)
	walk = func(terms []FeatureTerm) {
		for _, t := range terms {
			if t.Group != nil {
				walk(t.Group)
			} else if !slices.Contains(out, t.Name) {
				out = append(out, t.Name)
			}
		}
	}
	walk(f.Terms)
	return out
}

// scanGRES calls do for the items of a --gres, --gpus… or --tres-per-task list
// with name, type and count text. prefix is the name that items without one
// have ("gpu" for --gpus).
func scanGRES(text, prefix string, do func(name, typ, count string)) {
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" || strings.EqualFold(item, "none") {
			continue
		}
		rest := item
		for _, p := range []string{"gres/", "gres:"} {
			if len(rest) > len(p) && strings.EqualFold(rest[:len(p)], p) {
				rest = rest[len(p):]
			}
		}
		if prefix != "" {
			rest = prefix + ":" + rest
		}
		rest = strings.ReplaceAll(rest, "=", ":")
		f := strings.Split(rest, ":")
		count := "1"
		if n := len(f) - 1; n > 0 && f[n] != "" && f[n][0] >= '0' && f[n][0] <= '9' {
			count, f = f[n], f[:n]
		}
		do(f[0], strings.Join(f[1:], ":"), count)
	}
}
