// Command nodeagent runs steps on a node for a controller, each inside of a
// fence: its own cores, memory and GPUs.
//
//	nodeagent -controller http://head:6820 -state /var/lib/berth -cgroup DIR
//	nodeagent try -tasks 2 -gpus 0,4 -gpu-bind per_task:1 -- COMMAND
//	nodeagent visible DIR    the device files in DIR that may be opened
//
// README.md says how to run it as a service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/berth-sched/berth/cgroupsv2"
)

func main() { os.Exit(dispatch(os.Args[1:])) }

// dispatch picks what this process is: the program starts itself as the
// supervisor of a step and as the beginning of a task.
func dispatch(args []string) int {
	if len(args) > 0 {
		switch {
		case args[0] == "task":
			return taskMain()
		case args[0] == "stepd" && len(args) == 3:
			return stepdMain(args[1], args[2])
		case args[0] == "visible" && len(args) == 2:
			fmt.Print(visible(args[1]))
			return 0
		}
	}
	run := agentMain
	if len(args) > 0 && args[0] == "try" {
		run, args = tryMain, args[1:]
	}
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, "nodeagent:", err)
		return 1
	}
	return 0
}

func agentMain(args []string) error {
	host, _ := os.Hostname()
	f := flag.NewFlagSet("nodeagent", flag.ContinueOnError)
	node := f.String("node", host, "name of this node")
	url := f.String("controller", "", "URL of the controller")
	state := f.String("state", "/var/lib/berth-nodeagent", "directory for what must outlive the agent")
	dir := f.String("cgroup", "", "delegated cgroup directory; empty takes the agent's own (a service with Delegate=yes)")
	fake := f.Int("fake-gpus", 0, "make so many device files that stand for GPUs, instead of looking for some")
	fakeDir := f.String("fake-dir", "/run/berth-fake", "where to make them")
	hook := f.String("hook", "", "program and arguments put before every task's command, such as a container runtime")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *url == "" {
		return errors.New("-controller is missing")
	}
	path, err := filepath.Abs(*state)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o711); err != nil {
		return err
	}
	tree, err := delegated(*dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	m, err := discover(*fake, *fakeDir)
	if err != nil {
		return err
	}
	for _, p := range m.Inventory.Problems {
		log.Print(p)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	a := agent{node: *node, url: strings.TrimSuffix(*url, "/"), client: &http.Client{Timeout: 30 * time.Second},
		store: store{path}, tree: tree, machine: m, hook: strings.Fields(*hook), boot: bootID()}
	return a.run(ctx)
}

// supervised is the leaf for whoever sits in the delegated group itself: the
// agent in a service's, a placeholder in a scope's. Only a group without
// processes gives controllers to those below.
const supervised = "system"

// delegated opens the directory that the agent may use.
func delegated(dir string) (*cgroupsv2.Tree, error) {
	if dir == "" {
		var err error
		if dir, err = ownGroup(); err != nil {
			return nil, err
		}
	}
	tree, err := cgroupsv2.Open(dir)
	if err != nil {
		return nil, err
	}
	pids, err := tree.Group(".").Pids()
	if err == nil && len(pids) > 0 {
		_, err = tree.Group(".").Vacate(supervised)
	}
	if err != nil {
		tree.Close()
		return nil, err
	}
	return tree, nil
}

// ownGroup is the group of the agent's service. systemd starts it there, or,
// with DelegateSubgroup=system and after a restart, in the leaf of it.
func ownGroup() (string, error) {
	r, err := cgroupsv2.Detect(os.DirFS("/"))
	if err != nil {
		return "", err
	}
	if err := r.Check(); err != nil {
		return "", err
	}
	own := r.Dir
	if filepath.Base(own) == supervised {
		own = filepath.Dir(own)
	}
	if own == r.Mount {
		return "", errors.New("the agent sits in the root cgroup: give -cgroup, or run it as a service with Delegate=yes")
	}
	return own, nil
}
