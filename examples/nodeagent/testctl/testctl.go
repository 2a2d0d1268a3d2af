// Package testctl is the smallest controller of nodes: it hands out the steps
// that it is given and remembers their ends. It decides nothing.
package testctl

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/berth-sched/berth/examples/nodeagent/protocol"
)

// A Controller serves the protocol for any number of nodes.
type Controller struct {
	Registered protocol.Registered
	AfterMS    int64
	// OnSync, if set, sees every message of an agent before it is answered.
	OnSync func(*protocol.Sync)

	mu    sync.Mutex
	steps map[protocol.Key]*step
	order []protocol.Key
	nodes map[string]protocol.Register
}

type step struct {
	node    string
	launch  protocol.Launch
	status  protocol.Status
	kill    bool
	gone    bool // released by the node
	signals []protocol.Signal
}

// Submit hands a step to a node at its next sync.
func (c *Controller) Submit(node string, l protocol.Launch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.steps == nil {
		c.steps = map[protocol.Key]*step{}
	}
	c.steps[l.Key] = &step{node: node, launch: l, status: protocol.Status{Key: l.Key}}
	c.order = append(c.order, l.Key)
}

// Kill ends a step.
func (c *Controller) Kill(k protocol.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps[k].kill = true
}

// Signal gives a signal to a step.
func (c *Controller) Signal(k protocol.Key, sig int, leaders bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.steps[k]
	s.signals = append(s.signals, protocol.Signal{Key: k, Seq: uint64(len(s.signals) + 1), Signal: sig, Leaders: leaders})
}

// Status returns the last that was heard of a step, and whether the node has
// forgotten it.
func (c *Controller) Status(k protocol.Key) (s protocol.Status, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps[k].status, c.steps[k].gone
}

// Node returns what a node said of itself.
func (c *Controller) Node(name string) (protocol.Register, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.nodes[name]
	return r, ok
}

// ServeHTTP answers the two messages.
func (c *Controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var reg protocol.Register
	var sync protocol.Sync
	switch r.URL.Path {
	case "/v1/register":
		if err := json.NewDecoder(r.Body).Decode(&reg); err != nil || reg.Version != protocol.Version {
			http.Error(w, "version 1 is spoken here", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		if c.nodes == nil {
			c.nodes = map[string]protocol.Register{}
		}
		c.nodes[reg.Node] = reg
		c.mu.Unlock()
		json.NewEncoder(w).Encode(c.Registered)
	case "/v1/sync":
		if err := json.NewDecoder(r.Body).Decode(&sync); err != nil || sync.Version != protocol.Version {
			http.Error(w, "version 1 is spoken here", http.StatusBadRequest)
			return
		}
		if c.OnSync != nil {
			c.OnSync(&sync)
		}
		json.NewEncoder(w).Encode(c.answer(&sync))
	default:
		http.NotFound(w, r)
	}
}

func (c *Controller) answer(m *protocol.Sync) (o protocol.Orders) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.AfterMS = c.AfterMS
	listed := map[protocol.Key]bool{}
	for _, st := range m.Steps {
		listed[st.Key] = true
		s := c.steps[st.Key]
		if s == nil || st.State == protocol.Ended { // an end is written down before it is released
			o.Release = append(o.Release, st.Key)
		}
		if s == nil {
			continue
		}
		s.status = st
		for _, sig := range s.signals {
			if sig.Seq > st.Signal {
				o.Signal = append(o.Signal, sig)
			}
		}
		if s.kill && st.State != protocol.Ended {
			o.Kill = append(o.Kill, st.Key)
		}
	}
	for _, k := range c.order {
		switch s := c.steps[k]; {
		case s.node != m.Node || listed[k] || s.gone:
		case s.status.State == protocol.Ended:
			s.gone = true
		default:
			o.Launch = append(o.Launch, s.launch)
		}
	}
	return o
}
