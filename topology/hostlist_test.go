package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestHostlistExpands(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" ,\t\n,", ""},
		{"n1", "n1"},
		{"n[008-11]", "n008 n009 n010 n011"},
		{"n[9-11]", "n9 n10 n11"},
		{"n[09-11]", "n09 n10 n11"},
		{"n1-3", "n1-3"},
		{"a]b", "a]b"},
		{"n[1-2]-ib", "n1-ib n2-ib"},
		{"[1-3]", "1 2 3"},
		{"n[1,3,1]", "n1 n3 n1"},
		{"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
		{"a[1-2]b[3-4]c[5-6]", "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6"},
		{"n[1,3]x[2]y,login b[0-1]", "n1x2y n3x2y login b0 b1"},
		{"x[08-10,2]", "x08 x09 x10 x2"},
	} {
		got, err := ParseHostlist(c.text)
		if err != nil {
			t.Errorf("ParseHostlist(%q): %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("ParseHostlist(%q) mismatch (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestHostlistRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		err  error
	}{
		{"n[11-9]", 2, ErrOrder},
		{"n[-1]", 2, ErrSyntax},
		{"n[]", 2, ErrSyntax},
		{"n[a]", 2, ErrSyntax},
		{"n[0x1]", 3, ErrSyntax},
		{"n[1-4:2]", 5, ErrSyntax},
		{"n[1-]", 4, ErrSyntax},
		{"n[1,]", 4, ErrSyntax},
		{"n[1", 1, ErrUnclosed},
		{"n[1-", 1, ErrUnclosed},
		{"n[", 1, ErrUnclosed},
		{"a,n[1 2]", 5, ErrSyntax},
		{"n[1-65537]", 2, ErrLimit},
		{"n[9999999999999999999]", 2, ErrLimit},
		{"a[1-300]b[1-300]c[1-2]", 0, ErrLimit},
		{"a[1-65536]b[1-65536]", 0, ErrLimit},
		{strings.Repeat("x", 2000) + "[1-65536]", 0, ErrLimit},
	} {
		_, err := ParseHostlist(c.text)
		pe, ok := errors.AsType[*ParseError](err)
		if !ok || pe.Offset != c.at || !errors.Is(err, c.err) {
			t.Errorf("ParseHostlist(%.40q) = %v, want %v at %d", c.text, err, c.err, c.at)
		}
	}
	if _, err := ParseHostlist("n[1-65536]"); err != nil {
		t.Errorf("a range of 65536 hosts: %v", err)
	}
}

func TestHostlistFolds(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"", ""},
		{"n1", "n1"},
		{"n01 n2 n03", "n[01,2,03]"},
		{"n09 n10 n11", "n[09-11]"},
		{"n9 n10 n11", "n[9-11]"},
		{"n9 n010", "n[9,010]"},
		{"n098 n099 n100", "n[098-100]"},
		{"n3 n2 n1", "n[3,2,1]"},
		{"n2 n2", "n[2,2]"},
		{"login n1 n2 m3 n4", "login,n[1-2],m3,n4"},
		{"n1-ib n2-ib", "n1-ib,n2-ib"},
		{"1 2 3", "[1-3]"},
		{"r1n1 r1n2 r2n1", "r1n[1-2],r2n1"},
	} {
		got := string(AppendHostlist(nil, strings.Fields(c.names)))
		if got != c.want {
			t.Errorf("AppendHostlist(%s) = %s, want %s", c.names, got, c.want)
		}
	}
}

func TestHostsSort(t *testing.T) {
	got := strings.Fields("n10 n2 n01 rack10n1 rack9n2 n login n100 n02")
	SortHosts(got)
	want := "login n n2 n01 n02 n10 n100 rack9n2 rack10n1"
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("SortHosts mismatch (-want +got):\n%s", diff)
	}
}

