package trace

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// maxLine bounds a line; the widest sacct dump has some 2,000 bytes.
const maxLine = 1 << 20

// lines reads a text line by line and knows where it is.
type lines struct {
	file string
	r    *bufio.Reader
	line int
	buf  []byte
}

// next returns the next line without its end, io.EOF after the last one.
// Bytes that are not UTF-8 become U+FFFD.
func (l *lines) next() (string, error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		if len(l.buf) > maxLine {
			return "", &Error{File: l.file, Line: l.line + 1, Err: errors.New("line is longer than 1 MiB")}
		}
		switch {
		case err == nil:
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			if len(l.buf) == 0 {
				return "", io.EOF
			}
		default:
			return "", readErr(l.file, l.line+1, err)
		}
		break
	}
	l.line++
	b := bytes.TrimRight(l.buf, "\r\n")
	if l.line == 1 {
		b = bytes.TrimPrefix(b, []byte("\ufeff"))
	}
	return strings.ToValidUTF8(string(b), "\ufffd"), nil
}

// nextFull is next without blank lines.
func (l *lines) nextFull() (string, error) {
	for {
		s, err := l.next()
		if err != nil || strings.TrimSpace(s) != "" {
			return s, err
		}
	}
}

func (l *lines) errorf(token string, err error) error {
	return &Error{File: l.file, Line: l.line, Token: token, Err: err}
}
