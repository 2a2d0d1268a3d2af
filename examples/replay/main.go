// Command replay runs a log of jobs through berth in virtual time and says how
// that went: a table on the standard output and a picture report in HTML.
//
// Without arguments it makes up a cluster and a few thousand jobs. See
// README.md beside this file.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-sched/berth/examples/internal/outcome"
	"github.com/berth-sched/berth/examples/internal/report"
	"github.com/berth-sched/berth/examples/internal/trace"
	"github.com/berth-sched/berth/examples/internal/vtime"
	"github.com/berth-sched/berth/scheduler"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = replay(o, stdout, stderr)
	}
	if err != nil {
		// One line, whatever was joined.
		fmt.Fprintln(stderr, "replay: "+strings.ReplaceAll(err.Error(), "\n", "; "))
		return 1
	}
	return 0
}

// options are the command line.
type options struct {
	trace, format, nodelist, conf string

	shape        shape
	jobs         int
	seed         uint64
	load         float64
	policy       string
	depth        int
	ownPolicy    bool // -policy or -depth was given
	lowest       bool
	overestimate float64
	squeeze      float64
	leaveOut     bool
	report       string

	show     string
	at       time.Duration // of show, after the first submission; < 0: not given
	reserve  []string
	profile  string
	scavenge float64
	compare  bool
	suite    string
	dir      string
	// watch, if not nil, is told how many jobs have ended, in place of a bar.
	watch func(ended, jobs int)
}

// parse reads the command line; asked for help it writes to w.
func parse(args []string, w io.Writer) (*options, error) {
	o := new(options)
	fs := flag.NewFlagSet("replay", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // a wrong flag is one line like any other error
	fs.Usage = func() {}
	usage := func() {
		fs.SetOutput(w)
		fmt.Fprintln(w, "usage: replay [flags]\n\nRuns a log of jobs through the scheduler in virtual time. Without -trace it makes up jobs,\nwithout a cluster 40 nodes of 8 GPUs of two types.\n\nflags:")
		fs.PrintDefaults()
	}
	fs.StringVar(&o.trace, "trace", "", "log of jobs: SWF, openb pod list, philly-vc, ubccr-micro, sacct -P and others; .gz too")
	fs.StringVar(&o.format, "format", "", "format of the log if it is not to be guessed: "+strings.Join(trace.Formats(), ", "))
	fs.StringVar(&o.nodelist, "nodelist", "", "list of nodes (openb's form)")
	fs.StringVar(&o.conf, "conf", "", "directory of slurm.conf, gres.conf, topology.conf or .yaml and sacctmgr files: cluster and policy")
	fs.IntVar(&o.shape.nodes, "nodes", 0, "number of equal nodes")
	fs.Int64Var(&o.shape.cpus, "cpus", 0, "CPUs of a node (default 12 a GPU; 1 without GPUs)")
	fs.Int64Var(&o.shape.memMiB, "mem", 0, "memory of a node in MiB (default 8192 a CPU)")
	fs.Int64Var(&o.shape.gpus, "gpus", 0, "GPUs of a node")
	fs.StringVar(&o.shape.gpuType, "gpu-type", "", "type of the GPUs")
	fs.IntVar(&o.jobs, "jobs", 4000, "number of jobs to make up")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of the jobs to make up")
	fs.Float64Var(&o.load, "load", 0.9, "GPU time that made-up jobs ask for, over the GPU time there is while they arrive")
	fs.StringVar(&o.policy, "policy", "easy", "easy: one waiting job has a plan that none may delay; conservative: all have; none: strict order")
	fs.IntVar(&o.depth, "depth", 0, "number of waiting jobs that have a plan, in place of what -policy says")
	fs.BoolVar(&o.lowest, "lowest", false, "give a job of several nodes the lowest-numbered free ones, not the best fit")
	fs.Float64Var(&o.overestimate, "overestimate", 2, "time limit over run time, for logs without limits")
	fs.Float64Var(&o.squeeze, "squeeze", 1, "divide the times of submission by this: more load of the same jobs")
	fs.BoolVar(&o.leaveOut, "leave-out", false, "leave out jobs that the cluster can never run, instead of giving up")
	fs.StringVar(&o.report, "report", "report.html", "where to write the report; empty: nowhere")
	o.asks(fs)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage()
		}
		return nil, err
	}
	fs.Visit(func(f *flag.Flag) { o.ownPolicy = o.ownPolicy || f.Name == "policy" || f.Name == "depth" })
	o.places()
	return o, o.check(fs.Args())
}

// check refuses flags that do not go together.
func (o *options) check(args []string) error {
	clusters := 0
	for _, given := range [...]bool{o.nodelist != "", o.conf != "", o.shape.nodes > 0} {
		if given {
			clusters++
		}
	}
	switch {
	case len(args) > 0:
		return fmt.Errorf("%q: no arguments are taken, only flags", args[0])
	case clusters > 1:
		return errors.New("-conf, -nodelist and -nodes: only one of them")
	case o.shape.nodes < 0 || o.shape.cpus < 0 || o.shape.memMiB < 0 || o.shape.gpus < 0 || o.jobs < 1 || o.depth < 0:
		return errors.New("a negative number, or no jobs")
	case o.shape.nodes == 0 && o.shape != shape{}:
		return errors.New("-cpus, -mem, -gpus and -gpu-type go with -nodes")
	case !(o.overestimate >= 1 && o.squeeze >= 1 && o.load > 0 && o.load <= 100):
		return errors.New("-overestimate and -squeeze are at least 1, -load above 0 and at most 100")
	}
	if err := o.checkAsks(); err != nil {
		return err
	}
	switch o.policy {
	case "none", "easy", "conservative":
		return nil
	}
	return fmt.Errorf("-policy %q: easy, conservative or none", o.policy)
}

