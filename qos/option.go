package qos

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
)

// LimitNamed returns the limit of an option name, read in any case. On a QOS
// the association's names MaxJobs, MaxSubmitJobs and MaxJobsAccrue mean the
// limits per user, as in sacctmgr.
func LimitNamed(name string) (_ Limit, ok bool) {
	for m := GrpTRES; m < numLimits; m++ {
		if strings.EqualFold(name, catalogue[m].Name) {
			return m, true
		}
		for _, short := range catalogue[m].Short {
			if strings.EqualFold(name, short) {
				return m, true
			}
		}
	}
	return NoLimit, false
}

// onQOS returns what m means on a QOS.
func (m Limit) onQOS() Limit {
	switch m {
	case MaxJobs:
		return MaxJobsPerUser
	case MaxSubmitJobs:
		return MaxSubmitJobsPerUser
	case MaxJobsAccrue:
		return MaxJobsAccruePerUser
	}
	return m
}

// A Setting is a limit with its new value as text: what sacctmgr writes as
// "set LIMIT=VALUE". A TRES limit takes a TRES list (=, +=, -=), a wall limit
// minutes or a time (rounded up to minutes), the others a number; -1 clears, and
// a value of these that begins with += or -= is added or taken off.
type Setting struct {
	Limit Limit
	Value string
}

// SetLimits sets limits of an association, all or none. Limits on jobs of the
// association itself hold for all below it that do not set them.
//
// Source: sacctmgr(1); spec/qos.md 7.
func (l *Ledger) SetLimits(id AssocID, list ...Setting) error {
	if !l.valid(id) {
		return fmt.Errorf("qos: set limits of association %d: %w", id, ErrUnknownName)
	}
	a := &l.assocs[id]
	next := limits{}
	if a.own != nil {
		next = *a.own
	}
	for _, s := range list {
		if err := l.setText(&next, s.Limit, OnLeaf|OnGroup, s.Value); err != nil {
			return fmt.Errorf("qos: set %v of %s: %w", s.Limit, l.AppendAssoc(nil, id), err)
		}
	}
	l.configure()
	nodes := hasNodes(a.own, GrpTRES)
	a.own = &next
	if next.empty() {
		a.own = nil
	}
	l.hand(id)
	if a.row != 0 && nodes != hasNodes(a.own, GrpTRES) {
		l.retrack()
	}
	return nil
}

// ClearLimits takes away all limits set on an association itself.
func (l *Ledger) ClearLimits(id AssocID) {
	a := l.at(id)
	l.configure()
	nodes := hasNodes(a.own, GrpTRES)
	a.own = nil
	l.hand(id)
	if nodes {
		l.retrack()
	}
}

// ClearQOSLimits takes away all limits of a QOS.
func (l *Ledger) ClearQOSLimits(id QOSID) {
	q := l.quality(id)
	l.configure()
	q.set = limits{}
	q.compile(l.total)
	l.retrack()
}

// SetQOSLimits sets limits of a QOS, all or none.
func (l *Ledger) SetQOSLimits(id QOSID, list ...Setting) error {
	if !l.validQOS(id) {
		return fmt.Errorf("qos: set limits of QOS %d: %w", id, ErrUnknownName)
	}
	q := &l.qos[id]
	next := q.set
	for _, s := range list {
		if err := l.setText(&next, s.Limit.onQOS(), OnQOS, s.Value); err != nil {
			return fmt.Errorf("qos: set %v of QOS %q: %w", s.Limit, q.name, err)
		}
	}
	l.configure()
	was := q.set
	q.set = next
	q.compile(l.total)
	for _, m := range [...]Limit{GrpTRES, MaxTRESPerUser, MaxTRESPerAccount} {
		if hasNodes(&was, m) != hasNodes(&next, m) {
			l.retrack()
			break
		}
	}
	return nil
}

// setText applies one setting to s; it leaves the families of s alone and
// makes new ones, as s may be a copy.
func (l *Ledger) setText(s *limits, m Limit, where Place, text string) error {
	if m == NoLimit || m >= numLimits {
		return ErrUnknownName
	}
	if catalogue[m].Where&where == 0 {
		return ErrNotHere
	}
	if m.HasTRES() {
		v := l.schema.NewVector()
		gres.Fill(v, gres.Unlimited)
		if f := s.fam[m.family()]; f != nil {
			copy(v, f.val)
		}
		if err := gres.ParseTRES(l.schema, v, text); err != nil {
			return err
		}
		s.setVector(m, v)
		return nil
	}
	n, err := s.changed(m, text)
	if err != nil {
		return err
	}
	s.setNumber(m, n)
	return nil
}

// changed returns the number of a limit after "N", "+=N" or "-=N". What is not
// set counts as 0, and nothing goes below 0.
func (s *limits) changed(m Limit, text string) (int64, error) {
	sign := int64(0)
	if rest, ok := strings.CutPrefix(text, "+="); ok {
		sign, text = 1, rest
	} else if rest, ok := strings.CutPrefix(text, "-="); ok {
		sign, text = -1, rest
	}
	n, err := parseNumber(m, text)
	if err != nil || sign == 0 {
		return n, err
	}
	if n == gres.Unlimited {
		return 0, &ParseError{text, 0, ErrSyntax}
	}
	return max(s.num[m]+sign*n, 0), nil
}

