package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A variation makes of a recorded file one in which the same must happen.
type variation struct {
	name  string
	text  func(string) string                         // of the file, nil as it is
	edit  func(f *recordedFile, c *recordedCase) bool // of a case; false if it has no such form
	runs  manner
	areas string // to which it applies, "" all
}

const placing = "topology gres"

// variations are what nothing may depend on.
var variations = []variation{
	{name: "renamed", text: renameNodes, runs: asRecorded},
	{name: "crowd", edit: besideOthers(false), runs: asRecorded},
	{name: "busy crowd", edit: besideOthers(true), runs: asRecorded},
	{name: "reserved crowd", edit: besideReserved("Flags=IGNORE_JOBS"), runs: asRecorded},
	{name: "floating reservation", edit: besideReserved("Flags=TIME_FLOAT"), runs: asRecorded},
	{name: "reserved cores", edit: besideReserved("CoreCnt=2"), runs: asRecorded},
	{name: "maintenance", edit: besideReserved("Flags=MAINT"), runs: asRecorded},
	{name: "settings", edit: settings, runs: asRecorded, areas: placing + " limits backfill"},
	{name: "long options", edit: respell(longOptions), runs: asRecorded},
	{name: "options backwards", edit: respell(backwards), runs: asRecorded},
	{name: "per node", edit: respell(perNode), runs: asRecorded},
	{name: "minutes", edit: respell(inSeconds), runs: asRecorded},
	{name: "state backwards", edit: stateBackwards, runs: asRecorded, areas: placing},
	{name: "first runs", edit: alreadyRuns(1), runs: asRecorded, areas: placing},
	{name: "all but the last run", edit: alreadyRuns(1 << 30), runs: asRecorded, areas: placing},
	{name: "last not submitted", edit: withoutLast, runs: asRecorded, areas: placing + " limits"},
	{name: "together", runs: manner{passes: 6, together: true}, areas: placing},
	{name: "later", runs: manner{passes: 6, later: 49 * time.Hour}},
	{name: "many passes", runs: manner{passes: 40}, areas: placing + " limits preempt"},
}

// TestVariations runs recorded cases in forms in which the same must happen: other
// names and spellings, other clusters beside, what ran placed or adopted. A sample
// of the cases, with BERTH_DEEP all.
func TestVariations(t *testing.T) {
	step := 197
	if os.Getenv("BERTH_DEEP") != "" {
		step = 1
	}
	texts := map[string][]string{}
	areas := []string{"topology", "gres", "limits", "preempt", "backfill"}
	for _, area := range areas {
		list, err := filepath.Glob(filepath.Join("..", "..", "testdata", "recorded", area, "*.json.gz"))
		if err != nil || len(list) == 0 {
			t.Fatalf("no recordings of %s: %v", area, err)
		}
		for _, path := range list {
			texts[area] = append(texts[area], readText(t, path))
		}
	}
	at := 0
	for i := range variations {
		v := &variations[i]
		t.Run(v.name, func(t *testing.T) {
			for _, area := range areas {
				for _, text := range texts[area] {
					if v.areas == "" || strings.Contains(v.areas, area) {
						at = v.run(t, text, area, at, step)
					}
				}
			}
		})
	}
}

// run runs every step-th case of a file in the form of v.
func (v *variation) run(t *testing.T, text, area string, at, step int) int {
	if v.text != nil {
		text = v.text(text)
	}
	var f recordedFile
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	f.Area = area
	files := f.Files
	for i := range f.Cases {
		if at++; at%step != 0 || len(f.Cases[i].Suspect) > 0 {
			continue
		}
		f.Files = maps.Clone(files)
		c := &f.Cases[i]
		if v.edit != nil && !v.edit(&f, c) {
			continue
		}
		if diff := runCase(&f, c, v.runs); diff != "" {
			t.Errorf("%s/%s/%s:\n%s", area, f.Name, c.ID, diff)
		}
	}
	return at
}

