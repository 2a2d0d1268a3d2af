package sbatch

import (
	"fmt"
	"strings"
)

// script reads the #SBATCH lines of a batch script: those before the first
// line that is neither empty nor a comment. "#SBATCH hetjob" (and the older
// packjob) begins the next component. The result has one entry at least.
func (p *parser) script(text string) ([][]Given, error) {
	comps := [][]Given{nil}
	line := 0
	for s := range strings.Lines(text) {
		line++
		s = strings.TrimRight(s, "\r\n")
		rest, ok := directive(s)
		if !ok {
			if t := strings.TrimSpace(s); t != "" && t[0] != '#' {
				break
			}
			continue
		}
		at := Origin{FromScript, line}
		words, err := directiveWords(rest)
		if err != nil {
			return nil, &Error{at, strings.TrimSpace(s), err}
		}
		if len(words) == 1 && (words[0] == "hetjob" || words[0] == "packjob") {
			comps = append(comps, nil)
			continue
		}
		given, left, err := p.args(words, FromScript, 0)
		if err != nil {
			if e, ok := err.(*Error); ok {
				e.Origin = at
			}
			return nil, err
		}
		if len(left) > 0 || len(given) > 1 {
			return nil, &Error{at, strings.TrimSpace(s), fmt.Errorf("%w: only options are possible here", ErrDirective)}
		}
		for _, g := range given[0] {
			g.At = at
			comps[len(comps)-1] = append(comps[len(comps)-1], g)
		}
	}
	return comps, nil
}

// directive returns what follows #SBATCH. The word must begin the line and be
// followed by a blank.
func directive(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "#SBATCH")
	if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", false
	}
	return rest, true
}

// directiveWords cuts a directive as the command does: blanks separate, single
// and double quotes hold blanks, a backslash takes the next byte as it is, and a
// # outside quotes at the beginning of a word starts a comment.
func directiveWords(s string) ([]string, error) {
	var out []string
	var b strings.Builder
	in, open := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case open != 0 && c == open:
			open = 0
		case c == '\\' && open != '\'' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
			in = true
		case open != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			open, in = c, true
		case c == ' ' || c == '\t':
			if in {
				out = append(out, b.String())
				b.Reset()
				in = false
			}
		case c == '#' && !in:
			return out, nil
		default:
			b.WriteByte(c)
			in = true
		}
	}
	if open != 0 {
		return nil, fmt.Errorf("%w: the quote is not closed", ErrDirective)
	}
	if in {
		out = append(out, b.String())
	}
	return out, nil
}
