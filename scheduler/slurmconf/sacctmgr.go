package slurmconf

import (
	"fmt"
	"io/fs"
	"strings"
)

// A Verb is what a sacctmgr command does.
type Verb uint8

// The verbs. Show stands for all commands that only print.
const (
	Show Verb = iota
	Add
	Modify
	Delete
)

var verbNames = [...]string{"show", "add", "modify", "delete"}

// String returns sacctmgr's word.
func (v Verb) String() string { return verbNames[v] }

// An Entity is what a sacctmgr command is about.
type Entity uint8

// The entities that concern scheduling.
const (
	OtherEntity Entity = iota
	ClusterEntity
	AccountEntity
	UserEntity
	QOSEntity
)

var entityNames = [...]string{"other", "cluster", "account", "user", "qos"}

// String returns sacctmgr's word.
func (e Entity) String() string { return entityNames[e] }

// A Command is one sacctmgr line, or one line of a sacctmgr dump, which is an
// Add.
type Command struct {
	Verb   Verb
	Entity Entity
	// Names are the objects; none means all that Where selects.
	Names []string
	// Where selects objects of Modify and Delete, Set gives values.
	Where, Set []Setting
	// At is the line.
	At Origin
}

// A Setting is one key=value of a command.
type Setting struct {
	// Key is sacctmgr's full name of the key, GrpTRES for example, however it
	// was spelt. The older keys that name one resource (GrpCPUs, MaxNodes)
	// have become the TRES list that they mean.
	Key string
	// Op is '=', '+' or '-' for =, += and -=.
	Op byte
	// Value is as written, without quotes.
	Value string
	// At is the line.
	At Origin
}

// accounts reads a file of sacctmgr commands or a dump; the two may be mixed.
func (rd *reader) accounts(name string) []Command {
	text, ok := rd.open(name, Origin{})
	if !ok {
		return nil
	}
	var out []Command
	d := dump{parent: "root"}
	n := 0
	for line := range strings.Lines(text) {
		n++
		at := Origin{name, n}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		var c Command
		var err error
		if isDump(line) {
			c, ok, err = d.line(line, at)
		} else {
			c, err = parseCommand(line, at)
			ok = err == nil
		}
		if err != nil {
			rd.errs = append(rd.errs, err)
		} else if ok {
			out = append(out, c)
		}
		if len(rd.errs) >= maxErrors {
			break
		}
	}
	return out
}

// ReadAccounts reads a file of sacctmgr commands or a sacctmgr dump.
func ReadAccounts(fsys fs.FS, name string) ([]Command, []Warning, error) {
	rd := &reader{fsys: fsys}
	out := rd.accounts(name)
	if err := rd.err(); err != nil {
		return nil, nil, err
	}
	return out, rd.warnings, nil
}

// ParseCommand reads one sacctmgr command line, with or without the word
// sacctmgr and its options in front.
func ParseCommand(line string) (Command, error) { return parseCommand(line, Origin{"sacctmgr", 1}) }

var verbs = map[string]Verb{
	"add": Add, "create": Add, "modify": Modify, "update": Modify, "delete": Delete, "remove": Delete,
	"show": Show, "list": Show, "dump": Show, "load": Show, "archive": Show, "reconfigure": Show, "version": Show, "ping": Show,
}

var entities = map[string]Entity{
	"account": AccountEntity, "accounts": AccountEntity, "user": UserEntity, "users": UserEntity, "qos": QOSEntity,
	"cluster": ClusterEntity, "clusters": ClusterEntity, "association": OtherEntity, "associations": OtherEntity,
	"coordinator": OtherEntity, "coordinators": OtherEntity, "coord": OtherEntity, "tres": OtherEntity, "resource": OtherEntity,
	"resources": OtherEntity, "federation": OtherEntity, "event": OtherEntity, "events": OtherEntity, "wckey": OtherEntity,
	"wckeys": OtherEntity, "job": OtherEntity, "jobs": OtherEntity, "problem": OtherEntity, "reservation": OtherEntity,
	"stats": OtherEntity, "transaction": OtherEntity, "transactions": OtherEntity, "runawayjobs": OtherEntity,
	"configuration": OtherEntity, "instance": OtherEntity,
}

