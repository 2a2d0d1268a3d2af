package scheduler

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/qos"
)

func (v *view) TRES() *gres.Schema { return v.e.schema }

func (v *view) AppendShares(dst []priority.ShareLine) []priority.ShareLine {
	a := v.e.acct
	if a == nil {
		return dst
	}
	var c qos.Columns
	a.l.ColumnsTo(&c)
	rows, depth := v.shareOrder(&c)
	factor := make([]float64, len(c.Assoc))
	shares := v.shares(&c, rows, factor)
	if v.e.wantsShares() {
		for i, r := range rows {
			if shares[i].IsUser {
				shares[i].Factor = a.shareOf(c.Assoc[r])
			}
		}
	}
	for i, r := range rows {
		id := c.Assoc[r]
		line := priority.ShareLine{Account: a.l.AccountName(a.l.Account(id)), Depth: depth[i], Share: shares[i]}
		if c.User[r] {
			line.User = a.l.UserName(a.l.User(id))
		}
		dst = append(dst, line)
	}
	return dst
}

// shares computes the table from columns of the books.
func (v *view) shares(c *qos.Columns, rows []int32, factor []float64) []priority.Share {
	t := &priority.Tree{Parent: c.Parent, User: c.User, Shares: c.Shares}
	p := &v.e.par.Priority
	flags, _ := priorityFlags(p.Flags)
	if flags&(priority.NoFairTree|priority.DepthOblivious) != 0 {
		f := priority.NewClassic(t, max(p.Dampening, 1), flags&priority.DepthOblivious != 0)
		f.Rank(factor, c.Usage)
		return f.AppendShares(nil, rows, c.Usage, factor)
	}
	f := priority.NewFairTree(t, priority.AsShipped)
	f.Rank(factor, c.Usage)
	return f.AppendShares(nil, rows, c.Usage, factor)
}

// shareOrder lists the rows of the table in order, with their depth.
func (v *view) shareOrder(c *qos.Columns) (rows []int32, depth []int) {
	l := v.e.acct.l
	below := make([][]int32, len(c.Assoc))
	for r := range c.Assoc {
		if p := c.Parent[r]; p >= 0 {
			below[p] = append(below[p], int32(r))
		}
	}
	name := func(r int32) (user, rest string) {
		id := c.Assoc[r]
		if c.User[r] {
			return l.UserName(l.User(id)), l.Partition(id)
		}
		return "", l.AccountName(l.Account(id))
	}
	var walk func(r int32, d int)
	walk = func(r int32, d int) {
		rows, depth = append(rows, r), append(depth, d)
		slices.SortFunc(below[r], func(x, y int32) int {
			if c.User[x] != c.User[y] {
				if c.User[x] {
					return -1
				}
				return 1
			}
			xu, xr := name(x)
			yu, yr := name(y)
			return cmp.Or(cmp.Compare(xu, yu), cmp.Compare(xr, yr))
		})
		for _, k := range below[r] {
			walk(k, d+1)
		}
	}
	walk(0, 0)
	return rows, depth
}

func (v *view) AppendPriority(dst []priority.PriorityLine, id JobID) []priority.PriorityLine {
	r := v.e.jobs.find(id)
	if r < 0 || v.e.jobs.rows[r].state != StatePending {
		return dst
	}
	j := &v.e.jobs.rows[r]
	line := priority.PriorityLine{
		Job: strconv.FormatUint(uint64(id), 10), User: j.own.User, Account: v.e.accountName(j), QOS: v.e.qosName(j),
	}
	ranked := !j.unranked() && !v.e.par.Priority.Basic
	if ranked && v.mf == nil {
		v.mf = priority.NewMultifactor(v.e.rank.cfg, &v.e.rank.cluster)
	}
	for i, part := range j.parts {
		line.Partition, line.QOS = v.e.parts[part].spec.Name, v.e.pairQOSName(j, i)
		line.Breakdown = priority.Breakdown{}
		switch {
		case ranked:
			k := &v.e.rank.jobs
			pair := priority.Pairs{Job: []int32{r}, Partition: []int32{part}, QOS: []int32{v.e.pairColumn(j, r, i)}}
			v.mf.PairBreakdown(&line.Breakdown, k, v.e.shareColumn(), &pair, 0)
		case j.prio == 0:
			line.Standing = priority.Held
		default:
			line.Standing = priority.Fixed
		}
		line.Priority = j.pairPrio(i)
		dst = append(dst, line)
	}
	return dst
}
