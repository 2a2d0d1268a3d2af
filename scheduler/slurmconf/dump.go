package slurmconf

import (
	"fmt"
	"strings"
)

// A dump reads the lines of a sacctmgr dump:
//
//	Cluster - 'name':Fairshare=1:QOS='normal'
//	Parent - 'root'
//	Account - 'physics':GrpTRES=node=10,mem=200000
//	User - 'ann':DefaultAccount='physics'
//
// A Parent line holds for the Account and User lines after it.
type dump struct{ parent string }

// dumpEntities are the first words of a dump line.
var dumpEntities = map[string]Entity{"cluster": ClusterEntity, "account": AccountEntity, "user": UserEntity, "qos": QOSEntity}

func isDump(line string) bool {
	w, rest, ok := strings.Cut(line, " ")
	_, entity := dumpEntities[strings.ToLower(w)]
	return ok && (entity || strings.EqualFold(w, "parent")) && strings.HasPrefix(strings.TrimLeft(rest, " "), "-")
}

// line reads one line. A Parent line makes no command.
func (d *dump) line(line string, at Origin) (c Command, made bool, err error) {
	w, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(strings.TrimLeft(rest, " ")[1:])
	fields, err := splitFields(rest)
	if err != nil {
		return c, false, &Error{at, rest, err}
	}
	if len(fields) == 0 || fields[0] == "" {
		return c, false, &Error{at, line, fmt.Errorf("%w: a name is wanted", ErrSyntax)}
	}
	if strings.EqualFold(w, "parent") {
		d.parent = fields[0]
		return c, false, nil
	}
	c = Command{Verb: Add, Entity: dumpEntities[strings.ToLower(w)], Names: []string{fields[0]}, At: at}
	for _, f := range glueTypes(c.Entity, fields[1:]) {
		if f == "" {
			continue
		}
		if !strings.Contains(f, "=") {
			return c, false, &Error{at, f, fmt.Errorf("%w: a key=value pair is wanted", ErrSyntax)}
		}
		if err := c.word(f, true, at); err != nil {
			return c, false, &Error{at, f, err}
		}
	}
	switch c.Entity {
	case AccountEntity:
		c.Set = append(c.Set, Setting{"Parent", '=', d.parent, at})
	case UserEntity:
		c.Set = append(c.Set, Setting{"Account", '=', d.parent, at})
	}
	return c, true, nil
}

// glueTypes joins what a colon inside a TRES list cut apart: the type in
// GrpTRES=gres/gpu:a100=4 is no key.
func glueTypes(e Entity, fields []string) []string {
	var out []string
	for _, f := range fields {
		key, _, _ := strings.Cut(f, "=")
		if n := len(out) - 1; n >= 0 && strings.Contains(out[n], "gres/") {
			if _, err := lookupKey(e, key); err != nil {
				out[n] += ":" + f
				continue
			}
		}
		out = append(out, f)
	}
	return out
}

// splitFields cuts at colons outside quotes and drops the quotes.
func splitFields(s string) ([]string, error) {
	var out []string
	var b strings.Builder
	open := byte(0)
	for i := range len(s) {
		switch ch := s[i]; {
		case open != 0 && ch == open:
			open = 0
		case open != 0:
			b.WriteByte(ch)
		case ch == '\'' || ch == '"':
			open = ch
		case ch == ':':
			out = append(out, b.String())
			b.Reset()
		default:
			b.WriteByte(ch)
		}
	}
	if open != 0 {
		return nil, fmt.Errorf("%w: the quote is not closed", ErrSyntax)
	}
	return append(out, b.String()), nil
}