func readText(t *testing.T, path string) string {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// nodeName matches where a node's name begins: n or g before a number.
var nodeName = regexp.MustCompile(`(^|[^-\w/.:])([ng])(\[?\d)`)

// renameNodes gives all nodes other names in the same order.
func renameNodes(text string) string {
	text = nodeName.ReplaceAllString(text, "${1}${2}ode-$3")
	return nodeName.ReplaceAllString(text, "${1}${2}ode-$3") // names share their commas
}

var allNodes = regexp.MustCompile(`Nodes=ALL\b`)

// besideOthers puts other nodes before and behind those of a case, in a partition
// of their own; busy, with a job on some and another that waits for more.
func besideOthers(busy bool) func(*recordedFile, *recordedCase) bool {
	return func(f *recordedFile, c *recordedCase) bool {
		var conf string
		if json.Unmarshal(f.Files["slurm.conf"], &conf) != nil || strings.Contains(conf, "DefaultPartition") {
			return false
		}
		for i := range c.State.Reservations {
			if strings.Contains(strings.Join(c.State.Reservations[i].Args, " "), "=ALL") {
				return false
			}
		}
		var names []string
		for line := range strings.Lines(conf) {
			if rest, ok := strings.CutPrefix(line, "NodeName="); ok {
				names = append(names, strings.Fields(rest)[0])
			}
		}
		conf = allNodes.ReplaceAllString(conf, "Nodes="+strings.Join(names, ","))
		conf += "NodeName=aa[001-061] CPUs=4 CoresPerSocket=4 RealMemory=8000 Weight=7 Feature=odd\n" +
			"NodeName=zz[1-3] CPUs=8 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=8000 CoreSpecCount=1\n" +
			"PartitionName=others Nodes=aa[001-061],zz[1-3] MaxTime=INFINITE DefaultTime=9000 OverSubscribe=FORCE:2 MaxCPUsPerNode=4\n" +
			"PartitionName=least Nodes=zz[1-3] MaxTime=INFINITE DefaultTime=9000 LLN=YES\n"
		f.Files["slurm.conf"], _ = json.Marshal(conf)
		if !busy {
			return true
		}
		if strings.Contains(conf, "bf_max_job_user") {
			return false // the waiting job counts
		}
		start, end := int64(0), int64(9000*60)
		for _, j := range []recordedJob{
			{Name: "beside", Args: []string{"-N1", "-n3", "-p", "others", "--mem=10"}, Result: &recordedAnswer{Alloc: []recordedAlloc{{Nodes: "aa007", CPUIDs: "0-2", Mem: 10}}}},
			{Name: "alone", Args: []string{"-N1", "-n1", "-p", "least", "--mem=10", "--exclusive=user"}, Result: &recordedAnswer{Alloc: []recordedAlloc{{Nodes: "zz2", CPUIDs: "0-1", Mem: 10}}}},
		} {
			j.Result.NumNodes, j.Result.NumCPUs, j.Result.Start, j.Result.End = 1, 3, &start, &end
			c.State.Running = append(slices.Clone(c.State.Running), j)
		}
		c.Submit = append([]recordedJob{{Name: "waiter", Args: []string{"-N64", "--exclusive", "-p", "others", "--mem=10"}}}, c.Submit...)
		return true
	}
}

// besideReserved has one of the other nodes drained and one reserved.
func besideReserved(how string) func(*recordedFile, *recordedCase) bool {
	return func(f *recordedFile, c *recordedCase) bool {
		if !besideOthers(false)(f, c) {
			return false
		}
		c.State.Drained = strings.Trim(c.State.Drained+",aa009", ",")
		c.State.Reservations = append(slices.Clone(c.State.Reservations), recordedReservation{Name: "beside",
			Args: []string{"ReservationName=beside", "Users=root", "StartTime=now+1200", "Duration=30", "PartitionName=others", "Nodes=zz3", how}})
		return true
	}
}

// settings turns on what no job of a case makes use of.
func settings(f *recordedFile, c *recordedCase) bool {
	var conf string
	if json.Unmarshal(f.Files["slurm.conf"], &conf) != nil || strings.Contains(conf, "Preempt") || strings.Contains(conf, "Licenses=") {
		return false
	}
	conf = strings.Replace(conf, "SchedulerParameters=", "SchedulerParameters=default_queue_depth=1000,bf_licenses,bf_yield_interval=1000000,", 1)
	conf += "PreemptType=preempt/qos\nPreemptMode=REQUEUE\nLicenses=unused:4\n"
	f.Files["slurm.conf"], _ = json.Marshal(conf)
	return true
}

// An option is an option of a command line with its value, "" for none.
type option struct{ name, value string }

// options takes a command line apart.
func options(args []string) (out []option) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.HasPrefix(a, "--"):
			name, value, _ := strings.Cut(a, "=")
			out = append(out, option{name, value})
		case len(a) > 2:
			out = append(out, option{a[:2], a[2:]})
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			i++
			out = append(out, option{a, args[i]})
		default:
			out = append(out, option{a, ""})
		}
	}
	return out
}

