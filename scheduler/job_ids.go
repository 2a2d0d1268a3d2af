package scheduler

import "slices"

// An idTable finds the rows of jobs by their ids. It is a table with open
// addressing and without pointers, so copying it is one step.
type idTable struct {
	slots []idSlot // a power of two of them, at most two thirds in use
	n     int
}

type idSlot struct {
	id  JobID // 0 if it is free
	row int32
}

// home is where id would stand in an empty table.
func (t *idTable) home(id JobID) int { return int(mix(uint64(id)) & uint64(len(t.slots)-1)) }

// at returns the place of id, or of the free slot where it would go. The table
// must not be empty.
func (t *idTable) at(id JobID) int {
	i := t.home(id)
	for t.slots[i].id != id && t.slots[i].id != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	return i
}

// find returns the row of id, -1 if it is not there.
func (t *idTable) find(id JobID) int32 {
	if id == 0 || t.n == 0 {
		return -1
	}
	if s := &t.slots[t.at(id)]; s.id == id {
		return s.row
	}
	return -1
}

// add enters an id that is not there.
func (t *idTable) add(id JobID, row int32) {
	t.reserve(t.n + 1)
	t.slots[t.at(id)] = idSlot{id, row}
	t.n++
}

// reserve makes room for n ids.
func (t *idTable) reserve(n int) {
	size := max(len(t.slots), 16)
	for 3*n > 2*size {
		size *= 2
	}
	if size == len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]idSlot, size)
	for _, s := range old {
		if s.id != 0 {
			t.slots[t.at(s.id)] = s
		}
	}
}

// remove takes an id out. Those that follow move up, so that none stands behind a
// free slot.
func (t *idTable) remove(id JobID) {
	if t.find(id) < 0 {
		return
	}
	mask := len(t.slots) - 1
	hole := t.at(id)
	for i := (hole + 1) & mask; t.slots[i].id != 0; i = (i + 1) & mask {
		// An entry may move up if its home is not after the hole.
		if (i-t.home(t.slots[i].id))&mask >= (i-hole)&mask {
			t.slots[hole] = t.slots[i]
			hole = i
		}
	}
	t.slots[hole] = idSlot{}
	t.n--
}

func (t *idTable) fork() idTable { return idTable{slices.Clone(t.slots), t.n} }
