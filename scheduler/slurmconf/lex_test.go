package slurmconf

import (
	"reflect"
	"testing"
)

// FuzzLine: the words of a line, written and read again, are the same.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"NodeName=n[1-3] CPUs = 4 Reason=\"a b\" # c", "A+=1 B-=2", "X=\\# Y=\"\"", "A=\\\nb C=d", "a\\=b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := lexer{file: "f", rest: text}
		for l.next() {
			ws, err := l.words(nil)
			if err != nil {
				continue
			}
			for i := range ws {
				ws[i].line = 1
			}
			out, ok := appendWords(nil, ws)
			if !ok {
				continue
			}
			m := lexer{file: "f", rest: string(out)}
			if !m.next() {
				t.Fatalf("%q was written as %q, which is empty", l.text, out)
			}
			again, err := m.words(nil)
			if err != nil || !reflect.DeepEqual(ws, again) {
				t.Fatalf("%q is %+v, written as %q it is %+v, %v", l.text, ws, out, again, err)
			}
		}
	})
}
