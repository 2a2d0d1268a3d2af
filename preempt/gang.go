package preempt

// A Gang takes turns with resources that several jobs hold at once (spec: preempt
// 8): who is active is chosen greedily in the order of a list; when a slice of
// time is over, those that were active go to the end of the list. The zero value
// is ready. In Slurm's words it is gang scheduling, in Kubernetes' it has no
// counterpart: gangs there are units that start together.
type Gang struct {
	busy []uint64
	next []int32
}

// Cores say what jobs hold, as rows of variable length: job j holds the bits
// Mask[i] of word Word[i] for i from First[j] up to First[j+1]. Words number the
// core words of all nodes.
type Cores struct {
	// First has a row for each job and one more.
	First []int32
	// Word and Mask are the entries.
	Word []int32
	Mask []uint64
	// Words is the number of words in all.
	Words int
}

// Rotate ends a slice: the jobs of the list that are on go to its end, and both
// parts keep their order. on has a row for each job.
func (g *Gang) Rotate(list []int32, on []bool) {
	g.next = g.next[:0]
	n := 0
	for _, j := range list {
		if on[j] {
			g.next = append(g.next, j)
			continue
		}
		list[n] = j
		n++
	}
	copy(list[n:], g.next)
}

// Choose stores in on who is active: the jobs of shadows, which belong to
// partitions of higher tiers and are active elsewhere, whatever they hold, and
// then each job of the list in turn that overlaps nobody so far.
//
// Cost: a step for each entry of h that belongs to a job of either.
func (g *Gang) Choose(on []bool, shadows, list []int32, h *Cores) {
	if cap(g.busy) < h.Words {
		g.busy = make([]uint64, h.Words)
	}
	g.busy = g.busy[:h.Words]
	clear(g.busy)
	clear(on)
	for _, j := range shadows {
		on[j] = true
		g.add(j, h)
	}
	for _, j := range list {
		if on[j] = !g.overlaps(j, h); on[j] {
			g.add(j, h)
		}
	}
}

func (g *Gang) add(j int32, h *Cores) {
	for i := h.First[j]; i < h.First[j+1]; i++ {
		g.busy[h.Word[i]] |= h.Mask[i]
	}
}

func (g *Gang) overlaps(j int32, h *Cores) bool {
	for i := h.First[j]; i < h.First[j+1]; i++ {
		if g.busy[h.Word[i]]&h.Mask[i] != 0 {
			return true
		}
	}
	return false
}
