package bind

import "math/bits"

// A chainSearch finds the lowest of the cheapest sequences of at most maxExact
// GPUs by branch and bound. Its bound is Held and Karp's: the cheapest tree
// that spans what is left, on wires repriced by a weight for each GPU, the
// weights having been raised where trees branch and lowered where they end
// until trees look like paths.
type chainSearch struct {
	n     int
	can   *[MaxGPUs]uint64
	cost  [maxExact * maxExact]int64 // of a wire, in chainUnits; chainNever if no two places allow it
	mod   [maxExact * maxExact]int64 // cost and the weights of both ends
	pi    [maxExact]int64            // the weights
	seq   [maxExact]int32
	best  [maxExact]int32
	least int64 // cost of best; what is sought must not be above
	// mirror says that a sequence may also be read backwards: then one whose
	// last GPU is lower than its first was looked at before.
	mirror bool
	found  bool // a sequence of cost least was reached in rising order
	left   int  // nodes that may still be looked at
}

const (
	// chainUnits is the finest step of weights, as a part of a wire's cost.
	chainUnits = 64
	chainNever = int64(1) << 40
	// chainRounds bounds the rounds that weights are improved for.
	chainRounds = 60
	// chainNodes bounds the search, whose time is then below that of the table
	// of subsets which takes over.
	chainNodes = 60_000
)

// solve fills o.seq and reports whether it was exact; if not, o.seq is as it
// was.
func (c *chainSearch) solve(o *orderSearch) bool {
	c.load(o)
	c.nearest(&c.cost)
	c.improve()
	c.raise()
	c.nearest(&c.mod)
	c.improve()
	c.found, c.left = false, chainNodes
	c.walk(0, 0, all(c.n))
	if c.left < 0 {
		return false
	}
	copy(o.seq[:], c.best[:c.n])
	return true
}

// load copies the wires in the smallest numbers that compare alike: the class
// counts as often as the bandwidths of a whole chain can differ.
func (c *chainSearch) load(o *orderSearch) {
	n := o.n
	c.n, c.can = n, &o.can
	low, high := ^uint32(0), uint32(0)
	for a := range n {
		for b := range a {
			part := o.link[a*n+b] & (1<<linkShift - 1)
			low, high = min(low, part), max(high, part)
		}
	}
	class := int64(high-low)*int64(n-1) + 1
	for a := range n {
		for b := range n {
			wire := o.link[a*n+b]
			cost := (int64(wire>>linkShift)*class + int64(wire&(1<<linkShift-1)) - int64(low)) * chainUnits
			if a == b || !c.meets(a, b) {
				cost = chainNever
			}
			c.cost[a*n+b] = cost
		}
	}
	clear(c.pi[:])
	c.least, c.mirror = chainNever, true
	for p := range n {
		c.mirror = c.mirror && c.can[p] == c.can[n-1-p]
	}
}

// meets reports whether a and b may have neighbouring places.
func (c *chainSearch) meets(a, b int) bool {
	for p := 1; p < c.n; p++ {
		x, y := c.can[p-1], c.can[p]
		if x>>a&1 == 1 && y>>b&1 == 1 || x>>b&1 == 1 && y>>a&1 == 1 {
			return true
		}
	}
	return false
}

// nearest sets best to the cheapest of the sequences that go from each first
// GPU to the nearest one allowed, near by some price.
func (c *chainSearch) nearest(price *[maxExact * maxExact]int64) {
	for first := c.can[0]; first != 0; first &= first - 1 {
		at := bits.TrailingZeros64(first)
		left, sum := all(c.n)&^(1<<at), int64(0)
		c.seq[0] = int32(at)
		for p := 1; p < c.n && sum < c.least; p++ {
			next, cheap := -1, chainNever
			for x := left & c.can[p]; x != 0; x &= x - 1 {
				if b := bits.TrailingZeros64(x); price[at*c.n+b] < cheap {
					next, cheap = b, price[at*c.n+b]
				}
			}
			if next < 0 {
				sum = chainNever
				break
			}
			c.seq[p] = int32(next)
			sum += c.cost[at*c.n+next]
			left &^= 1 << next
			at = next
		}
		if sum < c.least {
			c.least, c.best = sum, c.seq
		}
	}
}

