package sbatch_test

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
)

func TestArray(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		count      int
		max        int32
	}{
		{"0-15%4", "0-15%4", 16, 15}, {"0-9,20-30:2%4", "0-9,20-30:2%4", 16, 30}, {"7", "7", 1, 7}, {"3,1,2", "1-3", 3, 3},
		{"1,1,1", "1", 1, 1}, {"[0-3]", "0-3", 4, 3}, {"0-10:4,4", "0-8:4,4", 3, 8}, {"5-5:3", "5", 1, 5},
	} {
		a, err := sbatch.ParseArray(tt.text)
		if err != nil {
			t.Errorf("ParseArray(%q): %v", tt.text, err)
			continue
		}
		if got := string(sbatch.AppendArray(nil, a)); got != tt.want || a.Count() != tt.count || a.Max() != tt.max {
			t.Errorf("ParseArray(%q) = %s, %d indexes up to %d; want %s, %d, %d", tt.text, got, a.Count(), a.Max(), tt.want, tt.count, tt.max)
		}
	}
	for _, bad := range []string{"", "a", "1-", "-1", "3-1", "1:2", "1-9:0", "1%", "1%x", "1,,2", "1,", "4000001", "[1", "1-3 "} {
		if a, err := sbatch.ParseArray(bad); err == nil {
			t.Errorf("ParseArray(%q) = %v", bad, a)
		}
	}
}

func TestDependency(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"afterok:12", "afterok:12"}, {"afterok:12:13", "afterok:12,afterok:13"}, {"after:14+5,singleton", "after:14+5,singleton"},
		{"12:13", "afterany:12,afterany:13"}, {"afterany:5?afternotok:6", "afterany:5?afternotok:6"}, {"aftercorr:9_3", "aftercorr:9_3"},
		{"AFTERBURSTBUFFER:1", "afterburstbuffer:1"}, {"expand:4", "expand:4"}, {"afterok:9_*", "afterok:9"},
	} {
		d, err := sbatch.ParseDependency(tt.text)
		if err != nil {
			t.Errorf("ParseDependency(%q): %v", tt.text, err)
		} else if got := string(scheduler.AppendDependency(nil, d)); got != tt.want {
			t.Errorf("ParseDependency(%q) = %s, want %s", tt.text, got, tt.want)
		}
	}
	for _, bad := range []string{"", "afterok", "afterok:", "afterok:0", "afterok:x", "never:4", "afterok:1+5", "afterok:1,afterany:2?after:3", "afterok:1,", "after:1+", "singleton:4"} {
		if d, err := sbatch.ParseDependency(bad); err == nil {
			t.Errorf("ParseDependency(%q) = %v", bad, d)
		}
	}
}

// TestFeatures has the examples of spec/cores.md 8.1 and its case 49.
func TestFeatures(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a", "a"}, {"a,b", "a&b"}, {"d|b&c", "d|b&c"}, {"b&c|d", "b&c|d"}, {"a|", "a"}, {"(a|d)&c", "(a|d)&c"}, {"a&(b|c)", "a&(b|c)"},
		{"[a|d]", "[a|d]"}, {"x&[a|b]", "x&[a|b]"}, {"[a*1&d*2]", "[a*1&d*2]"}, {"a*2", "a*2"}, {"[(a|b)*2&d*1]", "[(a|b)*2&d*1]"},
		{"[(a&b)|(d&c)]", "[(a&b)|(d&c)]"}, {"[a]", "[a]"}, {"[a*2]", "[a*2]"}, {"c5n.18xlarge,mem500MB&CPU-N", "c5n.18xlarge&mem500MB&CPU-N"},
	} {
		f, err := sbatch.ParseFeatures(tt.text)
		if err != nil {
			t.Errorf("ParseFeatures(%q): %v", tt.text, err)
		} else if got := string(sbatch.AppendFeatures(nil, f)); got != tt.want {
			t.Errorf("ParseFeatures(%q) = %s, want %s", tt.text, got, tt.want)
		}
	}
	for _, bad := range []string{"", "a*", "a*0", "a**2", "a*2&b", "(a|b)*2", "[a][b]", "((a))", "(a", "a)", "[a&b]", "[a*1&d]", "[a*1|b]", "&a", "|a", "!a",
		"a b", "(a*2)", "[a", "a]", "[[a]]", "([a])", "[a*1&b*1]*2", "a&&b"} {
		if f, err := sbatch.ParseFeatures(bad); err == nil {
			t.Errorf("ParseFeatures(%q) = %v", bad, f)
		}
	}
}

