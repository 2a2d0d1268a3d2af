package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// sample is a run of n jobs of one to four GPUs on ten nodes, one after the
// other on each node; every third shares a GPU, every fifth has none.
func sample(n int) *outcome.Run {
	r := &outcome.Run{Title: "a <test> & more", Notes: []string{"note <b>"}, Passes: n}
	for i := range 10 {
		r.Nodes = append(r.Nodes, outcome.Node{Name: fmt.Sprintf("rack-node-%02d", i), MilliCPU: 16000, GPUs: 4, Type: []string{"a", "b"}[i/5]})
	}
	for i := range n {
		at := int64(i/10) * 100 * outcome.Second
		p := outcome.Place{Node: int32(i % 10), MilliCPU: 1000}
		for d := range i % 4 {
			p.Devices = append(p.Devices, outcome.Device{Index: int32(d), Milli: 1000})
		}
		if i%3 == 0 {
			p.Devices = []outcome.Device{{Index: -1, Milli: 250}}
		}
		if i%5 == 0 {
			p.Devices = nil
		}
		r.Jobs = append(r.Jobs, outcome.Job{ID: uint64(i + 1), Name: fmt.Sprint(i), User: fmt.Sprint("user</script>", i%12), State: "COMPLETED", Submit: at / 2,
			Stays: []outcome.Stay{{Start: at, End: at + int64(i%7)*10*outcome.Second, Places: []outcome.Place{p}}},
			Waits: []outcome.Wait{{Reason: "Resources", Time: at / 2}}})
		r.Samples = append(r.Samples, outcome.Sample{At: at, GPUMilli: int64(i%4) * 1000, MilliCPU: 1000, Nodes: 1, Pending: i % 30, Running: 1})
	}
	return r
}

func pageOf(r *outcome.Run) []byte {
	f := outcome.Measure(r)
	return Append(nil, r, &f)
}

func TestPageIsOneFile(t *testing.T) {
	r := sample(8000)
	b := pageOf(r)
	if len(b) > 5<<20 {
		t.Errorf("page of %d bytes, want less than 5 MB", len(b))
	}
	t.Logf("%d jobs: %d bytes", len(r.Jobs), len(b))
	for _, bad := range []string{"http:", "https:", "src=", "href=", "url(", "@import", "NaN", "Inf", "%!"} {
		if bytes.Contains(b, []byte(bad)) {
			t.Errorf("page contains %q", bad)
		}
	}
	if !bytes.Equal(b, pageOf(sample(8000))) {
		t.Error("the same run gives another page")
	}
}

// TestPageIsWellFormed reads the page as XML, void elements closed first.
func TestPageIsWellFormed(t *testing.T) {
	for _, n := range []int{0, 1, 2, 500} {
		b := regexp.MustCompile(`<meta[^>]*>|<!doctype html>`).ReplaceAll(pageOf(sample(n)), nil)
		b = regexp.MustCompile(`(?s)<style>.*</style>|<script.*</script>`).ReplaceAll(b, nil)
		d := xml.NewDecoder(bytes.NewReader(b))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%d jobs: %v", n, err)
			}
		}
		if bytes.Contains(b, []byte("<test>")) || bytes.Contains(b, []byte("note <b>")) {
			t.Error("text is not escaped")
		}
	}
}

