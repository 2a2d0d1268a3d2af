package scheduler

import (
	"slices"
	"time"

	"github.com/berth-sched/berth/topology"
)

// A nodeMap is Slurm's map of nodes over time: adjacent slots, each with the
// nodes that no planned job needs then (spec: backfill 2.2). What runs is not
// in it. It is made anew in each planning pass.
type nodeMap struct {
	slots []mapSlot
	sets  []topology.NodeSet // memory of the slots' sets
	spare []int32            // sets that no slot uses
	grain Time
	place topology.NodeSet // scratch: the nodes at hand
}

// A mapSlot is [begin, end) with the nodes free of plans, by number of set.
type mapSlot struct {
	begin, end Time
	set        int32
}

// reset makes the map one slot over [now, now+window) with all nodes free.
func (m *nodeMap) reset(now Time, window, resolution time.Duration, nodes int) {
	m.grain = max(Time(resolution/time.Microsecond), 1)
	m.slots, m.spare = m.slots[:0], m.spare[:0]
	for i := range m.sets {
		m.spare = append(m.spare, int32(i))
	}
	id := m.take(nodes)
	m.sets[id].AddAll()
	end := Never
	if window != Infinite {
		end = m.floor(now.Add(window))
	}
	m.slots = append(m.slots, mapSlot{m.floor(now), end, id})
	if m.place.Len() != nodes {
		m.place.Init(nodes)
	}
}

// wide reports whether nodes are so many that a set of them, which it makes, is
// faster to work with.
func (m *nodeMap) wide(nodes []topology.NodeID) bool {
	if len(nodes) <= len(m.place.Words()) {
		return false
	}
	m.place.Clear()
	for _, n := range nodes {
		m.place.Add(n)
	}
	return true
}

// take returns a set for a slot; what it holds is left over.
func (m *nodeMap) take(nodes int) int32 {
	if n := len(m.spare); n > 0 {
		id := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return id
	}
	m.sets = append(m.sets, topology.NodeSet{})
	id := int32(len(m.sets) - 1)
	m.sets[id].Init(nodes)
	return id
}

func (m *nodeMap) floor(t Time) Time { return t / m.grain * m.grain }

func (m *nodeMap) ceil(t Time) Time {
	if t > Never-m.grain {
		return Never
	}
	return (t + m.grain - 1) / m.grain * m.grain
}

// free returns the set of slot i.
func (m *nodeMap) free(i int) *topology.NodeSet { return &m.sets[m.slots[i].set] }

// over takes from dst the nodes that are planned for at any time of [from, to],
// and returns the end of the first slot, 0 if it is the last: a slot that
// begins at to counts.
func (m *nodeMap) over(dst *topology.NodeSet, from, to Time) (later Time) {
	for i := range m.slots {
		s := &m.slots[i]
		switch {
		case s.end <= from:
			continue
		case s.begin > to:
			return later
		}
		if later == 0 && i+1 < len(m.slots) {
			later = s.end
		}
		dst.And(m.free(i))
	}
	return later
}

// clashes reports whether any of nodes is planned for in [from, to], and when
// the first slot with such a node begins.
func (m *nodeMap) clashes(nodes []topology.NodeID, from, to Time) (Time, bool) {
	wide := m.wide(nodes)
	for i := range m.slots {
		s := &m.slots[i]
		if s.end <= from || s.begin > to {
			continue
		}
		free := m.free(i)
		if wide {
			if !free.Contains(&m.place) {
				return s.begin, true
			}
			continue
		}
		for _, n := range nodes {
			if !free.Has(n) {
				return s.begin, true
			}
		}
	}
	return 0, false
}

// split makes t a border of slots if it lies inside one.
func (m *nodeMap) split(t Time) {
	for i := range m.slots {
		s := &m.slots[i]
		if s.begin < t && t < s.end {
			free := m.free(i)
			id := m.take(free.Len())
			m.sets[id].Copy(m.free(i))
			m.slots = slices.Insert(m.slots, i+1, mapSlot{t, s.end, id})
			m.slots[i].end = t
			return
		}
	}
}

// reserve keeps whole nodes over [from, to), widened to the resolution and at
// least one unit of it. Equal neighbours are joined.
func (m *nodeMap) reserve(nodes []topology.NodeID, from, to Time) {
	from = m.floor(from)
	to = max(m.ceil(to), from+m.grain)
	m.split(from)
	m.split(to)
	wide := m.wide(nodes)
	for i := range m.slots {
		if s := &m.slots[i]; s.begin >= from && s.end <= to {
			free := m.free(i)
			if wide {
				free.AndNot(&m.place)
				continue
			}
			for _, n := range nodes {
				free.Remove(n)
			}
		}
	}
	n := 0
	for i := range m.slots {
		if n > 0 && m.free(n-1).Equal(m.free(i)) {
			m.spare = append(m.spare, m.slots[i].set)
			m.slots[n-1].end = m.slots[i].end
			continue
		}
		m.slots[n] = m.slots[i]
		n++
	}
	m.slots = m.slots[:n]
}
