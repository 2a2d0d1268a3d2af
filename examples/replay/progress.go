package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// progress draws a bar on a terminal, and nothing elsewhere.
type progress struct {
	w     io.Writer
	jobs  int
	began time.Time
	drawn time.Time
}

// drawEach is the least time between two drawings.
const drawEach = 100 * time.Millisecond

func newProgress(w io.Writer, jobs int) *progress {
	p := &progress{w: w, jobs: jobs, began: time.Now()}
	f, ok := w.(*os.File)
	if !ok {
		p.w = nil
		return p
	}
	if st, err := f.Stat(); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		p.w = nil
	}
	return p
}

// tell draws the bar if it is time.
func (p *progress) tell(ended int, now scheduler.Time) {
	if p.w == nil || time.Since(p.drawn) < drawEach {
		return
	}
	p.drawn = time.Now()
	fmt.Fprint(p.w, "\r"+bar(ended, p.jobs, now, time.Since(p.began)))
}

// bar is one drawing of the bar.
func bar(ended, jobs int, now scheduler.Time, took time.Duration) string {
	const width = 40
	full := width
	if jobs > 0 {
		full = width * ended / jobs
	}
	rate := float64(ended) / max(took.Seconds(), 1e-9)
	return fmt.Sprintf("[%s%s] %d of %d jobs, %.0f jobs/s, day %d ", strings.Repeat("#", full), strings.Repeat(".", width-full), ended, jobs, rate,
		int64(now)/(86400*1e6))
}

// done takes the bar away.
func (p *progress) done() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
