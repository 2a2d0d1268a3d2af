package gres

// packingValue says what a device with u thousandths left is worth, in
// thousandths, if parts of the given sizes come as often as counts say and
// are put together well: value[u] is the most that packs into u at the prices
// of the best fractional packing. Whole devices are worth 1000, and so are
// 810 left if parts of 810 always end up alone.
//
// The prices are the dual of the cutting stock problem, by column generation
// (Gilmore and Gomory 1961). Off every hot path: O(rounds · sizes · (1000 +
// sizes)).
func packingValue(sizes []int64, counts []int64) (value [1001]int32) {
	p := newPacking(sizes, counts)
	for range 64 * (len(sizes) + 1) {
		if !p.step() {
			break
		}
	}
	p.fill()
	for u := range value {
		value[u] = min(int32(float64(p.best[u]*1000)+0.5), int32(u))
	}
	value[1000] = 1000
	return value
}

// A packing is a linear program: the fewest devices in which all parts are
// held. Its basis has one pattern, or one surplus, per size.
type packing struct {
	sizes   []int64
	inverse [][]float64 // of the basis
	amount  []float64   // of each basic column
	cost    []float64   // 1 for a pattern, 0 for a surplus
	price   []float64   // of a part, by size
	best    [1001]float64
	choice  [1001]int // the size that best[u] takes last, −1 none
	column  []float64 // scratch
	step1   []float64
}

// tiny is what prices and amounts may differ from zero by rounding.
const tiny = 1e-9

func newPacking(sizes, counts []int64) *packing {
	m := len(sizes)
	p := &packing{sizes: sizes, amount: make([]float64, m), cost: make([]float64, m), price: make([]float64, m),
		column: make([]float64, m), step1: make([]float64, m)}
	for i := range m {
		row := make([]float64, m)
		k := float64(1000 / sizes[i])
		row[i] = 1 / k
		p.inverse = append(p.inverse, row)
		p.amount[i], p.cost[i] = float64(counts[i])/k, 1
	}
	return p
}

// fill computes the prices of the basis and the best packing of each u.
func (p *packing) fill() {
	for j := range p.price {
		p.price[j] = 0
		for i := range p.inverse {
			p.price[j] += float64(p.cost[i] * p.inverse[i][j])
		}
	}
	p.choice[0] = -1
	for u := int64(1); u <= 1000; u++ {
		p.best[u], p.choice[u] = p.best[u-1], -1
		for i, s := range p.sizes {
			if s <= u && p.best[u-s]+p.price[i] > p.best[u]+tiny/1000 {
				p.best[u], p.choice[u] = p.best[u-s]+p.price[i], i
			}
		}
	}
}

// step brings a better column into the basis, and reports false if there is
// none.
func (p *packing) step() bool {
	p.fill()
	clear(p.column)
	cost := 0.0
	for j, v := range p.price {
		if v < -tiny {
			p.column[j] = -1 // more of this size than needed
			break
		}
	}
	if allZero(p.column) {
		if p.best[1000] <= 1+tiny {
			return false
		}
		cost = 1
		for u := int64(1000); u > 0; {
			if i := p.choice[u]; i >= 0 {
				p.column[i]++
				u -= p.sizes[i]
			} else {
				u--
			}
		}
	}
	row := -1
	for i := range p.inverse {
		y := 0.0
		for j, c := range p.column {
			y += float64(p.inverse[i][j] * c)
		}
		p.step1[i] = y
		if y > tiny && (row < 0 || p.amount[i]*p.step1[row] < p.amount[row]*y) {
			row = i
		}
	}
	if row < 0 {
		return false
	}
	p.pivot(row, cost)
	return true
}

func allZero(s []float64) bool {
	for _, v := range s {
		if v != 0 {
			return false
		}
	}
	return true
}

// pivot exchanges the basic column of row for the one whose steps are in
// step1.
func (p *packing) pivot(row int, cost float64) {
	r := p.inverse[row]
	for j := range r {
		r[j] /= p.step1[row]
	}
	p.amount[row] /= p.step1[row]
	p.cost[row] = cost
	for i := range p.inverse {
		if i == row {
			continue
		}
		y := p.step1[i]
		for j := range r {
			p.inverse[i][j] -= float64(y * r[j])
		}
		p.amount[i] -= float64(y * p.amount[row])
	}
}
