package gres

import "math/bits"

// dropRestricted takes the cores kept for GPUs from a job without GPUs.
func (s *Scratch) dropRestricted(sh *Shape, r *Request) {
	if sh.restrictedPerGPU == 0 || r.WantsGPU() {
		return
	}
	for w := range s.cand {
		s.cand[w] &^= sh.restricted[w]
	}
}

// keepRestricted leaves of the cores kept for GPUs as many as the GPUs of this
// node bring along: none on sockets that are not required, and elsewhere the
// highest.
//
// Source: spec/gres.md 13; the order is that of the recorded placements.
func (s *Scratch) keepRestricted(b *binding) Refusal {
	sh := b.sh
	if sh.restrictedPerGPU == 0 || b.d.Name != NameGPU {
		return RefuseNone
	}
	for q := range s.count {
		if !s.need[q] {
			for k := q * sh.perSocket; k < (q+1)*sh.perSocket; k++ {
				s.cand[k>>6] &^= sh.restricted[k>>6] & (1 << (k & 63))
			}
		}
	}
	keep := b.total
	for i := range b.r.Needs[:b.r.NumNeeds] {
		if d := &b.r.Needs[i]; d != b.d && d.Name == NameGPU {
			keep += s.pools[i].total // typed requests: bounded again by each other need
		}
	}
	over := -int(keep) * sh.restrictedPerGPU
	for w := range s.cand {
		over += bits.OnesCount64(s.cand[w] & sh.restricted[w])
	}
	for w := 0; w < len(s.cand) && over > 0; w++ {
		for x := s.cand[w] & sh.restricted[w]; x != 0 && over > 0; x &= x - 1 {
			s.cand[w] &^= x & -x
			over--
		}
	}
	s.countSockets(sh)
	for q := range s.count {
		if b.enforce && s.need[q] && s.count[q] == 0 {
			return RefuseNoNearCores
		}
	}
	return RefuseNone
}
