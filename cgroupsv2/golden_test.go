package cgroupsv2

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The scripts of testdata: configurations in, plans, filters and programs out.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		w := world{conf: DefaultConf(), node: Node{RealMemory: 16000, TracksMemory: true}}
		datadriven.RunTest(t, path, w.run)
	})
}

type world struct {
	conf Conf
	node Node
}

func (w *world) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "conf":
		c, warnings, err := ParseConf(d.Input)
		if err != nil {
			return err.Error()
		}
		w.conf = c
		if d.HasArg("show") {
			warnings = append(warnings, fmt.Sprintf("%+v", c))
		}
		return strings.Join(warnings, "\n")
	case "node":
		w.node = w.scanNode(d)
		return "controllers: " + strings.Join(w.conf.Controllers(&w.node), " ")
	case "memory":
		m := w.conf.Memory(number64(d, "alloc"), w.node.RealMemory)
		return fmt.Sprintf("max=%d high=%d swap=%d", m.Max, m.High, m.Swap)
	case "start":
		return text(w.conf.AppendStart(nil, &w.node, scanJob(d), scanStep(d)))
	case "stop":
		return text(w.conf.AppendStop(nil, scanJob(d), scanStep(d).ID, d.HasArg("keep")))
	case "resize":
		w.node.Grow = d.HasArg("grow")
		ops, err := w.conf.AppendResize(nil, &w.node, scanJob(d), []Step{*scanStep(d)}, number64(d, "to"))
		if err != nil {
			return err.Error()
		}
		return text(ops)
	case "filter", "program":
		f := filterOf(t, d.Input)
		if d.Cmd == "filter" {
			return string(f.Append(nil))
		}
		return fmt.Sprint(f.Compile())
	case "sluid":
		var out []string
		for line := range strings.Lines(d.Input) {
			var c, seq uint16
			var ms uint64
			fmt.Sscan(line, &c, &ms, &seq)
			s := NewSLUID(c, ms, seq)
			back, err := ParseSLUID(s.String())
			out = append(out, fmt.Sprint(s, " ", back == s, " ", err))
		}
		return strings.Join(out, "\n")
	}
	return "no such command"
}

func text(ops []Op) string {
	var b []byte
	for i := range ops {
		b = append(ops[i].Append(b), '\n')
	}
	return string(b)
}

func arg(d *datadriven.TestData, key string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return strings.Join(a.Vals, ",")
		}
	}
	return ""
}

func number64(d *datadriven.TestData, key string) int64 {
	n, _ := strconv.ParseInt(arg(d, key), 10, 64)
	return n
}

func set(d *datadriven.TestData, key string) []uint64 {
	words, err := ParseList(arg(d, key))
	if err != nil {
		panic(err)
	}
	return words
}

// scanNode reads one record a line: the files, as c195:0 c240:1.
func (w *world) scanNode(d *datadriven.TestData) Node {
	n := Node{RealMemory: number64(d, "real"), TracksMemory: !d.HasArg("untracked"), PIDs: number64(d, "pids"), Mems: set(d, "mems")}
	for line := range strings.Lines(d.Input) {
		var record []Device
		for word := range strings.FieldsSeq(line) {
			record = append(record, deviceOf(word))
		}
		n.Records = append(n.Records, record)
	}
	return n
}

func deviceOf(word string) Device {
	d := Device{Type: CharDevice}
	switch word[0] {
	case 'b':
		d.Type = BlockDevice
	case 'a':
		d.Type = AnyDevice
	}
	maj, mnr, _ := strings.Cut(word[1:], ":")
	d.Major, d.Minor = numberOf(maj), numberOf(mnr)
	return d
}

func numberOf(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return AnyNumber
	}
	return uint32(n)
}

func filterOf(t *testing.T, input string) Filter {
	var f Filter
	for line := range strings.Lines(input) {
		w := strings.Fields(line)
		if w[1] == "rest" {
			f.Allow = w[0] == "allow"
			continue
		}
		r := Rule{Device: deviceOf(w[1]), Allow: w[0] == "allow"}
		if len(w) > 2 {
			for _, c := range w[2] {
				r.Access |= map[rune]Access{'m': Mknod, 'r': Read, 'w': Write}[c]
			}
		}
		f.Rules = append(f.Rules, r)
	}
	return f
}

func scanJob(d *datadriven.TestData) *Job {
	return &Job{SLUID: NewSLUID(2, 0, 1), ID: uint64(number64(d, "job")), CPUs: set(d, "cpus"), Memory: number64(d, "mem"), Held: set(d, "held")}
}

// scanStep reads the arguments and a task a line: rank, and what it holds.
func scanStep(d *datadriven.TestData) *Step {
	s := &Step{CPUs: set(d, "step-cpus"), Memory: number64(d, "step-mem"), Held: set(d, "step-held"), OOMKill: d.HasArg("oomkill")}
	switch id := arg(d, "step"); id {
	case "batch":
		s.ID = StepBatch
	case "extern":
		s.ID = StepExtern
	case "interactive":
		s.ID = StepInteractive
	default:
		s.ID = StepID(number64(d, "step"))
	}
	for line := range strings.Lines(d.Input) {
		w := strings.Fields(line)
		rank, _ := strconv.Atoi(w[0])
		task := Task{Rank: int32(rank)}
		for _, a := range w[1:] {
			if m, ok := strings.CutPrefix(a, "mem="); ok {
				task.Memory, _ = strconv.ParseInt(m, 10, 64)
			} else {
				task.Bound = true
				task.Held, _ = ParseList(a)
			}
		}
		s.Tasks = append(s.Tasks, task)
	}
	return s
}
