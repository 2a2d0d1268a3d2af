package gres

import "slices"

// Check panics with the first book that does not agree with the rows: what is
// derived is computed anew and compared. It is for tests and for builds with
// the tag invariants; O(nodes · keys + classes · nodes).
func (p *Pool) Check() {
	refs := make([]int32, len(p.states.meta))
	var fresh index
	fresh.init()
	for _, s := range p.shapes {
		fresh.addShape(s)
	}
	fresh.build(len(p.state))
	level := make([]uint8, len(fresh.keys))
	var hash uint64
	for n, id := range p.state {
		node := int32(n)
		if id == noState {
			if p.up.has(node) {
				panic("gres: check: a node that is not there is available")
			}
			continue
		}
		refs[id]++
		sh := p.states.meta[id].shape
		row := p.Row(node)
		p.shapes[sh].checkRow(row)
		hash += mix(hashRow(sh, row) ^ uint64(n)*0x9e3779b97f4a7c15)
		if p.up.has(node) {
			hash += availHash(node)
		}
		fresh.fill(level, sh, p.shapes[sh], row)
		fresh.move(node, nil, level)
	}
	if hash != p.hash {
		panic("gres: check: hash is not that of the rows")
	}
	for _, r := range p.log {
		if r.old >= 0 {
			refs[r.old]++
		}
	}
	for id, n := range p.held {
		if n != 0 {
			refs[id] += n
		}
	}
	for id := range refs {
		if refs[id] != p.states.meta[id].refs {
			panic("gres: check: references of a state are miscounted")
		}
	}
	for i := range fresh.keys {
		if !slices.Equal(fresh.keys[i].levels, p.index.keys[i].levels) {
			panic("gres: check: levels of the index differ")
		}
		for l := range fresh.keys[i].sets {
			fresh.keys[i].sets[l].equal(&p.index.keys[i].sets[l], "gres: check: index differs from the rows")
		}
	}
	p.checkSlots()
}

// checkSlots proves that no candidate set lacks a node that fits.
func (p *Pool) checkSlots() {
	var g Grant
	for i := range p.slots.slots {
		s := &p.slots.slots[i]
		if s.class < 0 || !p.views[s.view].used {
			continue
		}
		c, v := &p.classes[s.class], &p.views[s.view]
		p.sync(s, c, v)
		for n := range int32(len(p.state)) {
			if s.bits.has(n) || !p.up.has(n) || !v.bits.has(n) {
				continue
			}
			if p.selectOne(c, s.pass, p.state[n], &g) {
				panic("gres: check: a node that fits is not a candidate")
			}
		}
		sum := s.bits.clone()
		sum.summarise()
		sum.equal(&s.bits, "gres: check: summary of a candidate set is wrong")
	}
}

func (b *nodeBits) equal(o *nodeBits, what string) {
	if !slices.Equal(b.w, o.w) || !slices.Equal(b.s1, o.s1) || !slices.Equal(b.s2, o.s2) {
		panic(what)
	}
}

// checkRow panics if row has more in use than s holds.
func (s *Shape) checkRow(row []uint64) {
	for w := range s.usable {
		if w < len(row) && w == s.coreWords-1 && s.cores&63 != 0 && row[w]>>(s.cores&63) != 0 {
			panic("gres: check: a core beyond the node is in use")
		}
	}
	if s.FreeMem(row) < 0 || s.sockets == 0 && s.FreeMilliCPU(row) < 0 {
		panic("gres: check: more in use than there is")
	}
	for g := range s.groups {
		gr := &s.groups[g]
		for d := range gr.devs {
			if u := gr.used(row, d); u < 0 || u > gr.devs[d].units {
				panic("gres: check: more units in use than a device has")
			}
		}
		if len(gr.devs) == 0 && int64(row[gr.off]) > gr.count {
			panic("gres: check: more in use than is counted")
		}
	}
}
