// Package testctl is the smallest controller of nodes: it hands out the steps
// that it is given and remembers their ends. It decides one thing: a step that
// is to die of its first failure dies on all of its nodes.
package testctl

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/berth-sched/berth/examples/nodeagent/protocol"
)

// A Controller serves the protocol for any number of nodes.
type Controller struct {
	Registered protocol.Registered
	AfterMS    int64

	mu    sync.Mutex
	watch func(*protocol.Sync)
	parts []*part
}

// A part is what one node has of a step.
type part struct {
	node    string
	launch  protocol.Launch
	status  protocol.Status
	kill    bool
	gone    bool // released by the node
	signals []protocol.Signal
}

// Watch has f see every message of an agent before it is answered.
func (c *Controller) Watch(f func(*protocol.Sync)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch = f
}

// Submit hands a step, or a node's part of one, to a node at its next sync.
func (c *Controller) Submit(node string, l protocol.Launch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts = append(c.parts, &part{node: node, launch: l, status: protocol.Status{Key: l.Key}})
}

// Kill ends a step.
func (c *Controller) Kill(k protocol.Key) {
	c.each(k, func(p *part) { p.kill = true })
}

// Signal gives a signal to a step.
func (c *Controller) Signal(k protocol.Key, sig int, leaders bool) {
	c.each(k, func(p *part) {
		p.signals = append(p.signals, protocol.Signal{Key: k, Seq: uint64(len(p.signals) + 1), Signal: sig, Leaders: leaders})
	})
}

// Status returns the last that was heard of a step from a node, and whether the
// node has forgotten it.
func (c *Controller) Status(node string, k protocol.Key) (s protocol.Status, gone bool) {
	c.each(k, func(p *part) {
		if p.node == node {
			s, gone = p.status, p.gone
		}
	})
	return s, gone
}

func (c *Controller) each(k protocol.Key, do func(*part)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.parts {
		if p.launch.Key == k {
			do(p)
		}
	}
}

// ServeHTTP answers the two messages.
func (c *Controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m protocol.Sync // a Register has no steps
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.Version != protocol.Version {
		http.Error(w, "version 1 is spoken here", http.StatusBadRequest)
		return
	}
	switch r.URL.Path {
	case "/v1/register":
		json.NewEncoder(w).Encode(c.Registered)
	case "/v1/sync":
		c.mu.Lock()
		watch := c.watch
		c.mu.Unlock()
		if watch != nil {
			watch(&m)
		}
		json.NewEncoder(w).Encode(c.answer(&m))
	default:
		http.NotFound(w, r)
	}
}

// answer learns what a node says and returns all that it should change.
func (c *Controller) answer(m *protocol.Sync) (o protocol.Orders) {
	o.AfterMS = c.AfterMS
	for _, st := range m.Steps {
		known := false
		c.each(st.Key, func(p *part) {
			if p.node == m.Node {
				known, p.status = true, st
			}
		})
		failed := slices.ContainsFunc(st.Tasks, func(t protocol.TaskEnd) bool { return t.Exit != 0 || t.Signal != 0 })
		c.each(st.Key, func(p *part) { p.kill = p.kill || failed && p.launch.KillOnBadExit })
		if !known || st.State == protocol.Ended { // an end is written down before it is released
			o.Release = append(o.Release, st.Key)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.parts {
		if p.node != m.Node || p.gone {
			continue
		}
		ended := p.status.State == protocol.Ended
		switch listed := slices.ContainsFunc(m.Steps, func(s protocol.Status) bool { return s.Key == p.launch.Key }); {
		case !listed && ended:
			p.gone = true
		case !listed:
			o.Launch = append(o.Launch, p.launch)
		case p.kill && !ended:
			o.Kill = append(o.Kill, p.launch.Key)
		}
		for _, sig := range p.signals {
			if sig.Seq > p.status.Signal && !ended {
				o.Signal = append(o.Signal, sig)
			}
		}
	}
	return o
}
