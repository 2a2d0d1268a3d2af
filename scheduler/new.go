package scheduler

import (
	"errors"
	"fmt"
	"strings"

	"github.com/berth-sched/berth/gres"
)

// New returns a scheduler for cfg, of which nothing is kept but what it
// copies. reg may be nil. An error names every problem that was found before
// building had to stop.
func New(cfg Config, reg *Registry) (Scheduler, error) {
	e, err := newEngine(cfg, reg)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func newEngine(cfg Config, reg *Registry) (*engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if reg == nil {
		reg = &Registry{}
	}
	e := &engine{cfg: cloneConfig(&cfg), reg: reg}
	e.par = e.cfg.Parameters.effective(e.cfg.Profile)
	if err := errors.Join(e.unsupported()...); err != nil {
		return nil, err
	}
	if err := e.buildNodes(); err != nil {
		return nil, err
	}
	if err := e.buildSchema(); err != nil {
		return nil, err
	}
	e.buildFeatures()
	if err := e.buildParts(); err != nil {
		return nil, err
	}
	if err := e.buildLicenses(); err != nil {
		return nil, err
	}
	if err := e.buildAccounting(); err != nil {
		return nil, err
	}
	e.jobs.none, e.jobs.mine = new(JobSpec), new(jobOwn)
	e.classes.ids = make(map[classKey]int32)
	e.try.init(len(e.nodes))
	e.plans.init(len(e.nodes))
	e.slurm.init(len(e.nodes))
	if err := e.buildRanker(); err != nil {
		return nil, err
	}
	e.rank.basic = 1<<32 - 65536
	if err := e.buildPlacement(); err != nil {
		return nil, err
	}
	if err := e.buildReservations(); err != nil {
		return nil, err
	}
	e.nextSwitch = Never
	e.buildShares()
	if err := e.buildPreempt(); err != nil {
		return nil, err
	}
	return e, nil
}

// cloneConfig copies cfg through the snapshot codec, so that nothing is shared
// with the caller.
func cloneConfig(cfg *Config) Config {
	w := codec{}
	visitConfig(&w, cfg)
	var out Config
	visitConfig(&codec{buf: w.buf, reading: true}, &out)
	return out
}

// unsupported lists what a configuration asks and this version does not do.
// What is stored and shown only is said by [Unenforced].
func (e *engine) unsupported() []error {
	var errs []error
	no := func(what string) {
		errs = append(errs, fmt.Errorf("scheduler: check config: %s: %w", what, ErrUnsupported))
	}
	if len(e.cfg.Cohorts) > 0 {
		no("cohorts")
	}
	return errs
}

// buildSchema lists what is counted: the fixed kinds, the tracked ones, and
// the generic resources that nodes have.
func (e *engine) buildSchema() error {
	var names []string
	have := map[string]bool{}
	add := func(n string) {
		if low := strings.ToLower(n); !have[low] {
			have[low] = true
			names = append(names, n)
		}
	}
	for _, t := range e.cfg.TRES {
		add(t)
	}
	if e.cfg.MaxNodes > 0 {
		// Nodes that join may bring them.
		for _, t := range e.cfg.GresTypes {
			add("gres/" + t)
		}
	}
	for i := range e.there.All() {
		s := e.pool.Shape(int32(i))
		for g := range s.NumGroups() {
			add("gres/" + e.devices.Name(s.GroupName(g)))
		}
		e.coreWords = max(e.coreWords, s.CoreWords())
		e.counts.CPUMilli += s.MilliCPU()
		if g := s.Group(gres.NameGPU); g >= 0 {
			e.counts.GPUMilli += 1000 * s.WholeDevices(g)
		}
		if e.weightOf(i) != e.weightOf(e.there.First()) {
			e.weighted = true
		}
	}
	var err error
	if e.schema, err = gres.NewSchema(names...); err != nil {
		return fmt.Errorf("scheduler: read TRES: %w", err)
	}
	for _, t := range e.cfg.TRES {
		if k, ok := e.schema.Kind(t); ok {
			e.trackedKinds = append(e.trackedKinds, k)
		}
	}
	return nil
}
