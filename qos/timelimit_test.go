package qos

import (
	"errors"
	"testing"
	"time"
)

func TestParseTimeLimit(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
		out  string
	}{
		{"0", 0, "00:00:00"},
		{"30", 30 * time.Minute, "00:30:00"},
		{"90", 90 * time.Minute, "01:30:00"},
		{"90:00", 90 * time.Minute, "01:30:00"},
		{"10:30", 10*time.Minute + 30*time.Second, "00:10:30"},
		{"12:00:00", 12 * time.Hour, "12:00:00"},
		{"1-0", 24 * time.Hour, "1-00:00:00"},
		{"1-12", 36 * time.Hour, "1-12:00:00"},
		{"1-12:30", 36*time.Hour + 30*time.Minute, "1-12:30:00"},
		{"1-12:00:00", 36 * time.Hour, "1-12:00:00"},
		{"0-0:0:5", 5 * time.Second, "00:00:05"},
		{"2-00:01:00", 48*time.Hour + time.Minute, "2-00:01:00"},
		{"100:100:100", 100*time.Hour + 100*time.Minute + 100*time.Second, "4-05:41:40"},
		{"365-00:00:00", 365 * 24 * time.Hour, "365-00:00:00"},
		{"UNLIMITED", Unlimited, "UNLIMITED"},
		{"infinite", Unlimited, "UNLIMITED"},
		{"-1", Unlimited, "UNLIMITED"},
	} {
		got, err := ParseTimeLimit(c.text)
		if err != nil || got != c.want {
			t.Errorf("ParseTimeLimit(%q) = %v, %v, want %v", c.text, got, err, c.want)
		}
		if out := string(AppendTimeLimit(nil, got)); out != c.out {
			t.Errorf("AppendTimeLimit(%v) = %q, want %q", got, out, c.out)
		}
	}
	for _, c := range []struct {
		text   string
		offset int
		cause  error
	}{
		{"", 0, ErrSyntax},
		{"x", 0, ErrSyntax},
		{"1x", 1, ErrSyntax},
		{"-2", 0, ErrSyntax},
		{"1-", 2, ErrSyntax},
		{"1:", 2, ErrSyntax},
		{"1:2:3:4", 5, ErrSyntax},
		{"1-2-3", 3, ErrSyntax},
		{"1-1:1:1:1", 7, ErrSyntax},
		{"1 ", 1, ErrSyntax},
		{"9999999999999999999", 18, ErrRange},
		{"106752-0", 8, ErrRange},
		{"106751-23:47:17", 15, ErrRange},
	} {
		_, err := ParseTimeLimit(c.text)
		p, ok := errors.AsType[*ParseError](err)
		if !ok || p.Offset != c.offset || !errors.Is(err, c.cause) {
			t.Errorf("ParseTimeLimit(%q): %v, want %v at %d", c.text, err, c.cause, c.offset)
		}
	}
	if d, err := ParseTimeLimit("106751-23:47:15"); err != nil || d >= Unlimited {
		t.Errorf("longest time limit: %v, %v", d, err)
	}
}

func TestRoundMinutes(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		0: 0, time.Second: time.Minute, time.Minute: time.Minute, 61 * time.Second: 2 * time.Minute,
		Unlimited: Unlimited, Unlimited - 1: Unlimited, -time.Second: 0,
	} {
		if got := RoundMinutes(d); got != want {
			t.Errorf("RoundMinutes(%v) = %v, want %v", d, got, want)
		}
	}
}
