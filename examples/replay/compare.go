package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// The profiles that are compared, the one that sets the measure first.
var compared = [...]string{"slurm", "best"}

// A comparison is one input under both profiles.
type comparison struct {
	name string
	fig  [len(compared)]outcome.Figures
}

// compareOne compares the profiles on one input.
func compareOne(o *options, stdout, stderr io.Writer) error {
	list, err := compareAll([]entry{{opts: o}}, stderr)
	if err != nil {
		return err
	}
	return writeComparison(stdout, list, !o.ownPolicy)
}

// compareSuite compares the profiles on each line of a file: a name, then flags.
// Blank lines and lines that begin with # say nothing.
func compareSuite(o *options, stdout, stderr io.Writer) error {
	file, err := os.Open(o.suite)
	if err != nil {
		return err
	}
	defer file.Close()
	var list []entry
	plain := true
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		words, err := splitWords(lines.Text())
		if err != nil {
			return fmt.Errorf("%s:%d: %w", o.suite, n, err)
		}
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		one, err := parse(append([]string{"-dir", o.dir}, words[1:]...), io.Discard)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", o.suite, n, err)
		}
		plain = plain && !one.ownPolicy
		list = append(list, entry{words[0], one, fmt.Sprintf("%s:%d", o.suite, n)})
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%s: %w", o.suite, errNone)
	}
	done, err := compareAll(list, stderr)
	if err != nil {
		return err
	}
	return writeComparison(stdout, done, plain)
}

// splitWords cuts a line at blanks; what stands between double quotes is one
// word.
func splitWords(line string) ([]string, error) {
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if rest, ok := strings.CutPrefix(line, `"`); ok {
			word, after, ok := strings.Cut(rest, `"`)
			if !ok {
				return nil, fmt.Errorf("%q: no closing quote", line)
			}
			words, line = append(words, word), after
			continue
		}
		word, after, _ := strings.Cut(line, " ")
		words, line = append(words, word), after
	}
	return words, nil
}

// planning says how the profiles plan by themselves.
const planning = `
Both profiles get the same cluster, jobs and time limits. Planning, unless a configuration says otherwise: slurm as Slurm does by
itself (bf_interval=30, bf_resolution=60, bf_window=1440, bf_max_job_test=500), best at every event, for all that wait.
change: of the mean wait, against slurm. late: jobs that started after the first start planned for them.
`

// writeComparison writes one table of all, the sums over several, and, if the
// profiles plan by themselves, how.
func writeComparison(w io.Writer, list []comparison, plain bool) error {
	t := outcome.Table{Head: []string{"trace", "profile", "jobs", "mean wait", "change", "p95 wait", "makespan", "in use", "evictions", "lost GPU hours", "late"}}
	var sum, jobs [len(compared)]float64
	for i := range list {
		c := &list[i]
		for k := range compared {
			f := &c.fig[k]
			name := c.name
			if k > 0 {
				name = ""
			}
			cells := compareCells(f, &c.fig[0])
			if k == 0 {
				cells[1] = "" // the measure itself
			}
			t.Rows = append(t.Rows, append([]string{name, compared[k], fmt.Sprint(f.Jobs)}, cells...))
			sum[k] += f.Wait.Mean * float64(f.Jobs)
			jobs[k] += float64(f.Jobs)
		}
	}
	if len(list) > 1 {
		for k := range compared {
			name := "all"
			if k > 0 {
				name = ""
			}
			diff := ""
			if k > 0 {
				diff = change(sum[k], sum[0])
			}
			t.Rows = append(t.Rows, []string{name, compared[k], fmt.Sprintf("%.0f", jobs[k]), outcome.Span(sum[k] / max(jobs[k], 1)), diff, "", "", "", "", "", ""})
		}
	}
	text := outcome.AppendTable(nil, &t)
	if plain {
		text = append(text, planning...)
	}
	_, err := w.Write(text)
	return err
}

func compareCells(f, base *outcome.Figures) []string {
	used := f.CPUShare
	if f.GPUs > 0 {
		used = f.GPUShare
	}
	evictions := 0
	for _, e := range f.Evictions {
		evictions += e.Jobs + e.Suspended
	}
	return []string{outcome.Span(f.Wait.Mean), change(f.Wait.Mean, base.Wait.Mean), outcome.Span(f.Wait.P95), outcome.Span(f.Makespan),
		fmt.Sprintf("%.1f %%", used*100), fmt.Sprint(evictions), fmt.Sprintf("%.1f", f.LostGPUSeconds/3600), fmt.Sprint(f.Promises.Late)}
}

// change is how much x differs from base, in percent.
func change(x, base float64) string {
	if base == 0 {
		if x == 0 {
			return "0.0 %"
		}
		return ""
	}
	percent := (x/base - 1) * 100
	if -0.05 < percent && percent < 0.05 {
		return "0.0 %"
	}
	return fmt.Sprintf("%+.1f %%", percent)
}
