package bind

// A matcher solves assignments: every row gets a column of its own at the
// least sum of costs (the Hungarian method with potentials, O(rows²·columns)).
type matcher struct {
	rows, cols int
	cost       []int32 // rows × cols
	label      []int32 // by column, for the caller
	u, v       []int64 // potentials; index 0 is unused
	rowOf      []int32 // by column+1: its row+1, 0 for none
	way        []int32
	least      []int64
	done       []uint64
	colOf      []int32 // by row: its column
	seen       []uint64
}

// maxCost is above every sum that can arise.
const maxCost = int64(1) << 50

func (m *matcher) begin(rows, cols int) {
	m.rows, m.cols = rows, cols
	m.cost, m.label = m.cost[:0], m.label[:0]
}

// solve needs rows <= cols; it returns the least sum.
func (m *matcher) solve() int64 {
	n, k := m.rows, m.cols
	m.u, m.v = grow(m.u, n+1), grow(m.v, k+1)
	m.rowOf, m.way = grow(m.rowOf, k+1), grow(m.way, k+1)
	m.least, m.done = grow(m.least, k+1), grow(m.done, (k+64)/64)
	for i := 1; i <= n; i++ {
		m.augment(i)
	}
	m.colOf = grow(m.colOf, n)
	sum := int64(0)
	for j := 1; j <= k; j++ {
		if i := m.rowOf[j]; i > 0 {
			m.colOf[i-1] = int32(j - 1)
			sum += int64(m.cost[(int(i)-1)*k+j-1])
		}
	}
	return sum
}

// augment brings row i into the matching.
func (m *matcher) augment(i int) {
	k := m.cols
	m.rowOf[0] = int32(i)
	for j := range m.least {
		m.least[j] = maxCost
	}
	clear(m.done)
	at := 0
	for {
		m.done[at>>6] |= 1 << (at & 63)
		row := int(m.rowOf[at])
		delta, next := maxCost, 0
		for j := 1; j <= k; j++ {
			if m.done[j>>6]>>(j&63)&1 == 1 {
				continue
			}
			if d := int64(m.cost[(row-1)*k+j-1]) - m.u[row] - m.v[j]; d < m.least[j] {
				m.least[j], m.way[j] = d, int32(at)
			}
			if m.least[j] < delta {
				delta, next = m.least[j], j
			}
		}
		for j := range k + 1 {
			if m.done[j>>6]>>(j&63)&1 == 1 {
				m.u[m.rowOf[j]] += delta
				m.v[j] -= delta
			} else {
				m.least[j] -= delta
			}
		}
		if at = next; m.rowOf[at] == 0 {
			break
		}
	}
	for at != 0 {
		prev := int(m.way[at])
		m.rowOf[at] = m.rowOf[prev]
		at = prev
	}
}

// tight reports whether row and column may be matched in some optimal
// assignment, potentials permitting.
func (m *matcher) tight(row, col int) bool {
	return int64(m.cost[row*m.cols+col]) == m.u[row+1]+m.v[col+1]
}

// lowest settles row, in rising order of rows, on the lowest column that an
// optimal assignment allows given the rows settled before, and returns it.
func (m *matcher) lowest(row int) int {
	if row == 0 {
		m.done = grow(m.done, (m.cols+63)/64) // settled columns
	}
	for col := range int(m.colOf[row]) {
		if m.done[col>>6]>>(col&63)&1 == 1 || !m.tight(row, col) {
			continue
		}
		old := m.colOf[row]
		owner := m.rowOf[col+1] - 1
		if owner < 0 && m.v[col+1] != m.v[old+1] {
			continue // an unused column is as good only at an equal potential
		}
		m.done[col>>6] |= 1 << (col & 63)
		m.seen = grow(m.seen, (m.cols+63)/64)
		if owner < 0 || m.reroute(int(owner), int(old), row) {
			if owner < 0 {
				m.rowOf[old+1] = 0
			}
			m.rowOf[col+1], m.colOf[row] = int32(row+1), int32(col)
			return col
		}
		m.done[col>>6] &^= 1 << (col & 63)
	}
	col := int(m.colOf[row])
	m.done[col>>6] |= 1 << (col & 63)
	return col
}

// reroute finds row another tight column, pushing later rows on, so that
// column goal or an equally good unused one ends the chain.
func (m *matcher) reroute(row, goal, above int) bool {
	for col := range m.cols {
		if m.done[col>>6]>>(col&63)&1 == 1 || m.seen[col>>6]>>(col&63)&1 == 1 || !m.tight(row, col) {
			continue
		}
		m.seen[col>>6] |= 1 << (col & 63)
		owner := int(m.rowOf[col+1]) - 1
		if col == goal || owner < 0 && m.v[col+1] == m.v[goal+1] || owner > above && owner != row && m.reroute(owner, goal, above) {
			if owner < 0 {
				m.rowOf[goal+1] = 0
			}
			m.rowOf[col+1], m.colOf[row] = int32(row+1), int32(col)
			return true
		}
	}
	return false
}
