package sbatch

import (
	"math"
	"strings"
)

func setGRES(o *Options, v string) error          { return setRequest(&o.Spec.GRES, v) }
func setGPUs(o *Options, v string) error          { return setRequest(&o.Spec.GPUs, v) }
func setGPUsPerNode(o *Options, v string) error   { return setRequest(&o.Spec.GPUsPerNode, v) }
func setGPUsPerSocket(o *Options, v string) error { return setRequest(&o.Spec.GPUsPerSocket, v) }
func setGPUsPerTask(o *Options, v string) error   { return setRequest(&o.Spec.GPUsPerTask, v) }

// setRequest keeps a list of devices. The command takes any text here: what it
// means, and whether the cluster has it, is for the controller (package gres
// has the grammar).
func setRequest(dst *string, v string) error {
	if strings.TrimSpace(v) == "" {
		return valueErr("a list of devices is wanted")
	}
	*dst = v
	return nil
}

// notPerTask are resources that no task can ask for.
var notPerTask = map[string]bool{"mem": true, "energy": true, "node": true, "billing": true, "fs": true, "vmem": true, "pages": true, "bb": true}

// setTRESPerTask reads cpu=n,gres/gpu[:type]=n,license/x=n with = or : before
// the count.
func setTRESPerTask(o *Options, v string) error {
	items := 0
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			return valueErr("a resource is wanted between the commas")
		}
		items++
		end := strings.IndexAny(item, "/:=")
		if end < 0 {
			return valueErr("a resource with a count is wanted: %q", item)
		}
		name := strings.ToLower(item[:end])
		if notPerTask[name] {
			return valueErr("%s cannot be asked per task", name)
		}
		if name == "cpu" {
			if _, err := parseInt(item[end+1:], 1, math.MaxInt32); err != nil || item[end] == '/' {
				return valueErr("cpu=count is wanted")
			}
		}
	}
	if items == 0 {
		return valueErr("a resource is wanted")
	}
	o.Spec.TRESPerTask = v
	return nil
}

// names reports whether a list of devices names one of the given ones.
func names(listText string, want ...string) bool {
	found := false
	scanGRES(listText, "", func(name, _, _ string) {
		for _, w := range want {
			found = found || strings.EqualFold(name, w)
		}
	})
	return found
}

var gresFlagWords = []string{"enforce-binding", "disable-binding", "one-task-per-sharing", "multiple-tasks-per-sharing", "allow-task-sharing", "help"}

func setGRESFlags(o *Options, v string) error {
	for _, f := range list(v) {
		if _, err := oneOf(f, gresFlagWords...); err != nil {
			return err
		}
	}
	o.Spec.GRESFlags = v
	return nil
}

// A GPUBindError is a --gpu-bind that Slurm's command does not know.
type GPUBindError struct{ Value string }

// Error returns the text of Slurm's command.
func (e *GPUBindError) Error() string { return "Invalid --gpu-bind argument: " + e.Value }

// Unwrap returns ErrValue.
func (e *GPUBindError) Unwrap() error { return ErrValue }

// setGPUBind reads [verbose,]type with type closest, none, single:n,
// per_task:n, map:list, map_gpu:list, mask:list or mask_gpu:list.
func setGPUBind(o *Options, v string) error {
	rest := strings.ToLower(v)
	for _, p := range []string{"verbose,", "v,", "quiet,", "q,"} {
		rest = strings.TrimPrefix(rest, p)
	}
	kind, arg, has := strings.Cut(rest, ":")
	ok := false
	switch kind {
	case "closest", "none", "verbose", "v", "quiet", "q":
		ok = !has
	case "single", "per_task": // single:0 is taken and runs
		_, err := parseInt(arg, 0, math.MaxInt32)
		ok = has && err == nil
	case "map", "map_gpu", "mask", "mask_gpu":
		ok = has && arg != ""
	}
	if !ok {
		return &GPUBindError{v}
	}
	o.keep("gpu-bind", v)
	return nil
}

func setTRESBind(o *Options, v string) error { o.Spec.TRESBind = v; return nil }

var gpuFreqWords = map[string]bool{"low": true, "medium": true, "highm1": true, "high": true, "verbose": true}

// setGPUFreq reads [type=]value[,type=value][,verbose] with type memory.
func setGPUFreq(o *Options, v string) error {
	for _, f := range list(strings.ToLower(v)) {
		if t, val, ok := strings.Cut(f, "="); ok {
			if t != "memory" {
				return valueErr("memory is the only type of --gpu-freq")
			}
			f = val
		}
		if !gpuFreqWords[f] {
			if _, err := parseInt(f, 1, math.MaxInt32); err != nil {
				return valueErr("low, medium, highm1, high or a frequency is wanted")
			}
		}
	}
	o.Spec.GPUFreq = v
	return nil
}
