package slurmconf

import (
	"reflect"
	"strings"
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

// FuzzNodeGres: a node's Gres list, written and read again, is the same.
func FuzzNodeGres(f *testing.F) {
	for _, s := range []string{"gpu:h100:8,shard:64", "gpu", "gpu:3g.40gb", "nic:no_consume:2", "gpu:a:no_consume:4K,x:1kb", "gpu:h100:8(S:0-1)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		items, err := parseNodeGres(text)
		if err != nil {
			return
		}
		var out []string
		for _, g := range items {
			out = append(out, g.text())
		}
		again, err := parseNodeGres(strings.Join(out, ","))
		if err != nil || !reflect.DeepEqual(items, again) {
			t.Fatalf("%q is %+v, written as %q it is %+v, %v", text, items, out, again, err)
		}
	})
}