// improve cuts best at three places and joins the pieces anew, or swaps two
// GPUs, while that helps.
func (c *chainSearch) improve() {
	if c.least >= chainNever {
		return
	}
	for again := true; again; {
		again = false
		for lo := range c.n {
			for hi := lo + 1; hi < c.n; hi++ {
				again = c.swap(lo, hi) || again
				for mid := lo; mid < hi; mid++ {
					again = c.join(lo, mid, hi) || again
				}
			}
		}
	}
}

// wire is what best pays between what stands at places p and q; past an end
// there is nothing to pay.
func (c *chainSearch) wire(p, q int) int64 {
	if p < 0 || q >= c.n {
		return 0
	}
	return c.cost[int(c.best[p])*c.n+int(c.best[q])]
}

// join takes the pieces A, from lo to mid, and B, up to hi, in the order and
// directions that cost least.
func (c *chainSearch) join(lo, mid, hi int) bool {
	before, b, after := lo-1, mid+1, hi+1
	seam := c.wire(mid, b)
	now := c.wire(before, lo) + seam + c.wire(hi, after)
	beforeB, beforeBack := c.wire(before, b), c.wire(before, hi)
	loAfter, midAfter := c.wire(lo, after), c.wire(mid, after)
	ways := [...]int64{
		beforeB + c.wire(lo, hi) + midAfter,                     // B A
		beforeB + c.wire(mid, hi) + loAfter,                     // B, A backwards
		beforeBack + c.wire(lo, b) + midAfter,                   // B backwards, A
		c.wire(before, mid) + c.wire(lo, hi) + c.wire(b, after), // both backwards
		beforeBack + seam + loAfter,                             // all backwards
	}
	way := -1
	for k, cost := range ways {
		if cost < now {
			now, way = cost, k
		}
	}
	if way < 0 {
		return false
	}
	c.seq = c.best
	at := lo
	put := func(from, to int, back bool) {
		for k := range to - from + 1 {
			if back {
				c.seq[at] = c.best[to-k]
			} else {
				c.seq[at] = c.best[from+k]
			}
			at++
		}
	}
	switch way {
	case 3:
		put(lo, mid, true)
		put(b, hi, true)
	default:
		put(b, hi, way == 2 || way == 4)
		put(lo, mid, way == 1 || way == 4)
	}
	return c.accept(lo, hi, now-c.wire(before, lo)-seam-c.wire(hi, after))
}

// swap exchanges what stands at two places.
func (c *chainSearch) swap(lo, hi int) bool {
	c.seq = c.best
	c.seq[lo], c.seq[hi] = c.best[hi], c.best[lo]
	change := int64(0)
	for _, p := range [...]int{lo, lo + 1, hi, hi + 1} {
		if p > 0 && p < c.n && (p != lo+1 || hi != p) {
			change += c.cost[int(c.seq[p-1])*c.n+int(c.seq[p])] - c.wire(p-1, p)
		}
	}
	return change < 0 && c.accept(lo, hi, change)
}

// accept makes seq the best unless a place forbids it.
func (c *chainSearch) accept(lo, hi int, change int64) bool {
	for p := lo; p <= hi; p++ {
		if c.can[p]>>c.seq[p]&1 == 0 {
			return false
		}
	}
	c.least, c.best = c.least+change, c.seq
	return true
}

// raise looks for weights under which the bound of the whole is highest.
func (c *chainSearch) raise() {
	highest, base := -chainNever, c.pi
	pace := int64(8) // in quarters
	for range chainRounds {
		c.reprice()
		var degree [maxExact]int64
		bound := c.tree(0, all(c.n)&^1, &degree)
		first, last := c.ends()
		bound += c.pi[first] + c.pi[last]
		degree[first]++
		degree[last]++
		wrong := int64(0)
		for a := range c.n {
			bound -= 2 * c.pi[a]
			wrong += (degree[a] - 2) * (degree[a] - 2)
		}
		if bound > highest {
			highest, base = bound, c.pi
		} else if pace > 1 {
			pace--
		}
		if wrong == 0 || bound > c.least-chainUnits {
			break
		}
		step := max(pace*(c.least-bound)/(4*wrong), 1)
		for a := range c.n {
			c.pi[a] += step * (degree[a] - 2)
		}
	}
	c.pi = base
	c.reprice()
}

