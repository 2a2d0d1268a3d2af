package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth/bind"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
)

// A bindFile is a file of steps: what each task of a step saw.
type bindFile struct {
	Name  string
	Files map[string]json.RawMessage
	Cases []bindCase
}

// A bindCase is one srun with Args; a salloc with Alloc and one srun with Args;
// or a salloc with Alloc and Steps, each started while the earlier ones run.
type bindCase struct {
	ID, Kind    string
	Args, Alloc []string
	Steps       [][]string
	Expect      json.RawMessage
	Suspect     []string
}

// A bindStep is how one srun went.
type bindStep struct {
	RC     json.RawMessage `json:"rc,omitempty"`
	Tasks  []bindTask      `json:"tasks,omitempty"`
	Stderr []string        `json:"stderr,omitempty"`
}

// A bindTask is what one task found in its environment.
type bindTask struct {
	Procid  int32  `json:"procid"`
	Nodeid  int32  `json:"nodeid"`
	Localid int32  `json:"localid"`
	Node    string `json:"node"`
	CUDA    string `json:"cuda_visible_devices"`
	Step    string `json:"step_gpus"`
	Job     string `json:"job_gpus"`
	GPUs    string `json:"gpus_on_node"`
	CPUs    string `json:"cpus_on_node"`
	PerNode string `json:"tasks_per_node"`
	Tasks   string `json:"ntasks"`
	GTIDs   string `json:"gtids"`
}

func runBindFile(path string) ([]verdict, error) {
	var f bindFile
	if err := readFile(path, &f); err != nil {
		return nil, err
	}
	var out []verdict
	for i := range f.Cases {
		c := &f.Cases[i]
		out = append(out, verdict{File: f.Name, ID: c.ID, Diff: runBindCase(&f, c), Suspect: len(c.Suspect) > 0})
	}
	return out, nil
}

// runBindCase returns what disagrees.
func runBindCase(f *bindFile, c *bindCase) (diff string) {
	defer func() {
		if p := recover(); p != nil {
			diff = fmt.Sprintf("panic: %v", p)
		}
	}()
	want := make([]bindStep, 1)
	err := json.Unmarshal(c.Expect, &want[0])
	if strings.Contains(c.Kind, "parallel") {
		err = json.Unmarshal(c.Expect, &want)
	}
	if err != nil {
		return "expect: " + err.Error()
	}
	got, err := bindSteps(f, c)
	if err != nil {
		return err.Error()
	}
	var out []string
	for i := range max(len(want), len(got)) {
		var w, g string
		if i < len(want) {
			if want[i].RC == nil {
				want[i].RC = json.RawMessage("0")
			}
			w = want[i].lines()
		}
		if i < len(got) {
			g = got[i].lines()
		}
		if w != g {
			out = append(out, fmt.Sprintf("step %d (alloc %v, args %v, steps %v):\n%swe have:\n%s", i, c.Alloc, c.Args, c.Steps, w, g))
		}
	}
	return strings.Join(out, "\n")
}

func (s *bindStep) lines() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  rc %s %q\n", s.RC, s.Stderr)
	for _, t := range s.Tasks {
		fmt.Fprintf(&b, "  %+v\n", t)
	}
	return b.String()
}

// bindSteps has the engine allocate and runs the steps inside.
func bindSteps(f *bindFile, c *bindCase) ([]bindStep, error) {
	r := &recordedRun{
		file: &recordedFile{Area: "gpu-bind", Name: f.Name, Files: f.Files}, c: &recordedCase{ID: c.ID},
		epoch: recordedEpoch, now: recordedEpoch, ids: map[string]scheduler.JobID{}, errs: map[string]string{}, victims: map[string]bool{},
	}
	if err := r.load(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	command, alloc, steps := sbatch.Salloc, c.Alloc, [][]string{c.Args}
	if c.Kind == "srun" {
		command, alloc = sbatch.Srun, c.Args
	}
	if c.Steps != nil {
		steps = c.Steps
	}
	job, err := parseBind(command, alloc)
	if err != nil {
		return refusedBind(err)
	}
	job.Spec.ID, job.Spec.Name, job.Spec.User = 1, "j1", "root"
	if err := r.s.Apply(r.now, scheduler.Submit(&job.Spec)); err != nil {
		text := strings.Replace(slurmText(err), "Batch job submission failed", "Unable to allocate resources", 1)
		return []bindStep{refusedStep("1", text)}, nil
	}
	r.pass()
	var held []scheduler.NodeAlloc
	r.s.View(func(v scheduler.View) { held = v.AppendAlloc(nil, 1) })
	if len(held) == 0 {
		return []bindStep{{RC: json.RawMessage(`"blocked"`)}}, nil
	}
	a, err := newBindAlloc(&r.cfg, held)
	if err != nil {
		return nil, err
	}
	var out []bindStep
	for _, args := range steps {
		req := job
		if c.Kind != "srun" {
			if req, err = parseBind(sbatch.Srun, args); err != nil {
				return refusedBind(err)
			}
			inheritBind(req, job)
		}
		step, err := a.run(req)
		if err != nil {
			return nil, err
		}
		out = append(out, step)
	}
	return out, nil
}

func parseBind(command sbatch.Command, args []string) (*sbatch.Options, error) {
	sub, err := sbatch.Parse(sbatch.Input{Command: command, Args: append(slices.Clone(args), "true")})
	if err != nil {
		return nil, err
	}
	return &sub.Components[0], nil
}

// refusedBind is what the command itself refuses.
func refusedBind(err error) ([]bindStep, error) {
	if e, ok := errors.AsType[*sbatch.GPUBindError](err); ok {
		return []bindStep{refusedStep("255", "error: "+e.Error())}, nil
	}
	return nil, err
}

func refusedStep(rc, text string) bindStep {
	return bindStep{RC: json.RawMessage(rc), Stderr: []string{text}}
}

// inheritBind fills what srun reads from its allocation's environment: an
// option about GPUs on the command line beats all of them there.
func inheritBind(own, job *sbatch.Options) {
	o, j := &own.Spec, &job.Spec
	if o.Tasks == 0 && o.MinNodes == 0 {
		o.Tasks = j.Tasks
	}
	if o.CPUsPerTask == 0 {
		o.CPUsPerTask = j.CPUsPerTask
	}
	if _, ok := own.Last("gres"); ok || o.GPUs != "" || o.GPUsPerNode != "" || o.GPUsPerTask != "" || o.TRESPerTask != "" || o.TasksPerGPU > 0 {
		return
	}
	o.GPUs, o.GPUsPerTask, o.TRESPerTask, o.TasksPerGPU = j.GPUs, j.GPUsPerTask, j.TRESPerTask, j.TasksPerGPU
	if _, ok := own.Last("gpu-bind"); !ok {
		if g, ok := job.Last("gpu-bind"); ok {
			own.Given = append(own.Given, g)
		}
	}
}

// bindingOf is the binding that a step named, or what its counts imply.
func bindingOf(o *sbatch.Options, perTask int32) (bind.Binding, error) {
	if g, ok := o.Last("gpu-bind"); ok {
		return bind.ParseGPUBind(g.Value)
	}
	all, err := bind.ParseTRESBind(o.Spec.TRESBind)
	for i := range all {
		if all[i].Name == "gpu" {
			return all[i].Binding, err
		}
	}
	if err != nil && o.Spec.TRESBind != "" {
		return bind.Binding{}, err
	}
	return bind.ImpliedBinding(perTask, o.Spec.TasksPerGPU), nil
}
