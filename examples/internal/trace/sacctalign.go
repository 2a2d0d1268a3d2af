package trace

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// sacctKind says what a column's text may look like, which tells where the
// fields of a row lie whose free text holds the separator.
type sacctKind uint8

const (
	kindWord   sacctKind = iota // anything without '|'
	kindFree                    // anything
	kindNumber                  // digits, or empty
	kindStamp                   // 2021-12-10T14:23:28, Unknown, None, or empty
	kindSpan                    // [d-]hh:mm:ss[.frac], or empty
	kindExit                    // 0:15, or empty
	kindTRES                    // cpu=2,mem=4000M,node=1, or empty
	kindID                      // 7957382, 7957382.batch, 12_3, 12_[1-9]
	kindState                   // COMPLETED, CANCELLED by 10001
)

func sacctKindOf(name string) sacctKind {
	switch name {
	case "JobName", "Constraints", "SubmitLine", "Comment", "AdminComment", "SystemComment", "WorkDir",
		"Container", "Extra", "Reason", "StdOut", "StdErr", "StdIn":
		return kindFree
	case "NNodes", "NCPUS", "ReqCPUS", "AllocCPUS", "AllocNodes", "ReqNodes", "ElapsedRaw", "CPUTimeRAW",
		"UID", "GID", "AssocID", "DBIndex", "Priority", "NTasks", "QOSRAW":
		return kindNumber
	case "Submit", "Start", "End", "Eligible":
		return kindStamp
	case "Elapsed", "CPUTime", "TotalCPU", "UserCPU", "SystemCPU", "Suspended", "Reserved", "Planned":
		return kindSpan
	case "ExitCode", "DerivedExitCode":
		return kindExit
	case "ReqTRES", "AllocTRES":
		return kindTRES
	case "JobID", "JobIDRaw":
		return kindID
	case "State":
		return kindState
	}
	return kindWord
}

// looksLike reports whether s may stand in a column of the kind. It is
// lenient: the readers of the used columns say what is wrong with a value.
func (k sacctKind) looksLike(s string) bool {
	switch k {
	case kindWord, kindFree:
		return true
	case kindID:
		return s != "" && s[0] >= '0' && s[0] <= '9'
	case kindState:
		return s != "" && s[0] >= 'A' && s[0] <= 'Z'
	}
	if s == "" {
		return true
	}
	switch k {
	case kindNumber:
		return strings.Trim(s, "0123456789") == ""
	case kindStamp:
		return notSaid(s) || len(s) == 19 && s[4] == '-' && s[10] == 'T'
	case kindSpan:
		return strings.Contains(s, ":") && strings.Trim(s, "0123456789:-.") == "" || s == "INVALID"
	case kindExit:
		return strings.Count(s, ":") == 1 && strings.Trim(s, "0123456789:") == ""
	}
	return strings.Contains(s, "=") // kindTRES
}

// extraCost is the price of each '|' taken into a free column: names and
// constraints are more likely to hold one than comments and paths.
func extraCost(name string) int32 {
	switch name {
	case "JobName", "Constraints", "SubmitLine":
		return 1
	}
	return 4
}

// Prices of align, beside extraCost. An edge ('|' at the end of a text) is
// less likely than a '|' inside.
const (
	costEdge  = 2
	costNever = math.MaxInt32 / 2
)

// maxExtra bounds the separators inside the free text of one row.
const maxExtra = 64

// align splits a row into d.f. A row with more fields than the heading has
// '|' inside free text: of all ways to give the extra fields to free columns
// such that every other column looks like its kind, the cheapest is taken. If
// two are equally cheap, or none is possible, the row is refused.
func (d *sacctDump) align(s string) (token string, err error) {
	tok := strings.Split(s, "|")
	n := len(d.names)
	if last := len(tok) - 1; d.trailing && tok[last] == "" {
		tok = tok[:last]
	}
	extra := len(tok) - n
	switch {
	case extra < 0:
		return s, fmt.Errorf("%w: %d fields, the heading has %d", ErrSyntax, len(tok), n)
	case extra == 0:
		d.f = append(d.f[:0], tok...)
		return "", nil
	case extra > maxExtra:
		return s, fmt.Errorf("%w: %d fields, the heading has %d", ErrSyntax, len(tok), n)
	}
	d.solve(tok, extra)
	switch {
	case d.cost[0] >= costNever:
		return s, fmt.Errorf("%w: %d fields, the heading has %d, and no reading of '|' as text fits the columns", ErrSyntax, len(tok), n)
	case d.ways[0] > 1:
		return s, errors.New("ambiguous: '|' inside a text, which may belong to more than one column")
	}
	d.pick(tok, extra)
	return "", nil
}

// solve fills cost and ways: at [c*(extra+1)+e] the cheapest way to split the
// tokens from c+e on over the columns from c on, and how many ways cost that
// (2 stands for more).
func (d *sacctDump) solve(tok []string, extra int) {
	n, w := len(d.names), extra+1
	d.cost = append(d.cost[:0], make([]int32, (n+1)*w)...)
	d.ways = append(d.ways[:0], make([]uint8, (n+1)*w)...)
	for e := range extra {
		d.cost[n*w+e] = costNever
	}
	d.ways[n*w+extra] = 1
	for c := n - 1; c >= 0; c-- {
		for e := extra; e >= 0; e-- {
			best, ways := int32(costNever), uint8(0)
			for take := 0; e+take <= extra; take++ {
				cost := d.price(tok, c, c+e, take)
				if cost >= costNever {
					break
				}
				rest := (c+1)*w + e + take
				switch cost += d.cost[rest]; {
				case cost < best:
					best, ways = cost, d.ways[rest]
				case cost == best && best < costNever:
					ways = min(ways+d.ways[rest], 2)
				}
			}
			d.cost[c*w+e], d.ways[c*w+e] = best, ways
		}
	}
}

// price is the cost of column c holding the tokens [at, at+take].
func (d *sacctDump) price(tok []string, c, at, take int) int32 {
	if d.kinds[c] != kindFree {
		if take > 0 || !d.kinds[c].looksLike(tok[at]) {
			return costNever
		}
		return 0
	}
	cost := int32(take) * extraCost(d.names[c])
	if take > 0 && tok[at] == "" {
		cost += costEdge
	}
	if take > 0 && tok[at+take] == "" {
		cost += costEdge
	}
	return cost
}

// pick follows the cheapest way of solve.
func (d *sacctDump) pick(tok []string, extra int) {
	n, w := len(d.names), extra+1
	d.f = d.f[:0]
	e := 0
	for c := range n {
		for take := 0; ; take++ {
			if d.price(tok, c, c+e, take)+d.cost[(c+1)*w+e+take] != d.cost[c*w+e] {
				continue
			}
			d.f = append(d.f, strings.Join(tok[c+e:c+e+take+1], "|"))
			e += take
			break
		}
	}
}