func (c *chainSearch) reprice() {
	for a := range c.n {
		for b := range c.n {
			c.mod[a*c.n+b] = c.cost[a*c.n+b] + c.pi[a] + c.pi[b]
		}
	}
}

// ends returns the two GPUs of least weight that can be first and last.
func (c *chainSearch) ends() (first, last int) {
	lightest := func(set uint64) int {
		at := -1
		for x := set; x != 0; x &= x - 1 {
			if a := bits.TrailingZeros64(x); at < 0 || c.pi[a] < c.pi[at] {
				at = a
			}
		}
		return at
	}
	a := lightest(c.can[0])
	b := lightest(c.can[c.n-1] &^ (1 << a))
	y := lightest(c.can[c.n-1])
	x := lightest(c.can[0] &^ (1 << y))
	if b < 0 || x >= 0 && c.pi[x]+c.pi[y] < c.pi[a]+c.pi[b] {
		return x, y
	}
	return a, b
}

// tree returns what the cheapest tree costs that spans root and todo, and adds
// to degree, unless it is nil.
func (c *chainSearch) tree(root int, todo uint64, degree *[maxExact]int64) (sum int64) {
	var near [maxExact]int64
	var from [maxExact]uint8
	row := c.mod[root*c.n : (root+1)*c.n]
	for i, m := range row {
		near[i], from[i] = m, uint8(root)
	}
	for todo != 0 {
		at, least := 0, 4*chainNever
		for x := todo; x != 0; x &= x - 1 {
			if i := bits.TrailingZeros64(x) & (maxExact - 1); near[i] < least {
				at, least = i, near[i]
			}
		}
		sum += least
		todo &^= 1 << at
		if degree != nil {
			degree[at]++
			degree[from[at]]++
		}
		row = c.mod[at*c.n : (at+1)*c.n]
		for x := todo; x != 0; x &= x - 1 {
			if i := bits.TrailingZeros64(x) & (maxExact - 1); row[i] < near[i] {
				near[i], from[i] = row[i], uint8(at)
			}
		}
	}
	return sum
}

// walk fills place p and all later ones in rising order. What is found first
// at a cost stays.
func (c *chainSearch) walk(p int, spent int64, todo uint64) {
	if todo == 0 {
		c.least, c.best, c.found = spent, c.seq, true
		return
	}
	for x := todo & c.can[p]; x != 0; x &= x - 1 {
		if c.left--; c.left < 0 {
			return
		}
		i := bits.TrailingZeros64(x)
		sum := spent
		if p > 0 {
			sum += c.cost[int(c.seq[p-1])*c.n+i]
		}
		most := c.least
		if c.found {
			most -= chainUnits
		}
		c.seq[p] = int32(i)
		if sum > most || sum+c.bound(p, i, todo&^(1<<i)) > most {
			continue
		}
		c.walk(p+1, sum, todo&^(1<<i))
	}
}

// bound is the least that a way from GPU last, at place p, through all of todo
// can cost.
func (c *chainSearch) bound(p, last int, todo uint64) int64 {
	if todo == 0 {
		return 0
	}
	ends := todo & c.can[c.n-1]
	if c.mirror {
		ends &^= 1<<c.seq[0] - 1
	}
	end := chainNever
	for x := ends; x != 0; x &= x - 1 {
		end = min(end, c.pi[bits.TrailingZeros64(x)])
	}
	for q := p + 1; q < c.n; q++ {
		if todo&c.can[q] == 0 {
			return chainNever
		}
	}
	sum := c.tree(last, todo, nil) + end - c.pi[last]
	for x := todo; x != 0; x &= x - 1 {
		sum -= 2 * c.pi[bits.TrailingZeros64(x)]
	}
	return sum
}
