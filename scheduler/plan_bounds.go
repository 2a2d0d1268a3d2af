package scheduler

import (
	"math/bits"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// bounds are lower bounds of the earliest start on each node of all requests
// that ask at least so much for at least so long. A search begins at them and
// raises them to what it finds; while plans are only added they can only rise.
// Requests that are alike share bounds: what one has learnt of a node the next
// need not learn again.
type bounds struct {
	ask   gres.Digest
	span  Time
	least []Time     // by node
	first []Time     // by word of 64 nodes: the least of its bounds, or less
	loose []bool     // by word: first may be less
	words []int32    // the same, listed
	pass  uint64     // for which what follows is
	seen  int        // changes of the log that open is about
	free  int        // nodes that may be free now, or more
	open  []openNode // nodes that have changed on which something is free now
}

// maxBounds is how many kinds of request have bounds of their own.
const maxBounds = 384

// A boundTable holds the bounds; the first is of all requests.
type boundTable struct{ rows []bounds }

// spanClass is the largest power of two minutes that is not above a span, so
// that few spans share a class.
func spanClass(span Time) Time {
	const minute = Time(time.Minute / time.Microsecond)
	if span < minute {
		return 0
	}
	return minute << (bits.Len64(uint64(min(span, Never>>1)/minute)) - 1)
}

// of returns the bounds to use for a request that asks coarsely so much.
func (t *boundTable) of(ask gres.Digest, span Time, nodes int) *bounds {
	b := &t.rows[t.row(ask, span, nodes)]
	b.tidy()
	return b
}

// row returns the number of the bounds to use; it stays theirs.
func (t *boundTable) row(ask gres.Digest, span Time, nodes int) int32 {
	span = spanClass(span)
	for i := range t.rows {
		if b := &t.rows[i]; b.ask == ask && b.span == span {
			return int32(i)
		}
	}
	if len(t.rows) == maxBounds {
		return 0
	}
	if len(t.rows) == 0 && (ask != 0 || span != 0) {
		t.row(0, 0, nodes)
	}
	b := bounds{ask: ask, span: span, least: make([]Time, nodes), first: make([]Time, (nodes+63)/64), loose: make([]bool, (nodes+63)/64)}
	b.words, b.open = make([]int32, 0, len(b.first)), make([]openNode, 0, maxOpen)
	for i := range b.least {
		b.least[i] = before
	}
	for i := range b.first {
		b.first[i] = before
	}
	t.rows = append(t.rows, b)
	return int32(len(t.rows) - 1)
}

// raise sets the bound of a node, which has not been above at. The word's follows
// in tidy.
func (b *bounds) raise(n topology.NodeID, at Time) {
	b.least[n] = at
	if w := int32(n) >> 6; !b.loose[w] {
		b.loose[w] = true
		b.words = append(b.words, w)
	}
}

// tidy brings the bounds of words up to date.
func (b *bounds) tidy() {
	for _, w := range b.words {
		least := Never
		for _, x := range b.least[w<<6 : min(int(w)<<6+64, len(b.least))] {
			least = min(least, x)
		}
		b.first[w], b.loose[w] = least, false
	}
	b.words = b.words[:0]
}

// drop forgets what is known of a node: something on it has become free.
func (t *boundTable) drop(n topology.NodeID) {
	for i := range t.rows {
		b := &t.rows[i]
		b.least[n], b.first[n>>6] = before, before
	}
}

// reset forgets what is known of all nodes.
func (t *boundTable) reset() {
	for i := range t.rows {
		b := &t.rows[i]
		for n := range b.least {
			b.least[n] = before
		}
		for w := range b.first {
			b.first[w] = before
		}
	}
}