func parseCommand(line string, at Origin) (Command, error) {
	c := Command{At: at}
	ws, err := splitWords(line)
	if err != nil {
		return c, &Error{at, line, err}
	}
	for len(ws) > 0 && (ws[0] == "sacctmgr" || strings.HasPrefix(ws[0], "-")) {
		ws = ws[1:]
	}
	if len(ws) == 0 {
		return c, &Error{at, line, fmt.Errorf("%w: a command is wanted", ErrSyntax)}
	}
	verb, ok := verbs[strings.ToLower(ws[0])]
	if !ok {
		return c, &Error{at, ws[0], fmt.Errorf("%w: no such command of sacctmgr", ErrSyntax)}
	}
	c.Verb = verb
	if verb == Show {
		return c, nil
	}
	if len(ws) < 2 {
		return c, &Error{at, ws[0], fmt.Errorf("%w: an entity is wanted", ErrSyntax)}
	}
	if c.Entity, ok = entities[strings.ToLower(ws[1])]; !ok {
		return c, &Error{at, ws[1], fmt.Errorf("%w: no such entity of sacctmgr", ErrSyntax)}
	}
	if c.Entity == OtherEntity {
		return c, nil
	}
	set := verb == Add
	for _, w := range ws[2:] {
		switch {
		case strings.EqualFold(w, "set"):
			set = true
			continue
		case strings.EqualFold(w, "where"):
			set = false
			continue
		}
		if err := c.word(w, set, at); err != nil {
			return c, &Error{at, w, err}
		}
	}
	if verb != Modify {
		return c, c.check(at, line)
	}
	if len(c.Set) == 0 {
		return c, &Error{at, line, fmt.Errorf("%w: nothing is set", ErrSyntax)}
	}
	return c, c.check(at, line)
}

func (c *Command) check(at Origin, line string) error {
	if c.Verb == Add && len(c.Names) == 0 {
		return &Error{at, line, fmt.Errorf("%w: a name is wanted", ErrSyntax)}
	}
	return nil
}

// word takes one word of a command: a list of names, or a setting.
func (c *Command) word(w string, set bool, at Origin) error {
	key, val, ok := strings.Cut(w, "=")
	if !ok {
		names, _ := parseList(w)
		c.Names = append(c.Names, names...)
		return nil
	}
	s := Setting{Op: '=', Value: val, At: at}
	if n := len(key) - 1; n > 0 && (key[n] == '+' || key[n] == '-') {
		key, s.Op = key[:n], key[n]
	}
	k, err := lookupKey(c.Entity, key)
	if err != nil {
		return err
	}
	if k.name == "Name" && (!set || c.Verb == Add) {
		names, _ := parseList(val)
		c.Names = append(c.Names, names...)
		return nil
	}
	s.Key = k.name
	if k.tres != "" && val != "" {
		s.Value = k.tres + "=" + val
	}
	if err := k.kind.check(s.Value); err != nil {
		return err
	}
	if s.Op != '=' && k.kind != kindList && k.kind != kindQOSFlags && k.kind != kindTRES {
		return fmt.Errorf("%w: %s is one value, += and -= are for lists", ErrSyntax, k.name)
	}
	if set {
		c.Set = append(c.Set, s)
	} else {
		c.Where = append(c.Where, s)
	}
	return nil
}

// splitWords cuts a line at blanks; double and single quotes hold blanks, and a
// # at the start of a word begins a comment.
func splitWords(line string) ([]string, error) {
	var out []string
	var b strings.Builder
	open, in := byte(0), false
	for i := range len(line) {
		ch := line[i]
		switch {
		case open != 0 && ch == open:
			open = 0
		case open != 0:
			b.WriteByte(ch)
		case ch == '"' || ch == '\'':
			open, in = ch, true
		case isBlank(ch) || ch == '\n':
			if in {
				out = append(out, b.String())
				b.Reset()
				in = false
			}
		case ch == '#' && !in:
			return out, nil
		default:
			b.WriteByte(ch)
			in = true
		}
	}
	if open != 0 {
		return nil, fmt.Errorf("%w: the quote is not closed", ErrSyntax)
	}
	if in {
		out = append(out, b.String())
	}
	return out, nil
}

// AppendCommand appends c as sacctmgr would read it. [ParseCommand] reads it
// back.
func AppendCommand(dst []byte, c Command) []byte {
	dst = append(dst, c.Verb.String()...)
	if c.Verb == Show {
		return dst
	}
	dst = append(append(dst, ' '), c.Entity.String()...)
	for _, n := range c.Names {
		dst = append(dst, ' ')
		if strings.Contains(n, "=") || strings.EqualFold(n, "set") || strings.EqualFold(n, "where") {
			dst = append(dst, "name="...) // it would read as something else
		}
		dst = appendQuoted(dst, n)
	}
	if len(c.Where) > 0 {
		dst = append(dst, " where"...)
		dst = appendSettings(dst, c.Where)
	}
	if len(c.Set) > 0 {
		dst = append(dst, " set"...)
		dst = appendSettings(dst, c.Set)
	}
	return dst
}

func appendSettings(dst []byte, list []Setting) []byte {
	for _, s := range list {
		dst = append(append(dst, ' '), s.Key...)
		if s.Op != '=' {
			dst = append(dst, s.Op)
		}
		dst = appendQuoted(append(dst, '='), s.Value)
	}
	return dst
}

// appendQuoted appends a word; a word with both kinds of quotes is written in
// pieces.
func appendQuoted(dst []byte, s string) []byte {
	if s != "" && !strings.ContainsAny(s, " \t\r\n\"'#") {
		return append(dst, s...)
	}
	for i, part := range strings.Split(s, `"`) {
		if i > 0 {
			dst = append(dst, `'"'`...)
		}
		dst = append(append(append(dst, '"'), part...), '"')
	}
	return dst
}
