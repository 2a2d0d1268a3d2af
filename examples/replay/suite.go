package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// An entry is one input of a comparison.
type entry struct {
	name string
	opts *options
	// where is the line that it comes from, for errors; empty without.
	where string
}

// compareAll runs each input in each profile, as many at once as there are
// processors, and tells on w how far that is. The result does not depend on
// which runs end first.
func compareAll(list []entry, w io.Writer) ([]comparison, error) {
	out := make([]comparison, len(list))
	errs := make([]error, len(list)*len(compared))
	b := newBoard(w, len(errs))
	next := make(chan int)
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(errs)) {
		all.Go(func() {
			for i := range next {
				n, k := i/len(compared), i%len(compared)
				title, fig, err := compareRun(&list[n], k, b)
				out[n].fig[k] = fig
				if errs[i] = err; k == 0 {
					if out[n].name = list[n].name; out[n].name == "" {
						out[n].name = title
					}
				}
			}
		})
	}
	for i := range errs {
		if b.stopped() {
			break
		}
		next <- i
	}
	close(next)
	all.Wait()
	b.clear()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// compareRun runs one input in profile k.
func compareRun(x *entry, k int, b *board) (title string, _ outcome.Figures, err error) {
	one := *x.opts
	one.compare, one.profile = true, compared[k]
	what := strings.TrimSpace(x.name + " " + compared[k])
	one.watch = func(ended, jobs int) { b.tell(what, ended, jobs) }
	began := time.Now()
	r, err := runOnce(&one, new(table), b)
	if err != nil {
		b.stop()
		err = fmt.Errorf("profile %s: %w", compared[k], err)
		if x.where != "" {
			err = fmt.Errorf("%s: %w", x.where, err)
		}
		return "", outcome.Figures{}, err
	}
	fig := outcome.Measure(r)
	b.ended(what, fig.Jobs, time.Since(began))
	return r.Title, fig, nil
}

// A board tells how far several runs are: on a terminal a line that is drawn
// anew, and everywhere a line for each run that has ended.
type board struct {
	mu    sync.Mutex
	w     io.Writer
	live  bool
	runs  int
	done  int
	now   []running
	drawn time.Time
	halt  bool
}

// running is a run and how far it is.
type running struct {
	what        string
	ended, jobs int
}

func newBoard(w io.Writer, runs int) *board {
	return &board{w: w, live: newProgress(w, 0).w != nil, runs: runs}
}

// Write passes on whole lines, warnings of a run.
func (b *board) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
	return b.w.Write(p)
}

// tell notes how many jobs of a run have ended, and draws the line if it is
// time.
func (b *board) tell(what string, ended, jobs int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := 0
	for i < len(b.now) && b.now[i].what != what {
		i++
	}
	if i == len(b.now) {
		b.now = append(b.now, running{what: what})
	}
	b.now[i].ended, b.now[i].jobs = ended, jobs
	if !b.live || time.Since(b.drawn) < drawEach {
		return
	}
	b.drawn = time.Now()
	fmt.Fprint(b.w, "\r\033[K"+b.line())
}

// line says how far all is.
func (b *board) line() string {
	var text strings.Builder
	text.WriteString(fmt.Sprintf("%d of %d runs", b.done, b.runs))
	for _, r := range b.now {
		text.WriteString(fmt.Sprintf(", %s %d %%", r.what, 100*r.ended/max(r.jobs, 1)))
	}
	return text.String()
}

// ended says that a run has ended, and what it took.
func (b *board) ended(what string, jobs int, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done++
	for i := range b.now {
		if b.now[i].what == what {
			b.now = append(b.now[:i], b.now[i+1:]...)
			break
		}
	}
	b.wipe()
	fmt.Fprintf(b.w, "%d of %d: %s, %d jobs in %.1f s\n", b.done, b.runs, what, jobs, took.Seconds())
}

// wipe takes the line away.
func (b *board) wipe() {
	if b.live {
		fmt.Fprint(b.w, "\r\033[K")
	}
}

func (b *board) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
}

// stop keeps further runs from beginning.
func (b *board) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.halt = true
}

func (b *board) stopped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.halt
}

// errNone says that a list holds no input.
var errNone = errors.New("no input in the list")
