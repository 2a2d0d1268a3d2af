package schedtest

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/scheduler"
)

// whyEvicted prints what a decision says of an eviction beside who and for whom.
func whyEvicted(b *strings.Builder, d *scheduler.Decision) {
	if d.For == 0 || d.Op == scheduler.OpSignal {
		return
	}
	if d.Rule != "" {
		fmt.Fprintf(b, "        rule %s, one of %d victims among %d candidates", d.Rule, d.Victims, d.Candidates)
		if d.SetCost > 0 {
			fmt.Fprintf(b, ", cost %d of %d, least possible %d", d.Cost, d.SetCost, d.Bound)
		}
		b.WriteByte('\n')
	}
	if d.LostGPU > 0 || d.LostCPU > 0 {
		fmt.Fprintf(b, "        loses %d GPU-seconds, %d CPU-seconds\n", d.LostGPU, d.LostCPU)
	}
}

// preempted prints the totals of evictions.
func (e *env) preempted() string {
	var m scheduler.Metrics
	e.s.View(func(v scheduler.View) { m = v.Metrics() })
	return fmt.Sprintf("%d victims, %d requeues, lost %d GPU-seconds, %d CPU-seconds\n", m.Preemptions, m.Requeues, m.LostGPU, m.LostCPU)
}

// targets names who gets a signal.
func targets(d *scheduler.Decision) string {
	switch {
	case d.Steps && d.Batch:
		return "all"
	case d.Batch:
		return "batch"
	}
	return "steps"
}