// Folding and expanding gives the names back.
func TestFoldedHostlistExpandsToItself(t *testing.T) {
	name := rapid.StringMatching(`[a-c]{0,2}(-)?[0-9]{0,3}x?[0-9]{1,2}|[a-c]{1,3}|0{0,3}[0-9]{1,20}`)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(name).Draw(t, "names")
		if rapid.Bool().Draw(t, "stretch") {
			lo := rapid.IntRange(0, 120).Draw(t, "lo")
			w := rapid.IntRange(1, 4).Draw(t, "width")
			for i := range rapid.IntRange(0, 30).Draw(t, "len") {
				names = append(names, fmt.Sprintf("s%0*d", w, lo+i))
			}
		}
		text := string(AppendHostlist(nil, names))
		got, err := ParseHostlist(text)
		if err != nil || !slices.Equal(got, names) {
			t.Fatalf("fold %v = %s, expands to %v, %v", names, text, got, err)
		}
		slices.SortFunc(names, CompareHosts)
		for i := 1; i < len(names); i++ {
			if c := CompareHosts(names[i-1], names[i]); c > 0 || c == 0 && names[i-1] != names[i] || CompareHosts(names[i], names[i-1]) != -c {
				t.Fatalf("order of %q and %q: %d", names[i-1], names[i], c)
			}
		}
	})
}

// A model of expansion: brackets replaced one after the other by recursion.
func TestHostlistModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, 3).Draw(t, "brackets")
		var text strings.Builder
		var parts [][]string
		lit := rapid.StringMatching(`[a-z]{0,2}`)
		for range k {
			text.WriteString(lit.Draw(t, "text"))
			prefix := text.String()
			prefix = prefix[strings.LastIndexByte(prefix, ']')+1:]
			text.WriteByte('[')
			var vals []string
			for i := range rapid.IntRange(1, 3).Draw(t, "ranges") {
				lo := rapid.IntRange(0, 12).Draw(t, "lo")
				hi := lo + rapid.IntRange(0, 3).Draw(t, "more")
				w := rapid.IntRange(1, 3).Draw(t, "width")
				if i > 0 {
					text.WriteByte(',')
				}
				fmt.Fprintf(&text, "%0*d-%d", w, lo, hi)
				for v := lo; v <= hi; v++ {
					vals = append(vals, prefix+fmt.Sprintf("%0*d", w, v))
				}
			}
			text.WriteByte(']')
			parts = append(parts, vals)
		}
		tail := lit.Draw(t, "tail")
		text.WriteString(tail)
		var want []string
		// Slowest first: k-2, ..., 1, 0, then the last one.
		var walk func(chosen map[int]string, order []int)
		walk = func(chosen map[int]string, order []int) {
			if len(order) == 0 {
				var s strings.Builder
				for i := range k {
					s.WriteString(chosen[i])
				}
				if s.String()+tail != "" {
					want = append(want, s.String()+tail)
				}
				return
			}
			for _, v := range parts[order[0]] {
				chosen[order[0]] = v
				walk(chosen, order[1:])
			}
		}
		var order []int
		for i := k - 2; i >= 0; i-- {
			order = append(order, i)
		}
		if k > 0 {
			order = append(order, k-1)
		}
		walk(map[int]string{}, order)
		got, err := ParseHostlist(text.String())
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("ParseHostlist(%q) = %v, %v, want %v", text.String(), got, err, want)
		}
	})
}

func TestNodeCounts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"4", "4"}, {"4-8", "4-8"}, {"2k", "2048"}, {"1m-2m", "1048576-2097152"}, {"2,4,8", "2,4,8"},
		{"1-15:4", "1,5,9,13"}, {"8,2,4,4", "2,4,8"}, {"1-3,8", "1,2,3,8"}, {"5-5:1", "5-5:1"},
	} {
		got, err := ParseNodeCount(c.text)
		if s := string(AppendNodeCount(nil, got)); err != nil || s != c.want {
			t.Errorf("ParseNodeCount(%q) = %s, %v, want %s", c.text, s, err, c.want)
		}
	}
	for _, c := range []struct {
		text string
		at   int
		err  error
	}{
		{"", 0, ErrSyntax}, {"0", 0, ErrSyntax}, {"8-4", 0, ErrOrder}, {"4-", 2, ErrSyntax}, {"-4", 0, ErrSyntax},
		{"4x", 1, ErrSyntax}, {"4,", 2, ErrSyntax}, {"1-4:0", 4, ErrSyntax}, {"2,16384", 2, ErrLimit},
		{"99999999999999999999", 0, ErrLimit}, {"4000m", 0, ErrLimit}, {"1-9:3x", 5, ErrSyntax}, {"2,9-4", 2, ErrOrder},
	} {
		_, err := ParseNodeCount(c.text)
		pe, ok := errors.AsType[*ParseError](err)
		if !ok || pe.Offset != c.at || !errors.Is(err, c.err) {
			t.Errorf("ParseNodeCount(%q) = %v, want %v at %d", c.text, err, c.err, c.at)
		}
	}
}
