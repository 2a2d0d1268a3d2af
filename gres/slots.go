package gres

// A slot is the candidate set of a class in a view: the available nodes that
// meet the screens and are not proven unfit at their present state. It is
// brought up to date from the ring of changed nodes when it is used, so a
// change costs nothing for the classes that nobody asks about.
type slot struct {
	bits  nodeBits
	class ClassID // owner, −1 if free
	view  ViewID
	pass  Pass
	built uint64 // version of the view
	seq   uint64 // changes seen
}

// A slotTable holds candidate sets up to a bound of memory; when it is full
// they are taken from their owners in turn.
type slotTable struct {
	slots []slot
	most  int
	hand  int32
	spare []int32 // free slots
}

// slotBytes bounds the memory of all candidate sets, minSlots their number
// from below.
const (
	slotBytes = 64 << 20
	minSlots  = 64
	maxSlots  = 1 << 14
)

func (t *slotTable) init(nodes int) {
	*t = slotTable{most: min(max(slotBytes/(8*nodeBitsWords(nodes)+1), minSlots), maxSlots)}
}

// free gives a slot back.
func (t *slotTable) free(i int32) {
	t.slots[i].class = -1
	t.spare = append(t.spare, i)
}

// slot returns the candidate set of a class in a view, up to date.
func (p *Pool) slot(id ClassID, view ViewID, pass Pass) *slot {
	c, v := &p.classes[id], &p.views[view]
	for _, r := range c.slots {
		if r.view == view && r.pass == pass {
			s := &p.slots.slots[r.slot]
			p.sync(s, c, v)
			return s
		}
	}
	i := p.claimSlot()
	s := &p.slots.slots[i]
	s.class, s.view, s.pass = id, view, pass
	c.slots = append(c.slots, slotRef{view, pass, i})
	p.fillSlot(s, c, v)
	return s
}

// claimSlot returns a slot without owner.
func (p *Pool) claimSlot() int32 {
	t := &p.slots
	if n := len(t.spare); n > 0 {
		i := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return i
	}
	if len(t.slots) < t.most {
		n := len(p.state)
		t.slots = append(t.slots, slot{bits: nodeBitsOf(n, make([]uint64, nodeBitsWords(n)))})
		return int32(len(t.slots) - 1)
	}
	i := t.hand
	t.hand = (t.hand + 1) % int32(len(t.slots))
	c := &p.classes[t.slots[i].class]
	for k := range c.slots {
		if c.slots[k].slot == i {
			c.slots[k] = c.slots[len(c.slots)-1]
			c.slots = c.slots[:len(c.slots)-1]
			break
		}
	}
	return i
}

// sync applies to s the changes since it was used last, or builds it anew if
// that is less work.
func (p *Pool) sync(s *slot, c *class, v *view) {
	behind := p.seq - s.seq
	if s.built != v.version || behind > ringLen || behind > uint64(len(s.bits.w))+64 {
		p.fillSlot(s, c, v)
		return
	}
	for ; s.seq != p.seq; s.seq++ {
		n := p.ring[s.seq&(ringLen-1)]
		s.bits.put(n, p.up.has(n) && v.bits.has(n) && c.passes(&p.index, n))
	}
}

// fillSlot computes s from the index. O(nodes / 64 · screens).
func (p *Pool) fillSlot(s *slot, c *class, v *view) {
	w := s.bits.w
	for i := range w {
		w[i] = p.up.w[i] & v.bits.w[i]
	}
	for _, sc := range c.screens {
		if sc.key < 0 {
			clear(w)
			break
		}
		set := p.index.keys[sc.key].sets[sc.level-1].w
		for i := range w {
			w[i] &= set[i]
		}
	}
	s.bits.summarise()
	s.built, s.seq = v.version, p.seq
}