// respell rewrites the command lines of a case; it reports whether any changed.
func respell(how func([]option) bool) func(*recordedFile, *recordedCase) bool {
	return func(_ *recordedFile, c *recordedCase) bool {
		changed := false
		for _, jobs := range [][]recordedJob{c.State.Running, c.Submit} {
			for i := range jobs {
				opts := options(jobs[i].Args)
				changed = how(opts) || changed
				var args []string
				for _, o := range opts {
					switch {
					case o.value == "":
						args = append(args, o.name)
					case strings.HasPrefix(o.name, "--"):
						args = append(args, o.name+"="+o.value)
					default:
						args = append(args, o.name, o.value)
					}
				}
				jobs[i].Args = args
			}
		}
		return changed
	}
}

var longNames = map[string]string{
	"-N": "--nodes", "-n": "--ntasks", "-c": "--cpus-per-task", "-t": "--time", "-p": "--partition", "-A": "--account",
	"-w": "--nodelist", "-x": "--exclude", "-m": "--distribution", "-L": "--licenses",
}

func longOptions(opts []option) (changed bool) {
	for i := range opts {
		if long := longNames[opts[i].name]; long != "" {
			opts[i].name, changed = long, true
		}
	}
	return changed
}

// backwards turns the order around if no option is given twice: the last counts.
func backwards(opts []option) bool {
	for i := range opts {
		if slices.ContainsFunc(opts[:i], func(o option) bool { return o.name == opts[i].name }) {
			return false
		}
	}
	slices.Reverse(opts)
	return len(opts) > 1
}

// perNode asks for GPUs of a node by the other of two options.
func perNode(opts []option) bool {
	gpus := 0
	for _, o := range opts {
		if o.name == "--gpus-per-node" || o.name == "--gres" {
			gpus++
		}
	}
	for i := range opts {
		if gpus != 1 {
			break // both at once are refused
		}
		o := &opts[i]
		switch rest, gpu := strings.CutPrefix(o.value, "gpu:"); {
		case o.name == "--gres" && gpu && !strings.Contains(rest, ","):
			*o = option{"--gpus-per-node", rest}
			return true
		case o.name == "--gpus-per-node":
			*o = option{"--gres", "gpu:" + o.value}
			return true
		}
	}
	return false
}

// inSeconds writes time limits of whole minutes as minutes and seconds.
func inSeconds(opts []option) (changed bool) {
	for i := range opts {
		if o := &opts[i]; o.name == "-t" || o.name == "--time-min" {
			if _, err := strconv.Atoi(o.value); err == nil {
				o.value, changed = o.value+":00", true
			}
		}
	}
	return changed
}

func stateBackwards(_ *recordedFile, c *recordedCase) bool {
	slices.Reverse(c.State.Running)
	return len(c.State.Running) > 1
}

// alreadyRuns lets up to n of the first submissions run when the case begins if
// that is what became of them; the last is submitted.
func alreadyRuns(n int) func(*recordedFile, *recordedCase) bool {
	return func(_ *recordedFile, c *recordedCase) bool {
		changed := false
		var rest []recordedJob
		for i := range c.Submit {
			j := c.Submit[i]
			var a recordedAnswer
			if i >= n || i == len(c.Submit)-1 || json.Unmarshal(c.Expect[j.Name], &a) != nil || a.State != "RUNNING" {
				rest = append(rest, j)
				continue
			}
			j.Result, changed = &a, true
			c.State.Running = append(c.State.Running, j)
			delete(c.Expect, j.Name)
		}
		c.Submit = rest
		return changed
	}
}

func withoutLast(_ *recordedFile, c *recordedCase) bool {
	k := len(c.Submit) - 1
	if k < 1 {
		return false
	}
	delete(c.Expect, c.Submit[k].Name)
	c.Submit = c.Submit[:k]
	return true
}

// A case's text is renamed in every place.
func TestRenameNodes(t *testing.T) {
	for text, want := range map[string]string{
		`"NodeName=n[01-16] CPUs=4"`:        `"NodeName=node-[01-16] CPUs=4"`,
		`["-w", "g1,g[2-3]", "-n4", "-N1"]`: `["-w", "gode-1,gode-[2-3]", "-n4", "-N1"]`,
		`"--gres=gpu:g1"`:                   `"--gres=gpu:g1"`,
		"Nodes=n1,n2,n3\\nSwitchName=s1 n":  "Nodes=node-1,node-2,node-3\\nSwitchName=s1 n",
	} {
		if got := renameNodes(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
	if bytes.Contains([]byte(renameNodes("-n4")), []byte("node")) {
		t.Error("options are no nodes")
	}
}
