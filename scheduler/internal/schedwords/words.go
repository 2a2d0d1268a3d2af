// Package schedwords knows the words of Slurm's SchedulerParameters: which of
// them decisions follow, which have no effect though they concern decisions, and
// which concern no decision of a library. slurmconf reads files with it, schedtest
// its scripts.
package schedwords

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/scheduler"
)

// A Use says what becomes of a word.
type Use uint8

// What becomes of a word.
const (
	// Unknown: Slurm 26.05 has no such word.
	Unknown Use = iota
	// Acts: decisions follow it.
	Acts
	// Unenforced: it concerns decisions and has no effect here;
	// [scheduler.Unenforced] names it.
	Unenforced
	// Elsewhere: it concerns no decision of a library.
	Elsewhere
)

// An Item is a word with its value, empty if it has none. Name is in lower case.
type Item struct{ Name, Value string }

// UseOf says what becomes of a word, given in lower case.
func UseOf(name string) Use {
	switch _, acts := setters[name]; {
	case unenforcedWords[name] != "":
		return Unenforced
	case acts, budgetWords[name]:
		return Acts
	case elsewhereWords[name]:
		return Elsewhere
	}
	return Unknown
}

// Known lists the words that are not Unknown, in order.
func Known() []string {
	var out []string
	for w := range setters {
		out = append(out, w)
	}
	for w := range unenforcedWords {
		out = append(out, w)
	}
	for _, m := range []map[string]bool{budgetWords, elsewhereWords} {
		for w := range m {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Set sets in p what known words say. An error comes with the index of the word
// that is wrong; those before it are set.
func Set(p *scheduler.Parameters, items []Item) (int, error) {
	for i := range items {
		if err := set(p, &items[i]); err != nil {
			return i, err
		}
	}
	wallClock(p, items)
	return 0, nil
}

func set(p *scheduler.Parameters, it *Item) error {
	if budgetWords[it.Name] {
		_, err := number64(it.Value, -1, 1<<40)
		return err
	}
	w, ok := setters[it.Name]
	if !ok {
		if why := unenforcedWords[it.Name]; why != "" {
			p.Unheeded = append(p.Unheeded, it.Name+": "+why)
		}
		return nil
	}
	n, text, err := int64(0), it.Value, error(nil)
	switch {
	case w.hi != 0:
		n, err = number64(it.Value, w.lo, w.hi)
	case it.Name == "bf_hetjob_prio":
		if text = strings.ToLower(text); text != "min" && text != "avg" && text != "max" {
			err = fmt.Errorf("one of min, avg, max is wanted")
		}
	}
	if err == nil {
		w.set(p, n, text)
	}
	return err
}

func number64(text string, lo, hi int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("a number is wanted")
	case n < lo || n > hi:
		return 0, fmt.Errorf("a number in [%d, %d] is wanted", lo, hi)
	}
	return n, nil
}

func words(s string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// budgetWords bound Slurm's work in seconds; see wallClock.
var budgetWords = words(`bf_max_time bf_yield_interval bf_yield_sleep max_sched_time`)

// unenforcedWords concern decisions and have no effect, and say why. Those that
// have a field all the same are named by its value.
var unenforcedWords = map[string]string{
	"bb_array_stage_cnt":          "burst buffers are counted, not staged",
	"bf_hetjob_immediate":         "heterogeneous jobs are refused",
	"bf_hetjob_prio":              "heterogeneous jobs are refused",
	"bf_ignore_newly_avail_nodes": "what comes free in the middle of a planning pass may be used by the rest of it",
	"bf_max_job_array_resv":       "arrays are refused",
	"bf_topopt_enable":            "a job is planned at its earliest start, however that cuts up the topology",
	"bf_topopt_iterations":        "a job is planned at its earliest start, however that cuts up the topology",
	"correspond_after_task_cnt":   "arrays are refused",
	"default_gbytes":              "memory without a unit is in MiB",
	"delay_boot":                  "nodes are not booted for features",
	"extra_constraints":           "what jobs and nodes say in extra is not compared",
	"max_array_tasks":             "arrays are refused",
	"permit_job_expansion":        "running jobs are not resized",
	"time_min_as_soft_limit":      "a least time is when a job may end at the earliest, not when it is expected to",
	"whole_hetjob":                "heterogeneous jobs are refused",
}

// elsewhereWords concern no decision of a library: when the controller looks
// at its queue, which the calls of the embedding program replace; locks and
// remote calls; the rights of users; texts and steps of commands; hardware
// that the node lines state.
var elsewhereWords = words(`
batch_sched_delay build_queue_timeout defer defer_batch sched_min_interval
enable_job_state_cache max_rpc_cnt no_backup_scheduling
disable_job_shrink enable_user_top
disable_hetjob_steps enable_hetjob_steps max_script_size max_submit_line_size no_env_cache
requeue_setup_env_fail salloc_wait_nodes sbatch_wait_nodes step_retry_count step_retry_time
ignore_numa
`)

// movedWords were words of SchedulerParameters once, and where they are now.
var movedWords = map[string]string{
	"preempt_reorder_count":    "reorder_count of PreemptParameters",
	"preempt_strict_order":     "strict_order of PreemptParameters",
	"preempt_youngest_first":   "youngest_first of PreemptParameters",
	"preempt_send_user_signal": "send_user_signal of PreemptParameters",
	"topo_optional":            "TopoOptional of TopologyParam",
}

// Warning is what to say of a word that is Unknown.
func Warning(name string) string {
	if now := movedWords[name]; now != "" {
		return "no word of SchedulerParameters any more, ignored: it is " + now
	}
	return "unknown word of SchedulerParameters, ignored"
}
