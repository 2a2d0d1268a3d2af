package slurmconf

import (
	"fmt"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/internal/schedwords"
)

// SetSchedulerParameters sets in p what a value of SchedulerParameters says,
// "bf_window=60,bf_continue". Words that it does not name keep their setting. An
// error names the word; p is then set in part. The package comment lists the words
// that set nothing.
//
// Source: slurm.conf(5), SchedulerParameters.
func SetSchedulerParameters(p *scheduler.Parameters, value string) error {
	items, _ := parseItems(value)
	for _, it := range items {
		if schedwords.UseOf(it.Name) == schedwords.Unknown {
			return fmt.Errorf("slurmconf: read SchedulerParameters: %q: %w", it.text(), valueErr("%s", schedwords.Warning(it.Name)))
		}
	}
	if at, err := schedwords.Set(p, schedulerItems(items)); err != nil {
		return fmt.Errorf("slurmconf: read SchedulerParameters: %q: %w", items[at].text(), valueErr("%w", err))
	}
	return nil
}

func schedulerItems(items []Item) []schedwords.Item {
	out := make([]schedwords.Item, len(items))
	for i, it := range items {
		out[i] = schedwords.Item{Name: it.Name, Value: it.Value}
	}
	return out
}

// defaultQueueDepth is that of a file without default_queue_depth.
const defaultQueueDepth = 100

// schedulerWords converts SchedulerType and SchedulerParameters.
func (b *builder) schedulerWords() {
	p, o := &b.f.Params, &b.cfg.Parameters
	if p.SchedulerType.V == "sched/builtin" {
		o.Plan.Mode = scheduler.PlanNone
	}
	o.Queue.Depth = defaultQueueDepth
	at := p.SchedulerParameters.At
	var known []Item
	for _, it := range p.SchedulerParameters.V {
		if schedwords.UseOf(it.Name) == schedwords.Unknown {
			b.rd.warn(at, it.text(), "%s", schedwords.Warning(it.Name))
			continue
		}
		known = append(known, it)
	}
	items := schedulerItems(known)
	for len(items) > 0 {
		bad, err := schedwords.Set(o, items)
		if err == nil {
			return
		}
		b.rd.fail(at, known[bad].text(), valueErr("%w", err))
		items, known = items[bad+1:], known[bad+1:]
	}
}
