package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// shares draws what accounts had used and were due over time, and the
// fair-share factors of users.
func (p *page) shares() {
	var accounts, users []*outcome.Share
	for i := range p.run.Shares {
		s := &p.run.Shares[i]
		switch {
		case len(s.Points) == 0 || s.Depth == 0 || s.Most() == 0:
		case s.User == "":
			accounts = append(accounts, s)
		default:
			users = append(users, s)
		}
	}
	accounts, users = foremost(accounts), foremost(users)
	if len(accounts) > 0 {
		p.print("<h2>Shares of accounts</h2><p>What an account has used, as part of what its parent has, forgotten by half in each half-life; ",
			"broken lines are what it is due.</p>\n")
		p.shareCurves(accounts, func(s *outcome.SharePoint) float64 { return s.Used }, func(s *outcome.SharePoint) float64 { return s.Due })
	}
	if len(users) > 0 {
		p.print("<h2>Fair-share factors</h2><p>Of users: 1 goes first. The factor falls as a user has used more than is due.</p>\n")
		p.shareCurves(users, func(s *outcome.SharePoint) float64 { return s.Factor }, nil)
	}
}

// foremost keeps the eight with most use at any time, in the order they came.
func foremost(list []*outcome.Share) []*outcome.Share {
	if len(list) <= mostColours {
		return list
	}
	by := slices.Clone(list)
	slices.SortStableFunc(by, func(a, b *outcome.Share) int { return cmp.Compare(b.Most(), a.Most()) })
	by = by[:mostColours]
	return slices.DeleteFunc(list, func(s *outcome.Share) bool { return !slices.Contains(by, s) })
}

// shareCurves draws one curve a share, and a broken one of what is due.
func (p *page) shareCurves(list []*outcome.Share, value, due func(*outcome.SharePoint) float64) {
	var l legend
	for _, s := range list {
		name := s.Account
		if s.User != "" {
			name = s.User + " in " + s.Account
		}
		l = append(l, name)
	}
	p.key(l)
	xs := p.timeAxis()
	p.frame(220, 1, 0.25, func(v float64) string {
		if due == nil {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strings.ReplaceAll(share(v), " ", "\u202f")
	}, columns)
	p.gridX(xs, columns, curveHeight)
	for i, s := range list {
		if due != nil {
			p.steps(s.Points, due, i, " due")
		}
	}
	for i, s := range list {
		p.steps(s.Points, value, i, "")
	}
	p.plotEnd(xs)
}

// steps draws points as steps: each holds until the next.
func (p *page) steps(points []outcome.SharePoint, value func(*outcome.SharePoint) float64, colour int, class string) {
	x := func(at int64) float64 { return min(float64(at-p.t0)/float64(p.t1-p.t0), 1) * columns }
	y := func(v float64) float64 { return curveHeight * (1 - min(max(v, 0), 1)) }
	p.printf(`<path class="s s%d%s" d="M%.1f %.1f`, colour, class, x(points[0].At), y(value(&points[0])))
	was := y(value(&points[0]))
	for i := 1; i < len(points); i++ {
		if now := y(value(&points[i])); now-was > 0.4 || was-now > 0.4 {
			p.printf("H%.1fV%.1f", x(points[i].At), now)
			was = now
		}
	}
	p.printf(`H%d"/>`, columns)
}