// replay does what the options say.
func replay(o *options, stdout, stderr io.Writer) error {
	switch {
	case o.suite != "":
		return compareSuite(o, stdout, stderr)
	case o.compare:
		return compareOne(o, stdout, stderr)
	}
	shown := new(table)
	r, err := runOnce(o, shown, stderr)
	if err != nil {
		return err
	}
	f := outcome.Measure(r)
	text := []byte(r.Title + "\n")
	for _, n := range r.Notes {
		text = append(text, n+"\n"...)
	}
	text = outcome.AppendText(append(text, '\n'), &f)
	text = append(text, shown.text...)
	if _, err := stdout.Write(text); err != nil {
		return err
	}
	if o.report == "" {
		return nil
	}
	if err := os.WriteFile(o.report, report.Append(nil, r, &f), 0o644); err != nil {
		return err
	}
	where, err := filepath.Abs(o.report)
	if err != nil {
		where = o.report
	}
	_, err = fmt.Fprintf(stdout, "\nreport: %s\n", where)
	return err
}

// runOnce reads the input, runs it through a scheduler, and holds the result to
// the laws.
func runOnce(o *options, shown *table, stderr io.Writer) (*outcome.Run, error) {
	c, list, err := input(o)
	if err != nil {
		return nil, err
	}
	for _, w := range c.warnings {
		fmt.Fprintln(stderr, "replay: warning: "+w)
	}
	cfg := c.config(list, o)
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		return nil, err
	}
	in := vtime.Input{Scheduler: s, Nodes: c.look(s), Counts: c.counts, LeaveOut: o.leaveOut}
	if list == nil { // a site's cluster is known only now
		list = makeUp(o, sitePartition(&cfg, in.Nodes))
	}
	first := scheduler.Time(list.Jobs[0].Submit)
	reservations, err := o.reservations(first)
	if err != nil {
		return nil, err
	}
	for _, ev := range append(c.events, reservations...) {
		if err := s.Apply(first, ev); err != nil {
			return nil, err
		}
	}
	if in.Jobs, err = c.submissions(list, o); err != nil {
		return nil, err
	}
	if len(cfg.Accounts) > 0 {
		in.ShareEach = vtime.Spread(in.Jobs, 300)
	}
	o.look(&in, shown)
	bar := newProgress(stderr, len(in.Jobs))
	if in.Progress = bar.tell; o.watch != nil {
		in.Progress = func(ended int, _ scheduler.Time) { o.watch(ended, len(in.Jobs)) }
	}
	r, err := vtime.Drive(in)
	bar.done()
	if err != nil {
		return nil, err
	}
	r.Units = units(&cfg, r.Nodes)
	describe(r, c, &cfg, list, o)
	if err := outcome.Check(r); err != nil {
		return nil, fmt.Errorf("the result breaks a law: %w", err)
	}
	return r, nil
}

// describe gives the run its title and notes. They say nothing of the machine
// that ran it: the same run writes the same bytes.
func describe(r *outcome.Run, c *cluster, cfg *scheduler.Config, list *trace.List, o *options) {
	name := "built-in jobs"
	if o.trace != "" {
		name = filepath.Base(o.trace)
	}
	r.Title = name + " on " + title(r.Nodes)
	first := "Policy: " + o.policyText() + "."
	if o.conf != "" && !o.ownPolicy {
		first = "Cluster and policy of " + filepath.Base(o.conf) + "."
	}
	if o.trace == "" {
		first = fmt.Sprintf("Jobs after Acme's Seren and Microsoft's Philly clusters, seed %d. ", o.seed) + first
	}
	notes := []string{first}
	for _, s := range list.Skipped {
		notes = append(notes, fmt.Sprintf("%d rows of the log left out: %s.", s.Count, s.Why))
	}
	if o.squeeze > 1 {
		notes = append(notes, fmt.Sprintf("Times of submission are divided by %g.", o.squeeze))
	}
	if o.scavenge > 0 {
		notes = append(notes, fmt.Sprintf("%g %% of the jobs are scavengers: others may take their place, and they begin anew.", o.scavenge*100))
	}
	if c.noLimits {
		notes = append(notes, fmt.Sprintf("The log has no time limits: %g times the run time is taken.", o.overestimate))
	}
	for _, what := range scheduler.Unenforced(cfg) {
		notes = append(notes, strings.ToUpper(what[:1])+what[1:]+".")
	}
	r.Notes = append(notes, r.Notes...)
}

func (o *options) policyText() string {
	switch {
	case o.policy == "none":
		return "strict order"
	case o.planDepth() == 0:
		return "conservative backfill, every waiting job has a plan"
	case o.planDepth() == 1:
		return "EASY backfill, the first waiting job has a plan"
	}
	return fmt.Sprintf("backfill, the first %d waiting jobs have a plan", o.planDepth())
}

// planDepth is the number of waiting jobs that get a plan; 0 all.
func (o *options) planDepth() int {
	if o.depth == 0 && o.policy == "easy" {
		return 1
	}
	return o.depth
}
