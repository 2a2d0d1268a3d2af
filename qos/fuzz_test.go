package qos

import (
	"bytes"
	"errors"
	"testing"

	"github.com/berth-sched/berth/gres"
)

func FuzzTimeLimit(f *testing.F) {
	for _, s := range []string{"", "0", "30", "10:30", "1:2:3", "1-12", "1-12:30", "1-12:00:00", "UNLIMITED", "-1", "9-99:99:99"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseTimeLimit(text)
		if err != nil {
			if p, ok := errors.AsType[*ParseError](err); !ok || p.Offset < 0 || p.Offset > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		out := AppendTimeLimit(nil, d)
		again, err := ParseTimeLimit(string(out))
		if err != nil || again != d {
			t.Fatalf("%q is %v, written %q, read %v, %v", text, d, out, again, err)
		}
	})
}

func FuzzFlags(f *testing.F) {
	for _, s := range []string{"", "DenyOnLimit", "+NoDecay,relative", "-NoReserve", "-1", "+=OverPartQOS", "a,b"} {
		f.Add(s, uint16(0))
	}
	f.Fuzz(func(t *testing.T, text string, old uint16) {
		got, err := ParseFlags(Flags(old), text)
		if err != nil {
			if p, ok := errors.AsType[*ParseError](err); !ok || p.Offset < 0 || p.Offset > len(text) || got != Flags(old) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		known := got & (1<<len(flagNames) - 1)
		if again, err := ParseFlags(0, string(AppendFlags(nil, known))); known != 0 && (err != nil || again != known) {
			t.Fatalf("%q is %v, read again %v, %v", text, known, again, err)
		}
	})
}

func FuzzEnforce(f *testing.F) {
	for _, s := range []string{"", "none", "all", "associations,limits,qos,safe", "limits,,qos", "nojobs,nosteps,wckeys"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParseEnforce(text); err != nil {
			if p, ok := errors.AsType[*ParseError](err); !ok || p.Offset < 0 || p.Offset > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}

// FuzzSetLimits: what is stored is written as text that stores the same.
func FuzzSetLimits(f *testing.F) {
	for m := GrpTRES; m < numLimits; m++ {
		f.Add(uint8(m), "cpu=4,gres/gpu+=2")
		f.Add(uint8(m), "12")
		f.Add(uint8(m), "1-12:00:00")
	}
	s, err := gres.NewSchema("gres/gpu", "license/matlab")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, m uint8, value string) {
		l, err := New(Config{Schema: s})
		if err != nil {
			t.Fatal(err)
		}
		before := l.AppendSnapshot(nil)
		lim := Limit(m)
		errA, errQ := l.SetLimits(Root, Setting{lim, value}), l.SetQOSLimits(1, Setting{lim, value})
		if errA != nil && errQ != nil {
			if !bytes.Equal(before, l.AppendSnapshot(nil)) {
				t.Fatal("a refused setting changed something")
			}
			return
		}
		again, err := New(Config{Schema: s})
		if err != nil {
			t.Fatal(err)
		}
		if text := l.AppendLimit(nil, Root, lim); errA == nil && len(text) > 0 {
			if err := again.SetLimits(Root, Setting{lim, string(text)}); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if text := l.AppendQOSLimit(nil, 1, lim); errQ == nil && len(text) > 0 {
			if err := again.SetQOSLimits(1, Setting{lim, string(text)}); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if !bytes.Equal(l.AppendSnapshot(nil), again.AppendSnapshot(nil)) {
			t.Fatalf("%v=%q: written and read again it differs", lim, value)
		}
	})
}

func FuzzRestore(f *testing.F) {
	l, j := deepLedger(f, 4)
	l.Charge(j)
	l.ChargeSubmit(j, nil)
	l.AddUsage(j.Assoc, 100, 10, nil)
	snap := l.AppendSnapshot(nil)
	f.Add(snap)
	f.Add(snap[:len(snap)/2])
	s := l.Schema()
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := RestoreLedger(s, data)
		if err != nil {
			if !errors.Is(err, ErrSnapshot) {
				t.Fatal(err)
			}
			return
		}
		again, err := RestoreLedger(s, l.AppendSnapshot(nil))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(l.AppendSnapshot(nil), again.AppendSnapshot(nil)) {
			t.Fatal("snapshot of a restored ledger differs")
		}
	})
}