func TestPageNamesJobs(t *testing.T) {
	b := string(pageOf(sample(100)))
	_, rest, ok := strings.Cut(b, `<script id="runs" type="application/json">`)
	text, _, ok2 := strings.Cut(rest, "</script>")
	if !ok || !ok2 {
		t.Fatal("no data for the script")
	}
	var d struct {
		W, H  int64
		Rects []int64
		Text  []string
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(d.Rects); i += 5 {
		x, w, y, h, k := d.Rects[i], d.Rects[i+1], d.Rects[i+2], d.Rects[i+3], d.Rects[i+4]
		if x < 0 || w <= 0 || x+w > d.W || y < 0 || h <= 0 || y+h > d.H || k < 0 || k >= int64(len(d.Text)) {
			t.Fatalf("rectangle %v of %d × %d", d.Rects[i:i+5], d.W, d.H)
		}
	}
	if want := "job 1, user</script>1\n1 GPU on 1 node\nwaited 0.0 s, ran 10 s, COMPLETED"; !slices.Contains(d.Text, want) {
		t.Errorf("no job reads %q in %q", want, d.Text[:3])
	}
}

func TestTooManyPieces(t *testing.T) {
	r := sample(0)
	for i := range mostRects + 100 {
		r.Jobs = append(r.Jobs, outcome.Job{Name: "x", State: "COMPLETED", Submit: int64(i) * outcome.Second,
			Stays: []outcome.Stay{{Start: int64(i) * outcome.Second, End: int64(i+1) * outcome.Second, Places: []outcome.Place{{MilliCPU: 1000}}}}})
	}
	b := pageOf(r)
	if !bytes.Contains(b, []byte("100 pieces too short to be seen are left out.")) || len(b) > 5<<20 {
		t.Errorf("page of %d bytes does not say what it leaves out", len(b))
	}
}

// TestTopology: a unit of four nodes, one busy, one half used, and a job of two
// nodes waiting: of the two free ones none is over; with one free it is.
func TestTopology(t *testing.T) {
	job := func(name string, submit, start int64, nodes ...int32) outcome.Job {
		j := outcome.Job{Name: name, State: "COMPLETED", Submit: submit}
		st := outcome.Stay{Start: start, End: start + 10*outcome.Second}
		for _, n := range nodes {
			st.Places = append(st.Places, outcome.Place{Node: n, MilliCPU: 8000})
		}
		j.Stays = []outcome.Stay{st}
		return j
	}
	r := &outcome.Run{Title: "topology", Units: []outcome.Unit{{Name: "rack<1>", Nodes: []int32{0, 1, 2, 3}}}}
	for i := range 4 {
		r.Nodes = append(r.Nodes, outcome.Node{Name: fmt.Sprint("n", i), MilliCPU: 16000})
	}
	r.Jobs = []outcome.Job{job("a", 0, 0, 0), job("b", 0, 0, 1), job("c", 1, 10*outcome.Second, 0, 1)}
	r.Samples = []outcome.Sample{{At: 1, Nodes: 2, Pending: 1, Running: 2}, {At: 10 * outcome.Second}}
	b := string(pageOf(r))
	for _, want := range []string{"<h2>Where things are</h2>", "when 1 job waited", "asks for 2 nodes", "rack&lt;1&gt;", "2 of 4 free", "<title>job a, 1 node</title>"} {
		if !strings.Contains(b, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(b, `class="hatch"`) {
		t.Error("two free nodes serve a job of two, but are hatched")
	}
	r.Jobs[1] = job("b", 0, 0, 1, 2)
	if n := strings.Count(string(pageOf(r)), `class="hatch"`); n != 1 {
		t.Errorf("%d nodes hatched, want the one that is left", n)
	}
}

func TestColumnsOf(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 16: 4, 18: 6, 25: 5, 32: 8, 17: 6} {
		if got := columnsOf(n); got != want {
			t.Errorf("columnsOf(%d) = %d, want %d", n, got, want)
		}
	}
}

// TestPackerNeverOverlaps: as long as what is asked fits, no lane is given
// twice.
func TestPackerNeverOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := packer{capacity: 8}
		var held []hold
		for now := range int64(30) {
			held = slices.DeleteFunc(held, func(h hold) bool { return h.end <= now })
			free := p.capacity
			for _, h := range held {
				free -= h.hi - h.lo
			}
			if free == 0 {
				continue
			}
			need := rapid.Int64Range(1, free).Draw(t, "need")
			got := p.take(nil, now, now+rapid.Int64Range(1, 6).Draw(t, "time"), need)
			var sum int64
			for _, g := range got {
				sum += g.hi - g.lo
				for _, h := range held {
					if g.lo < h.hi && h.lo < g.hi {
						t.Fatalf("%v lies over %v", g, h)
					}
				}
				held = append(held, g)
			}
			if sum != need {
				t.Fatalf("asked %d, got %v", need, got)
			}
		}
	})
}

func TestOverTime(t *testing.T) {
	r := &outcome.Run{Samples: []outcome.Sample{{At: 0, Pending: 2}, {At: 150, Pending: 6}, {At: 600}}}
	p := &page{run: r, t0: 0, t1: 600}
	v := p.overTime(func(s *outcome.Sample) float64 { return float64(s.Pending) })
	var sum float64
	for _, x := range v {
		sum += x
	}
	if want := 2*150 + 6*450.0; sum < want-1e-6 || sum > want+1e-6 || v[149] != 2 || v[150] != 6 {
		t.Errorf("overTime sums to %v, want %v", sum, want)
	}
	if h := p.highest(func(s *outcome.Sample) float64 { return float64(s.Pending) }); h[0] != 2 || h[150] != 6 || h[599] != 6 {
		t.Errorf("highest = %v, %v, %v", h[0], h[150], h[599])
	}
}

func TestLabels(t *testing.T) {
	for sec, want := range map[int64]string{0: "0", 90: "90 s", 900: "15 min", 21600: "6 h", 172800: "2 d", 129600: "1 d 12 h", 5400: "1 h 30 min"} {
		if got := strings.ReplaceAll(timeLabel(sec), "\u202f", " "); got != want {
			t.Errorf("timeLabel(%d) = %q, want %q", sec, got, want)
		}
	}
	for _, us := range []int64{1, outcome.Second, 100 * outcome.Second, 1e12, 1e15, 8e15} {
		if n := len(timeTicks(us, 9)); n < 1 || n > 10 {
			t.Errorf("timeTicks(%d) has %d labels", us, n)
		}
	}
	for _, x := range []float64{0, 0.5, 3, 7, 99, 218, 1e6} {
		if top, step := niceMax(x); top < x || top/step > 6 {
			t.Errorf("niceMax(%v) = %v, %v", x, top, step)
		}
	}
	nodes := sample(0).Nodes
	if got := shortName(nodes[3].Name, commonPrefix(nodes)); got != "…03" {
		t.Errorf("shortName = %q", got)
	}
}
