package gres

import (
	"fmt"
	"strconv"
	"strings"
)

// args is what the tests need of a command line beyond Options.
type args struct {
	Options
	nodes, exclude string // -w, -x
	contiguous     bool
	useMin         bool
}

// parseArgs reads the sbatch options that occur in the recorded cases.
func parseArgs(words []string) (args, error) {
	a := args{Options: NewOptions()}
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, val, has := strings.Cut(w, "=")
		if !strings.HasPrefix(w, "--") && len(w) > 2 {
			name, val, has = w[:2], strings.TrimPrefix(w[2:], "="), true
		}
		flagOnly := map[string]bool{"--exclusive": true, "-O": true, "-s": true, "--contiguous": true, "--use-min-nodes": true}
		if !has && !flagOnly[name] {
			i++
			if i == len(words) {
				return a, fmt.Errorf("%s needs a value", name)
			}
			val = words[i]
		}
		if err := a.set(name, val); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a *args) set(name, val string) (err error) {
	num := func() int32 {
		n, e := strconv.Atoi(val)
		if e != nil {
			err = e
		}
		return int32(n)
	}
	switch name {
	case "-n":
		a.Tasks = num()
	case "-c":
		a.CPUsPerTask = num()
	case "-N":
		lo, hi, two := strings.Cut(val, "-")
		val = lo
		a.MinNodes = num()
		a.MaxNodes = a.MinNodes
		if two {
			val = hi
			a.MaxNodes = num()
		}
	case "-w":
		a.nodes = val
		a.ListedNodes = int32(len(hosts(val)))
	case "-x":
		a.exclude = val
	case "--ntasks-per-node":
		a.TasksPerNode = num()
	case "--ntasks-per-socket":
		a.TasksPerSocket = num()
	case "--ntasks-per-core":
		a.TasksPerCore = num()
	case "--threads-per-core":
		a.ThreadsPerCore = num()
	case "--sockets-per-node":
		a.SocketsPerNode = num()
	case "--cores-per-socket":
		a.CoresPerSocket = num()
	case "-B":
		a.Geometry = true
		for i, v := range strings.Split(val, ":") {
			if v != "*" {
				val = v
				*[]*int32{&a.SocketsPerNode, &a.CoresPerSocket, &a.ThreadsPerCore}[i] = num()
			}
		}
	case "--mincpus":
		a.MinCPUs = num()
	case "--mem":
		a.Mem = int64(num())
	case "--mem-per-cpu":
		a.MemPerCPU = int64(num())
	case "--mem-per-gpu":
		a.MemPerGPU = int64(num())
	case "--cpus-per-gpu":
		a.CPUsPerGPU = num()
	case "--ntasks-per-gpu":
		a.TasksPerGPU = num()
	case "--hint":
		a.Hint, err = ParseHint(val)
	case "-O":
		a.Overcommit = true
	case "-s":
		a.Oversubscribe = true
	case "--exclusive":
		a.Exclusive = val == ""
	case "-S":
		a.CoreSpec = num()
	case "--thread-spec":
		a.ThreadSpec = num()
	case "--contiguous":
		a.contiguous = true
	case "--use-min-nodes":
		a.useMin = true
	case "-m":
		a.setDist(val)
	case "--gres":
		a.Asks, err = ParseAsks(a.Asks, PerNode, "gres", val)
	case "--gpus":
		a.Asks, err = ParseGPUs(a.Asks, PerJob, "gpus", val)
	case "--gpus-per-node":
		a.Asks, err = ParseGPUs(a.Asks, PerNode, "gpus-per-node", val)
	case "--gpus-per-socket":
		a.Asks, err = ParseGPUs(a.Asks, PerSocket, "gpus-per-socket", val)
	case "--gpus-per-task":
		a.Asks, err = ParseGPUs(a.Asks, PerTask, "gpus-per-task", val)
	case "--tres-per-task":
		a.Asks, a.TRESCPUs, err = ParseTRESPerTask(a.Asks, val)
	case "--gres-flags":
		a.Flags, err = ParseGRESFlags(val)
	case "--gpu-freq":
		a.GPUFreq = true
		err = CheckGPUFreq(val)
	case "--gpu-bind":
		err = CheckGPUBind(val)
	case "--tres-bind":
		err = CheckTRESBind(val)
	default:
		err = fmt.Errorf("option %s is not known to the test", name)
	}
	return err
}

func (a *args) setDist(val string) {
	parts := strings.Split(val, ":")
	if p, ok := strings.CutPrefix(parts[0], "plane="); ok {
		n, _ := strconv.Atoi(p)
		a.PlaneSize = int32(n)
	}
	if len(parts) > 1 && parts[1] != "*" {
		a.Dist = DistCyclic
		if parts[1] == "block" {
			a.Dist = DistBlock
		}
	}
}

// hosts expands a host list such as "g[1-3,5],h1" without padding.
func hosts(text string) []string {
	var out []string
	for text != "" {
		end := 0
		for depth := 0; end < len(text) && (text[end] != ',' || depth > 0); end++ {
			switch text[end] {
			case '[':
				depth++
			case ']':
				depth--
			}
		}
		item := text[:end]
		text = strings.TrimPrefix(text[end:], ",")
		pre, rest, ok := strings.Cut(item, "[")
		if !ok {
			out = append(out, item)
			continue
		}
		for r := range strings.SplitSeq(strings.TrimSuffix(rest, "]"), ",") {
			lo, hi, two := strings.Cut(r, "-")
			if !two {
				hi = lo
			}
			a, _ := strconv.Atoi(lo)
			b, _ := strconv.Atoi(hi)
			for ; a <= b; a++ {
				out = append(out, fmt.Sprintf("%s%0*d", pre, len(lo), a))
			}
		}
	}
	return out
}

// slurmText returns what Slurm prints for err, or err's own text.
func slurmText(err error) string {
	switch e := err.(type) {
	case *RequestError:
		return e.SlurmText()
	case *ParseError:
		return "error: Invalid Trackable RESource (TRES) specification"
	}
	return err.Error()
}
