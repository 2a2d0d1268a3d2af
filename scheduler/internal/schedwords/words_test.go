package schedwords

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berth-sched/berth/scheduler"
)

// slurmWords are the words of SchedulerParameters in Slurm 26.05.
const slurmWords = `
allow_zero_lic assoc_limit_stop batch_sched_delay bb_array_stage_cnt bf_allow_magnetic_slot bf_busy_nodes bf_continue bf_hetjob_immediate
bf_hetjob_prio bf_ignore_newly_avail_nodes bf_interval bf_job_part_count_reserve bf_licenses bf_max_job_array_resv bf_max_job_assoc bf_max_job_part
bf_max_job_start bf_max_job_test bf_max_job_user bf_max_job_user_part bf_max_time bf_min_age_reserve bf_min_prio_reserve bf_node_space_size
bf_one_resv_per_job bf_resolution bf_running_job_reserve bf_topopt_enable bf_topopt_iterations bf_window bf_window_linear bf_yield_interval
bf_yield_sleep build_queue_timeout correspond_after_task_cnt default_gbytes default_queue_depth defer defer_batch delay_boot disable_hetjob_steps
disable_job_shrink enable_hetjob_steps enable_job_state_cache enable_user_top extra_constraints ignore_constraint_validation ignore_numa
ignore_prefer_validation kill_invalid_depend max_array_tasks max_depend_depth max_rpc_cnt max_sched_time max_script_size max_submit_line_size
max_switch_wait no_backup_scheduling no_env_cache nohold_on_prolog_fail pack_serial_at_end partition_job_depth permit_job_expansion
reduce_completing_frag requeue_delay requeue_setup_env_fail salloc_wait_nodes sbatch_wait_nodes sched_interval sched_max_job_start
sched_min_interval spec_cores_first step_retry_count step_retry_time time_min_as_soft_limit whole_hetjob`

// TestEveryWordHasOneUse walks over all words: each that acts is shown by a
// golden script, each that is not enforced is named by Unenforced, and each that
// concerns no decision stands in the table of slurmconf's documentation.
func TestEveryWordHasOneUse(t *testing.T) {
	scripts := golden(t)
	doc, err := os.ReadFile("../../slurmconf/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	known := Known()
	for _, w := range slices.Concat(known, strings.Fields(slurmWords)) {
		named := scheduler.Unenforced(&scheduler.Config{Profile: scheduler.ProfileSlurm, Parameters: with(t, w)})
		said := slices.ContainsFunc(named, func(s string) bool { return strings.HasPrefix(s, w+":") })
		shown := scripts[w]
		if use := UseOf(w); said != (use == Unenforced) {
			t.Errorf("%s: named by Unenforced is %v, want %v: %q", w, said, use == Unenforced, named)
		}
		switch UseOf(w) {
		case Unknown:
			t.Errorf("%s: not known", w)
		case Acts:
			if shown == "" {
				t.Errorf("%s acts, and no golden script has it", w)
			}
		case Unenforced:
			if shown != "" {
				t.Errorf("%s is not enforced, and %s has it", w, shown)
			}
		case Elsewhere:
			if shown != "" || elsewhereOnly(w) != nil {
				t.Errorf("%s concerns no decision: script %q, %v", w, shown, elsewhereOnly(w))
			}
			if !regexp.MustCompile(`\b` + w + `\b`).Match(doc) {
				t.Errorf("%s concerns no decision, and slurmconf's table lacks it", w)
			}
		}
	}
	for _, w := range known {
		n := 0
		for _, in := range []bool{unenforcedWords[w] != "", elsewhereWords[w], budgetWords[w] || setters[w].set != nil && unenforcedWords[w] == ""} {
			if in {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is in %d tables, want 1", w, n)
		}
		if !slices.Contains(strings.Fields(slurmWords), w) {
			t.Errorf("%s is no word of Slurm 26.05", w)
		}
	}
}

// with returns parameters in which word w is set.
func with(t *testing.T, w string) scheduler.Parameters {
	var p scheduler.Parameters
	value := "7"
	if w == "bf_hetjob_prio" {
		value = "avg"
	}
	if _, err := Set(&p, []Item{{w, value}}); err != nil {
		t.Errorf("%s=%s: %v", w, value, err)
	}
	return p
}

// elsewhereOnly returns what a word sets though it concerns no decision.
func elsewhereOnly(w string) any {
	if s, ok := setters[w]; ok {
		return s
	}
	return nil
}

// golden returns the words of all golden scripts, with one that has it.
func golden(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	out := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range regexp.MustCompile(`[a-z_]+`).FindAllString(string(b), -1) {
			out[w] = filepath.Base(f)
		}
	}
	return out
}

func TestSetRefuses(t *testing.T) {
	for _, it := range []Item{{"bf_window", "0"}, {"bf_window", "x"}, {"bf_hetjob_prio", "most"}, {"bf_max_time", "-2"}, {"bf_interval", "10801"}} {
		var p scheduler.Parameters
		if _, err := Set(&p, []Item{{"defer", ""}, it}); err == nil {
			t.Errorf("Set(%s=%s): no error", it.Name, it.Value)
		}
	}
}
