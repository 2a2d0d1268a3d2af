// Package protocol is what a controller and the agents on its nodes say to
// each other: JSON over HTTP, the agent always asks.
//
//	POST /v1/register   Register -> Registered   once at the agent's start
//	POST /v1/sync       Sync     -> Orders       again and again
//
// A sync tells the whole state of the node, and its answer the whole of what
// should change, so a lost message or a restart on either side needs no repair:
//
//   - A controller repeats a Launch until the step is listed in a Sync, and a
//     Kill, a Signal or a Release until its effect is. The agent does each
//     once, however often it is said: the step's Key tells them apart. A
//     Signal alone may come to the processes twice if the agent dies in the
//     instant between giving it and writing so down.
//   - An agent lists every step that it was given, from the Launch on, until
//     the controller has written down its end and says Release. A step that is
//     not listed and was not launched was never here.
//   - An ended step has left neither processes nor control groups.
//   - A requeued job comes with a new SLUID, hence a new Key.
//
// Fields that a side does not know are ignored; a changed meaning takes a new
// [Version], and an answer 400 says that a version is not spoken.
package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/berth-sched/berth/bind"
)

// Version is that of this package's messages.
const Version = 1

// A Key names one run of one step.
type Key struct {
	SLUID string // s and 13 characters
	Step  int32  // 0, 1, …; -4 extern, -5 batch, -6 interactive
}

// String returns the key as the agent names its files.
func (k Key) String() string { return fmt.Sprintf("%s.%d", k.SLUID, k.Step) }

// Register introduces an agent.
type Register struct {
	Version   int
	Node      string
	Boot      string // changes when the machine was started again
	Inventory Inventory
}

// An Inventory is what the node has. CPUs are numbered as Slurm does:
// socket-major, then core, then thread.
type Inventory struct {
	Sockets, Cores, Threads int32 // cores are per socket, threads per core
	Memory                  int64 // MiB
	GPUs                    []GPU // in the order of their numbers
	Problems                []string
}

// A GPU is one device that jobs can hold: a whole one or a MIG instance.
type GPU struct {
	Type, UUID string
	Files      []string
	Cores      string // near cores, as a list; empty for all
}

// Registered is the answer: the site's cgroup.conf.
type Registered struct {
	Version    int
	CgroupConf string
	// RealMemory is the configured memory of the node in MiB; 0 takes what
	// the inventory has. Without TracksMemory no memory limits are set.
	RealMemory   int64
	TracksMemory bool
}

// Sync is what an agent tells.
type Sync struct {
	Version int
	Node    string
	Boot    string
	Steps   []Status // sorted by key
}

// A State is how far a step is.
type State string

// The states.
const (
	Accepted State = "accepted" // written down, not yet started
	Running  State = "running"  // its tasks were started
	Ended    State = "ended"    // nothing of it is left on the node
)

// A Status is one step on this node.
type Status struct {
	Key
	State   State
	Started int64     // Unix milliseconds, 0 before
	Ended   int64     // the same
	Tasks   []TaskEnd // those that ended, in the order of the ends
	OOM     int64     // processes that the kernel killed for memory
	// Error says why the step could not be run to its end: a fence that the
	// node cannot build, a program that is not there, a lost supervisor.
	Error  string
	Signal uint64 // Seq of the last Signal that was given
	Killed bool   // a Kill was ordered
	Timeup bool   // it ran into its Deadline
}

// A TaskEnd is how one task ended: an exit code, or the signal that ended it.
type TaskEnd struct {
	Rank         int32
	Exit, Signal int
}

// Orders are what an agent shall do.
type Orders struct {
	Launch  []Launch
	Signal  []Signal
	Kill    []Key
	Release []Key
	// AfterMS is how long to wait before the next sync; 0 means a second.
	AfterMS int64
}

// A Launch is one step for this node.
type Launch struct {
	Key
	Place bind.Place
	// Job, Options and StepEnv are what the environment says.
	Job     bind.JobEnv
	Options bind.OptionEnv
	StepEnv bind.StepEnv

	// What the job holds on this node, and the step's part of it: CPUs as
	// lists in Slurm's numbering, MiB (0: no limit asked), numbers of GPUs.
	CPUs, StepCPUs     string
	Memory, StepMemory int64
	GPUs, StepGPUs     []int32
	// BatchGPUs are the job's GPUs on the node of its batch script, which
	// tasks inherit as SLURM_JOB_GPUS.
	BatchGPUs []int32
	UUIDs     bool // name GPUs by unique id, not by number

	NodeID      int32  // position of this node in the step
	CPUsOnNode  int32  // what SLURM_CPUS_ON_NODE says; 0 counts StepCPUs
	Tasks       []Task // of this node, by local rank
	CPUsPerTask int32
	CPUBind     string // --cpu-bind; "none" for no binding
	GPUBind     string // --gpu-bind; empty for none

	Argv   []string // what the tasks run
	Script string   // or, for a batch step, the script's text
	Env    []string // NAME=value, before what the step itself sets
	Dir    string
	// Files for input, output and errors, with %A %a %j %J %N %n %s %t %u %x.
	// Empty: nothing, slurm-%j.out (or slurm-%A_%a.out), and where output goes.
	Stdin, Stdout, Stderr string
	UID, GID              uint32

	// KillOnBadExit ends the step's tasks on this node when one of them fails.
	// Those of other nodes are the controller's to kill.
	KillOnBadExit bool
	OOMKillStep   bool
	// Deadline is the time limit's end in Unix milliseconds, 0 for none: then
	// SIGTERM, and SIGKILL after KillWaitMS. It holds without the controller.
	Deadline, KillWaitMS int64
	// Timed are signals that were decided with the start.
	Timed []TimedSignal
}

// A Task is one task of a step.
type Task struct{ Rank int32 }

// A TimedSignal is a signal at an instant (--signal).
type TimedSignal struct {
	At      int64 // Unix milliseconds
	Signal  int
	Leaders bool // to the tasks' own processes alone, not to their children
}

// A Signal is given to a running step at once. Seq rises with every signal of
// a step; the agent gives those above the last one that it gave.
type Signal struct {
	Key
	Seq     uint64
	Signal  int
	Leaders bool
}

// Post sends a message to a controller and decodes its answer.
func Post(ctx context.Context, c *http.Client, url string, message, answer any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return fmt.Errorf("protocol: post %s: %s: %s", url, resp.Status, bytes.TrimSpace(text))
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}
