// Command quickstart embeds the scheduler in one screen: it tells what
// happened, carries out what is decided, and prints why the rest waits.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// subject is what an event is about.
func subject(ev *scheduler.Event) string {
	if ev.Nodes != "" {
		return ev.Nodes + " " + ev.NodeState.String()
	}
	return fmt.Sprint(ev.Job)
}

func run(w io.Writer) error {
	s, err := scheduler.New(scheduler.Config{Nodes: []scheduler.NodeSpec{
		{Names: "gpu[1-4]", Sockets: 2, CoresPerSocket: 32, MemMiB: 1 << 20, GRES: "gpu:h100:8"},
	}}, nil)
	if err != nil {
		return err
	}
	// What happens, and when (in seconds). A real program hears this from its
	// users and its nodes, and sleeps until the next event or s.Wake().
	job := func(id scheduler.JobID, nodes int32, gpus string, limit time.Duration) scheduler.Event {
		return scheduler.Submit(&scheduler.JobSpec{ID: id, User: "ada", MinNodes: nodes, GPUsPerNode: gpus,
			CPUsPerGPU: 4, Mem: scheduler.MemPerGPU, MemMiB: 64 << 10, TimeLimit: limit})
	}
	for _, happened := range []struct {
		at int64
		ev scheduler.Event
	}{
		{0, job(1, 2, "8", time.Hour)},     // two whole nodes
		{0, job(2, 1, "4", 2*time.Hour)},   // half a node
		{10, job(3, 4, "8", time.Hour)},    // the whole cluster: waits
		{20, job(4, 1, "2", time.Hour)},    // short: may pass job 3
		{30, job(5, 1, "8", 24*time.Hour)}, // long: would delay job 3
		{40, scheduler.SetNodes("gpu4", scheduler.NodeDrain, "fan")},
		{50, scheduler.SetNodes("gpu4", scheduler.NodeUp, "")},
		{3000, scheduler.Ended(1, scheduler.JobEnd{})},
	} {
		now := scheduler.Seconds(happened.at)
		fmt.Fprintf(w, "%4d s  %s %s\n", happened.at, happened.ev.Kind, subject(&happened.ev))
		if err := s.Apply(now, happened.ev); err != nil {
			return err
		}
		for _, d := range s.Pass(now, nil) {
			fmt.Fprintf(w, "        -> %s job %d on %s\n", d.Op, d.Job, strings.Join(d.Nodes, ","))
			if d.Op == scheduler.OpStart { // launched: say so
				if err := s.Apply(now, scheduler.Started(&d)); err != nil {
					return err
				}
			}
		}
	}
	fmt.Fprintln(w, "\nstill waiting:")
	var waiting []scheduler.JobID
	s.View(func(v scheduler.View) {
		for id := range v.Queue() {
			waiting = append(waiting, id)
		}
	})
	for _, id := range waiting {
		why, err := s.Explain(id)
		if err != nil {
			return err
		}
		fmt.Fprint(w, why.String())
	}
	return nil
}
