package slurmconf

import (
	"fmt"
	"strings"
)

// A word is one key=value pair of a logical line.
type word struct {
	key  string // as written, without the operator
	op   byte   // '=', '+' (written +=) or '-' (written -=)
	val  string // without the quotes
	line int    // physical line on which the key stands
}

// text returns the word as an error message shows it.
func (w word) text() string {
	if w.op == '=' {
		return w.key + "=" + w.val
	}
	return w.key + string(w.op) + "=" + w.val
}

// A lexer cuts a configuration file into logical lines of words. Slurm's rules:
// a # that no backslash precedes starts a comment, whatever quotes are open; a
// backslash at the end of what is left joins the next line; a key, an equals
// sign and a value may have blanks between them; a value in double quotes may
// hold blanks.
type lexer struct {
	file string
	rest string  // text not yet read
	line int     // number of the last physical line read
	text string  // the logical line
	at   []piece // where the physical lines begin in text
}

// A piece is one physical line inside a logical one.
type piece struct{ offset, line int }

// next reads the next logical line that is not empty into l.text. It reports
// false at the end of the file.
func (l *lexer) next() bool {
	for l.rest != "" {
		part, more := l.physical()
		l.at = append(l.at[:0], piece{0, l.line})
		if more {
			var b strings.Builder
			b.WriteString(part)
			for more && l.rest != "" {
				part, more = l.physical()
				l.at = append(l.at, piece{b.Len(), l.line})
				b.WriteString(part)
			}
			part = b.String()
		}
		if strings.TrimSpace(part) != "" {
			l.text = part
			return true
		}
	}
	return false
}

// physical takes one line of the text, without its comment, and reports whether
// it ends in a continuation, which is cut off too.
func (l *lexer) physical() (string, bool) {
	s, rest, _ := strings.Cut(l.rest, "\n")
	l.rest = rest
	l.line++
	for i := 0; ; {
		k := strings.IndexByte(s[i:], '#')
		if k < 0 {
			break
		}
		if i += k; i == 0 || s[i-1] != '\\' {
			s = s[:i]
			break
		}
		i++
	}
	t := strings.TrimRight(s, " \t\r")
	if strings.HasSuffix(t, `\`) {
		return t[:len(t)-1], true
	}
	return t, false
}

// lineAt returns the physical line of an offset into l.text.
func (l *lexer) lineAt(offset int) int {
	n := l.at[0].line
	for _, p := range l.at {
		if p.offset > offset {
			break
		}
		n = p.line
	}
	return n
}

// include returns the argument of an include line.
func (l *lexer) include() (string, bool) {
	s := strings.TrimLeft(l.text, " \t")
	if len(s) > 8 && strings.EqualFold(s[:7], "include") && (s[7] == ' ' || s[7] == '\t') {
		return strings.TrimSpace(s[8:]), true
	}
	return "", false
}

// words appends the words of the logical line to dst.
func (l *lexer) words(dst []word) ([]word, error) {
	s := l.text
	for i := skipBlank(s, 0); i < len(s); i = skipBlank(s, i) {
		start := i
		for i < len(s) && s[i] != '=' && !isBlank(s[i]) {
			i++
		}
		w := word{key: s[start:i], op: '=', line: l.lineAt(start)}
		i = skipBlank(s, i)
		if i == len(s) || s[i] != '=' || w.key == "" {
			return dst, l.syntax(w.line, s[start:max(i, start+1)], "a key=value pair is wanted")
		}
		i = skipBlank(s, i+1)
		if n := len(w.key) - 1; n > 0 && (w.key[n] == '+' || w.key[n] == '-') {
			w.key, w.op = w.key[:n], w.key[n]
		}
		if i < len(s) && s[i] == '"' {
			end := strings.IndexByte(s[i+1:], '"')
			if end < 0 {
				return dst, l.syntax(w.line, s[start:], "the quote is not closed")
			}
			w.val = s[i+1 : i+1+end]
			i += end + 2
		} else {
			from := i
			for i < len(s) && !isBlank(s[i]) {
				i++
			}
			w.val = s[from:i]
		}
		if strings.Contains(w.val, `\#`) {
			w.val = strings.ReplaceAll(w.val, `\#`, "#")
		}
		dst = append(dst, w)
	}
	return dst, nil
}

func (l *lexer) syntax(line int, token, why string) error {
	return &Error{Origin{l.file, line}, strings.TrimSpace(token), fmt.Errorf("%w: %s", ErrSyntax, why)}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func skipBlank(s string, i int) int {
	for i < len(s) && isBlank(s[i]) {
		i++
	}
	return i
}

// appendWords appends words as a line that the lexer reads back. It reports
// false if a value cannot be written: the format has no way to hold a double
// quote inside blanks, or a line break.
func appendWords(dst []byte, ws []word) ([]byte, bool) {
	for i, w := range ws {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, w.key...)
		if w.op != '=' {
			dst = append(dst, w.op)
		}
		dst = append(dst, '=')
		v := strings.ReplaceAll(w.val, "#", `\#`)
		quote := v == "" || v[0] == '"' || strings.ContainsAny(v, " \t\r")
		if strings.Contains(v, "\n") || strings.HasSuffix(v, `\`) && !quote || quote && strings.Contains(v, `"`) {
			return dst, false
		}
		if quote {
			dst = append(append(append(dst, '"'), v...), '"')
		} else {
			dst = append(dst, v...)
		}
	}
	return dst, true
}
