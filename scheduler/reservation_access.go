package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// admitsAny reports whether a list of names admits any of the given ones; an empty
// list admits all, a leading minus denies.
func admitsAny(list []string, names ...string) bool {
	if len(list) == 0 {
		return true
	}
	deny := strings.HasPrefix(list[0], "-")
	for _, l := range list {
		if slices.Contains(names, strings.TrimPrefix(l, "-")) {
			return !deny
		}
	}
	return deny
}

// checkReservations refuses a job whose reservations do not exist or do not let
// it in (spec: reservations 4).
func (e *engine) checkReservations(s *JobSpec) error {
	for _, name := range s.Reservations {
		at := e.resvByName(name)
		if at < 0 {
			return fmt.Errorf("reservation %q: %w", name, ErrReservationInvalid)
		}
		x := &e.resv.all[at]
		if !e.lets(x, s, ownOf(s)) {
			return fmt.Errorf("reservation %q: %w", name, ErrReservationAccess)
		}
	}
	return nil
}

// lets reports whether the lists of users, groups and accounts let a job in. No
// job uses a reservation that floats.
func (e *engine) lets(x *reservation, s *JobSpec, own *jobOwn) bool {
	switch {
	case x.flags&resvFloat != 0:
		return false
	case own.User == "root":
		return true
	}
	return admitsAny(x.spec.Users, own.User) && (len(x.spec.Groups) == 0 || admitsAny(x.spec.Groups, s.Groups...)) &&
		(len(x.spec.Accounts) == 0 || admitsAny(x.spec.Accounts, e.accountLine(e.accountAsked(own))...))
}

// accountAsked is the account that a job is charged to.
func (e *engine) accountAsked(o *jobOwn) string {
	if o.Account == "" && e.acct != nil {
		return e.acct.defaultAccount(o.User)
	}
	return o.Account
}

// accountLine is an account and those above it.
func (e *engine) accountLine(name string) []string {
	line := []string{name}
	for range e.cfg.Accounts {
		i := slices.IndexFunc(e.cfg.Accounts, func(a AssocSpec) bool { return a.User == "" && a.Account == line[len(line)-1] })
		if i < 0 || e.cfg.Accounts[i].Parent == "" {
			break
		}
		line = append(line, e.cfg.Accounts[i].Parent)
	}
	return line
}

// admitsRecord reports whether a reservation lets a job in one partition in,
// with the QOS of that record.
func (e *engine) admitsRecord(x *reservation, j *job, pair int) bool {
	return j.own.User == "root" || (len(x.spec.Partitions) == 0 || admitsAny(x.spec.Partitions, e.parts[j.parts[pair]].spec.Name)) &&
		(len(x.spec.QOS) == 0 || admitsAny(x.spec.QOS, e.pairQOSName(j, pair)))
}

// attracts reports whether a MAGNETIC reservation takes a job that asks for
// none.
func (e *engine) attracts(x *reservation, j *job) bool {
	return x.flags&resvMagnetic != 0 && len(j.spec.Reservations) == 0 && j.spec.HetJob == 0 && e.lets(x, j.spec, j.own)
}

// mayDelete reports whether a user who is no operator may delete x: it says so,
// and lets the user in, by an association where it lists accounts. Groups of users
// are not known here.
func (e *engine) mayDelete(x *reservation, user string) bool {
	switch {
	case user == "root":
		return true
	case x.flags&resvUserDelete == 0 || len(x.spec.Groups) > 0 || !admitsAny(x.spec.Users, user):
		return false
	}
	return len(x.spec.Accounts) == 0 || slices.ContainsFunc(e.cfg.Accounts, func(a AssocSpec) bool {
		return a.User == user && admitsAny(x.spec.Accounts, e.accountLine(a.Account)...)
	})
}

// besideResv is 1 for nodes that a job of a FLEX reservation takes only when
// those of its reservation are not enough.
func (e *engine) besideResv(n topology.NodeID) uint8 {
	if in := e.resv.inside; in != nil && !in.Has(n) {
		return 1
	}
	return 0
}

// resvServes refuses a job that none of its reservations could serve: they have
// begun and hold too few of its nodes, or do not take its QOS or partitions
// (spec: reservations 4, case 26).
func (e *engine) resvServes(s *JobSpec, ja *jobAccount, parts, classes []int32) error {
	if len(s.Reservations) == 0 {
		return nil
	}
	j := job{spec: s, own: &jobOwn{User: s.User}, acct: *ja, parts: parts, state: StatePending}
	for _, name := range s.Reservations {
		at := e.resvByName(name)
		if at < 0 {
			continue
		}
		x := &e.resv.all[at]
		if x.start > e.resv.clock || x.flags&(resvFlex|resvAnyNodes) != 0 || len(x.cores) > 0 {
			return nil
		}
		for i, id := range classes {
			c := &e.classes.rows[id]
			if e.admitsRecord(x, &j, i) && (x.nodes.CountAnd(c.nodes) >= int(c.min)) {
				return nil
			}
		}
	}
	return fmt.Errorf("scheduler: submit job %d: reservation %q: %w", s.ID, s.Reservations[0], ErrNeverRuns)
}
