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
	c, err := compareBoth("", o, stderr)
	if err != nil {
		return err
	}
	return writeComparison(stdout, []comparison{c})
}

// compareBoth runs one input in each profile.
func compareBoth(name string, o *options, stderr io.Writer) (comparison, error) {
	c := comparison{name: name}
	for i, profile := range compared {
		one := *o
		one.compare, one.profile = true, profile
		r, err := runOnce(&one, new(table), stderr)
		if err != nil {
			return c, fmt.Errorf("profile %s: %w", profile, err)
		}
		if c.name == "" {
			c.name = r.Title
		}
		c.fig[i] = outcome.Measure(r)
	}
	return c, nil
}

// compareSuite compares the profiles on each line of a file: a name, then flags.
// Blank lines and lines that begin with # say nothing.
func compareSuite(o *options, stdout, stderr io.Writer) error {
	file, err := os.Open(o.suite)
	if err != nil {
		return err
	}
	defer file.Close()
	var list []comparison
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
		tellLine(stderr, words[0])
		c, err := compareBoth(words[0], one, stderr)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", o.suite, n, err)
		}
		list = append(list, c)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return writeComparison(stdout, list)
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

// writeComparison writes one table of all, and the sums over several.
func writeComparison(w io.Writer, list []comparison) error {
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
			t.Rows = append(t.Rows, append([]string{name, compared[k], fmt.Sprint(f.Jobs)}, compareCells(f, &c.fig[0])...))
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
			t.Rows = append(t.Rows, []string{name, compared[k], fmt.Sprint(jobs[k]), outcome.Span(sum[k] / max(jobs[k], 1)), change(sum[k], sum[0]), "", "", "", "", "", ""})
		}
	}
	_, err := w.Write(outcome.AppendTable(nil, &t))
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
	return fmt.Sprintf("%+.1f %%", (x/base-1)*100)
}