func TestSignal(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"USR1", "USR1@60"}, {"SIGUSR1@300", "USR1@300"}, {"10@5", "USR1@5"}, {"B:TERM@0", "B:TERM@0"}, {"RB:usr2@30", "RB:USR2@30"}, {"R:64", "R:64@60"}, {":INT", "INT@60"},
	} {
		s, err := sbatch.ParseSignal(tt.text)
		if err != nil {
			t.Errorf("ParseSignal(%q): %v", tt.text, err)
		} else if got := string(sbatch.AppendSignal(nil, s)); got != tt.want {
			t.Errorf("ParseSignal(%q) = %s, want %s", tt.text, got, tt.want)
		}
	}
	for _, bad := range []string{"", "0", "65", "USR9", "B:", "X:USR1", "USR1@", "USR1@65536", "USR1@5s", "@5"} {
		if s, err := sbatch.ParseSignal(bad); err == nil {
			t.Errorf("ParseSignal(%q) = %v", bad, s)
		}
	}
}

func TestMemory(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1000": 1000, "1K": 1, "1025k": 2, "64G": 65536, "8GB": 8192, "1T": 1 << 20, "5MB": 5, "2g": 2048} {
		if got, err := sbatch.ParseMemory(text); err != nil || got != want {
			t.Errorf("ParseMemory(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "B", "G", "-1", "+1", "1.5G", "1P", "9223372036854775807T", "1 G", "4BB"} {
		if got, err := sbatch.ParseMemory(bad); err == nil {
			t.Errorf("ParseMemory(%q) = %d", bad, got)
		}
	}
}

func TestWhen(t *testing.T) {
	now := time.Date(2026, 11, 29, 14, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"now": "2026-11-29T14:30:00", "now+1hour": "2026-11-29T15:30:00", "now+90": "2026-11-29T14:31:30", "now-5minutes": "2026-11-29T14:25:00",
		"now+2days": "2026-12-01T14:30:00", "today": "2026-11-29T00:00:00", "tomorrow": "2026-11-30T00:00:00", "midnight": "2026-11-30T00:00:00",
		"noon": "2026-11-30T12:00:00", "teatime": "2026-11-29T16:00:00", "16:00": "2026-11-29T16:00:00", "8:15:30": "2026-11-30T08:15:30",
		"4:00PM": "2026-11-29T16:00:00", "12:30 am": "2026-11-30T00:30:00", "2026-12-01": "2026-12-01T00:00:00", "2026-12-01T08:00:00": "2026-12-01T08:00:00",
		"2026-12-01 08:00": "2026-12-01T08:00:00", "12/25": "2026-12-25T00:00:00", "12/25/27-10:00": "2027-12-25T10:00:00", "1225": "2026-12-25T00:00:00", "25.12.26": "2026-12-25T00:00:00",
		"uts1800000000": "2027-01-15T08:00:00",
	} {
		got, err := sbatch.ParseWhen(text, now)
		if err != nil || got.Format("2006-01-02T15:04:05") != want {
			t.Errorf("ParseWhen(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "later", "now+", "now+1fortnight", "25:00", "8:60", "13:00PM", "2026-02-30", "2026-13-01", "26-1-1", "1:2:3:4", "31.02.26", "utsx", "8:"} {
		if got, err := sbatch.ParseWhen(bad, now); err == nil {
			t.Errorf("ParseWhen(%q) = %v", bad, got)
		}
	}
}