// parseNumber reads the value of a limit without TRES; gres.Unlimited clears it.
func parseNumber(m Limit, text string) (int64, error) {
	if text == "-1" {
		return gres.Unlimited, nil
	}
	switch catalogue[m].Unit {
	case UnitWall:
		d, err := ParseTimeLimit(text)
		if err != nil {
			return 0, err
		}
		if d == Unlimited {
			return gres.Unlimited, nil
		}
		return int64(RoundMinutes(d) / time.Minute), nil
	case UnitMillions:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= 0 && x <= 1e9) {
			return 0, &ParseError{text, 0, ErrSyntax}
		}
		return int64(math.Round(x * 1e6)), nil
	}
	n, end, err := digits(text, 0)
	if err == nil && end != len(text) {
		err = ErrSyntax
	}
	if err == nil && n > math.MaxUint32 {
		err = ErrRange
	}
	if err != nil {
		return 0, &ParseError{text, end, err}
	}
	return n, nil
}

// Limit returns one limit set on an association itself, k counting for TRES
// limits alone; ok is false if it is not set there.
func (l *Ledger) Limit(id AssocID, m Limit, k gres.Kind) (n int64, ok bool) {
	return l.at(id).own.get(m, k)
}

// EffectiveLimit is [Ledger.Limit] with what accounts above hand down: limits on
// jobs of the association itself, not those on groups.
func (l *Ledger) EffectiveLimit(id AssocID, m Limit, k gres.Kind) (n int64, ok bool) {
	if groupOnly>>m&1 != 0 {
		return l.Limit(id, m, k)
	}
	return l.at(id).eff.get(m, k)
}

// QOSLimit returns one limit of a QOS as it is enforced: percentages of a
// Relative QOS are turned into amounts.
func (l *Ledger) QOSLimit(id QOSID, m Limit, k gres.Kind) (n int64, ok bool) {
	return l.quality(id).eff.get(m.onQOS(), k)
}

func (s *limits) get(m Limit, k gres.Kind) (int64, bool) {
	switch {
	case s == nil || m == NoLimit || m >= numLimits:
		return gres.Unlimited, false
	case m.HasTRES():
		return s.slot(m, k)
	case !s.has(m):
		return gres.Unlimited, false
	}
	return s.num[m], true
}

// AppendLimit appends the value of a limit as SetLimits reads it, nothing if it
// is not set: of an association, or of a QOS as configured.
func (l *Ledger) AppendLimit(dst []byte, id AssocID, m Limit) []byte {
	return l.appendLimit(dst, l.at(id).own, m)
}

// AppendQOSLimit is [Ledger.AppendLimit] for a QOS.
func (l *Ledger) AppendQOSLimit(dst []byte, id QOSID, m Limit) []byte {
	return l.appendLimit(dst, &l.quality(id).set, m.onQOS())
}

func (l *Ledger) appendLimit(dst []byte, s *limits, m Limit) []byte {
	switch {
	case s == nil || m == NoLimit || m >= numLimits:
		return dst
	case m.HasTRES():
		if f := s.fam[m.family()]; f != nil {
			return gres.AppendLimits(dst, l.schema, f.val)
		}
		return dst
	case !s.has(m):
		return dst
	case catalogue[m].Unit == UnitWall:
		return AppendTimeLimit(dst, time.Duration(s.num[m])*time.Minute)
	case catalogue[m].Unit == UnitMillions:
		return strconv.AppendFloat(dst, float64(s.num[m])/1e6, 'f', -1, 64)
	}
	return strconv.AppendInt(dst, s.num[m], 10)
}

// hand recomputes what id and all below it hand down.
func (l *Ledger) hand(id AssocID) {
	for a := id; a != 0; a = l.nextBelow(a, id) {
		r := &l.assocs[a]
		var above *limits
		if r.parent != 0 {
			above = l.assocs[r.parent].eff
		}
		r.eff = inherit(r.own, above)
	}
}

// inherit returns own limits with those of above where own has none, without
// the limits that count for groups. It shares what it can.
func inherit(own, above *limits) *limits {
	if own == nil || own.set&^groupOnly == 0 && own.famSet&^(groupOnly>>1) == 0 {
		return above
	}
	next := limits{}
	if above != nil {
		next = *above
	}
	for m := GrpTRES; m < numLimits; m++ {
		if groupOnly>>m&1 != 0 {
			continue
		}
		if !m.HasTRES() {
			if own.has(m) {
				next.setNumber(m, own.num[m])
			}
			continue
		}
		f, up := own.fam[m.family()], next.fam[m.family()]
		if f == nil {
			continue
		}
		v := append(gres.Vector(nil), f.val...)
		for k := range v {
			if v[k] == gres.Unlimited && up != nil {
				v[k] = up.val[k]
			}
		}
		next.setVector(m, v)
	}
	return &next
}
