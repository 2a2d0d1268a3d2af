package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-sched/berth/examples/internal/outcome"
	"github.com/berth-sched/berth/examples/internal/vtime"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// asks defines the flags that ask for more than one run's figures.
func (o *options) asks(fs *flag.FlagSet) {
	o.at = -1
	fs.StringVar(&o.show, "show", "", "print a table from the scheduler's books: shares (as sshare -a -l) or prio (as sprio -l)")
	fs.DurationVar(&o.at, "at", -1, "instant of -show, after the first submission: 36h30m (default: the end for shares, the last submission for prio)")
	fs.Func("reserve", "arguments of scontrol create reservation; times count from the first submission; may be given again", func(s string) error {
		o.reserve = append(o.reserve, s)
		return nil
	})
	fs.StringVar(&o.profile, "profile", "", "rules: best or slurm (default: best, with -conf slurm)")
	fs.Float64Var(&o.scavenge, "scavenge", 0, "part of the jobs, from 0 to 1, whose place the others may take: they go back to the queue")
	fs.BoolVar(&o.compare, "compare", false, "run in profile slurm and in profile best, and print one table")
	fs.StringVar(&o.suite, "suite", "", "file with a name and flags a line: compare the profiles on each, and print one table")
	fs.StringVar(&o.dir, "dir", "", "directory of relative names of -trace, -nodelist and -conf")
}

// places puts the directory before relative names.
func (o *options) places() {
	for _, name := range [...]*string{&o.trace, &o.nodelist, &o.conf} {
		if *name != "" && o.dir != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(o.dir, *name)
		}
	}
}

func (o *options) checkAsks() error {
	switch {
	case o.show != "" && o.show != "shares" && o.show != "prio":
		return fmt.Errorf("-show %q: shares or prio", o.show)
	case o.at >= 0 && o.show == "":
		return errors.New("-at goes with -show")
	case o.show != "" && (o.compare || o.suite != ""):
		return errors.New("-show goes with a single run")
	case !(o.scavenge >= 0 && o.scavenge <= 1):
		return errors.New("-scavenge is a part, from 0 to 1")
	case o.scavenge > 0 && o.conf != "":
		return errors.New("-scavenge does not go with -conf, which says who may preempt")
	case o.profile != "" && o.profile != "best" && o.profile != "slurm":
		return fmt.Errorf("-profile %q: best or slurm", o.profile)
	}
	return nil
}

// reservations are the events that make what -reserve says.
func (o *options) reservations(first scheduler.Time) ([]scheduler.Event, error) {
	var list []scheduler.Event
	for _, text := range o.reserve {
		args := strings.Fields(text)
		for _, word := range [...]string{"scontrol", "create", "reservation"} {
			if len(args) > 0 && strings.EqualFold(args[0], word) {
				args = args[1:]
			}
		}
		spec, err := slurmconf.ParseReservation(args, time.UnixMicro(int64(first)).UTC())
		if err != nil {
			return nil, fmt.Errorf("-reserve %q: %w", text, err)
		}
		list = append(list, scheduler.Event{Kind: scheduler.EventReservation, Reservation: &spec})
	}
	return list, nil
}

// A table is what -show prints.
type table struct{ text []byte }

// look asks the run to fill the table.
func (o *options) look(in *vtime.Input, t *table) {
	if o.show == "" || len(in.Jobs) == 0 {
		return
	}
	first, last := in.Jobs[0].Submit, in.Jobs[len(in.Jobs)-1].Submit
	switch {
	case o.at >= 0:
		in.LookAt = first.Add(o.at)
	case o.show == "prio":
		in.LookAt = last
	default:
		in.LookAt = scheduler.Never
	}
	names := make([]string, len(in.Jobs))
	for i := range in.Jobs {
		names[i] = in.Jobs[i].Name
	}
	in.Look = func(v scheduler.View) { t.fill(o.show, first, names, v) }
}

// fill writes the table from the books.
func (t *table) fill(what string, first scheduler.Time, names []string, v scheduler.View) {
	when := outcome.Span(v.Metrics().Now.Sub(first).Seconds())
	if what == "shares" {
		t.text = fmt.Appendf(t.text, "\nshares %s after the first submission\n", when)
		t.text = priority.AppendSshare(t.text, v.AppendShares(nil))
		return
	}
	t.text = fmt.Appendf(t.text, "\npriorities of waiting jobs %s after the first submission\n", when)
	var lines []priority.PriorityLine
	for id := range v.Queue() {
		from := len(lines)
		lines = v.AppendPriority(lines, id)
		for i := from; i < len(lines); i++ {
			lines[i].Job = names[id-1]
		}
	}
	t.text = priority.AppendSprio(t.text, v.TRES(), lines)
}
