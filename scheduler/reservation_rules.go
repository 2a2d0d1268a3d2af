package scheduler

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
)

const (
	resvYear = 365 * 24 * time.Hour
	// resvPast is how far in the past a reservation may begin.
	resvPast = 600 * time.Second
	// resvPurge is how long a PURGE_COMP reservation without a time of its own
	// may be idle.
	resvPurgeTime = 5 * time.Minute
)

// A resvWant is what a reservation is to hold, of all the fields that say so.
type resvWant struct {
	nodes   int32
	cores   []int32
	devices []resvDevice
}

// A resvDevice is a number of devices over all nodes.
type resvDevice struct {
	name  gres.NameID
	typ   gres.TypeID
	count int64
}

// readReservation checks what needs no look at nodes.
func (e *engine) readReservation(now Time, s *ReservationSpec) (x reservation, err error) {
	if err := e.checkAsked(s); err != nil {
		return x, err
	}
	if err := e.checkAccess(s); err != nil {
		return x, err
	}
	if x.flags, err = parseResvFlags(s.Flags); err != nil {
		return x, err
	}
	if s.PurgeComp > 0 {
		x.flags |= resvPurge
	}
	x.spec = cloneReservation(s)
	if err := e.checkResvFlags(&x); err != nil {
		return x, err
	}
	if err := e.readSpan(now, &x); err != nil {
		return x, err
	}
	return x, nil
}

// checkResvFlags refuses flags that exclude each other or what is reserved, and
// reads the licences.
func (e *engine) checkResvFlags(x *reservation) error {
	s, f := &x.spec, x.flags
	want, err := e.wantOf(s)
	if err != nil {
		return err
	}
	named := s.Nodes != "" || want.nodes > 0 || len(want.cores) > 0 || len(want.devices) > 0
	pools := s.Licenses != "" || s.BurstBuffer != "" || strings.Contains(s.TRES, "license/") || strings.Contains(s.TRES, "bb/")
	replaces := f&(resvReplace|resvReplaceDown) != 0
	switch {
	case bits.OnesCount32(uint32(f&resvRecurs)) > 1, f&resvRecurs != 0 && f&resvFloat != 0, replaces && f&(resvStatic|resvMaint) != 0:
		return ErrReservationFlags
	case replaces && (s.Nodes != "" || len(want.cores) > 0):
		return fmt.Errorf("nodes or cores that are replaced: %w", ErrUnknownNode)
	case f&resvPartNodes != 0 && (s.Partition == "" || !strings.EqualFold(s.Nodes, "ALL")):
		return fmt.Errorf("PART_NODES without a partition or without all nodes: %w", ErrSpec)
	case f&resvAnyNodes != 0 && !pools:
		return fmt.Errorf("ANY_NODES without licences: %w", ErrSpec)
	case !named && f&resvAnyNodes == 0:
		return fmt.Errorf("neither nodes nor cores: %w", ErrUnknownNode)
	}
	x.licenses, err = e.licensesOf(s)
	return err
}

// readSpan resolves start and end.
func (e *engine) readSpan(now Time, x *reservation) error {
	s := &x.spec
	x.start = s.Start
	if x.start == 0 {
		x.start = now
	}
	lasts := x.start.Add(min(s.Duration, resvYear))
	switch x.end = s.End; {
	case s.End == 0 && s.Duration <= 0:
		return fmt.Errorf("no end and no duration: %w", ErrSpec)
	case s.End == 0:
		x.end = lasts
	case s.Duration > 0 && s.End != lasts:
		return fmt.Errorf("end %d and duration %s differ: %w", s.End, s.Duration, ErrSpec)
	}
	past := x.start < now.Add(-resvPast) && (x.flags&resvRecurs == 0 || x.flags&resvForceStart == 0)
	switch {
	case x.start >= x.end:
		return fmt.Errorf("it ends before it starts: %w", ErrReservationTime)
	case past:
		return fmt.Errorf("start %d is past: %w", x.start, ErrReservationTime)
	case x.end <= now:
		return fmt.Errorf("end %d is past: %w", x.end, ErrReservationTime)
	}
	if x.flags&resvFloat != 0 {
		x.offset = max(x.start-now, 0)
	}
	return nil
}

func cloneReservation(s *ReservationSpec) ReservationSpec {
	c := *s
	for _, l := range []*[]string{&c.Users, &c.Groups, &c.Accounts, &c.QOS, &c.Partitions, &c.Flags} {
		*l = slices.Clone(*l)
	}
	c.CoreCount = slices.Clone(s.CoreCount)
	return c
}

// wantOf reads what a reservation holds: TRES beside the fields of their own.
func (e *engine) wantOf(s *ReservationSpec) (resvWant, error) {
	w := resvWant{nodes: s.NodeCount, cores: s.CoreCount}
	err := eachTRES(s.TRES, func(kind, name string, n int64) error {
		switch {
		case kind == "cpu" && len(w.cores) == 0:
			w.cores = []int32{int32(n)}
		case kind == "node" && w.nodes == 0:
			w.nodes = int32(n)
		case kind == "gres":
			d := resvDevice{count: n}
			plain, typ, _ := strings.Cut(name, ":")
			var known, typed bool
			d.name, known = e.devices.NameID(plain)
			d.typ, typed = e.devices.TypeID(typ)
			if !known || !typed && typ != "" {
				return fmt.Errorf("gres/%s: %w", name, ErrSpec)
			}
			w.devices = append(w.devices, d)
		case kind == "cpu", kind == "node", kind == "license", kind == "bb":
		default:
			return fmt.Errorf("TRES %s: %w", kind, ErrSpec)
		}
		return nil
	})
	if len(w.devices) > 0 {
		w.cores = nil // devices come with whole nodes
	}
	return w, err
}

// eachTRES calls f for every item of a list such as "cpu=4,gres/gpu:a100=2".
func eachTRES(text string, f func(kind, name string, n int64) error) error {
	if text == "" {
		return nil
	}
	for item := range strings.SplitSeq(text, ",") {
		i := strings.LastIndexByte(item, '=')
		if i < 0 {
			return fmt.Errorf("TRES %q: %w", item, ErrSpec)
		}
		n, err := strconv.ParseInt(item[i+1:], 10, 32)
		if err != nil || n < 1 {
			return fmt.Errorf("TRES %q: %w", item, ErrSpec)
		}
		kind, name, _ := strings.Cut(item[:i], "/")
		if err := f(strings.ToLower(kind), name, n); err != nil {
			return err
		}
	}
	return nil
}

// licensesOf reads the licences and burst buffers that a reservation holds.
func (e *engine) licensesOf(s *ReservationSpec) ([]licenseAsk, error) {
	u, err := e.licenses.parse(s.Licenses)
	if err != nil {
		return nil, err
	}
	if u.or {
		return nil, fmt.Errorf("licences %q: %w", s.Licenses, ErrLicense)
	}
	asks := u.asks
	add := func(kind, name string, n int64) error {
		if kind != "license" && kind != "bb" {
			return nil
		}
		if kind == "bb" {
			name = "bb/" + name
		}
		pool := e.licenses.find(name)
		if pool < 0 {
			return fmt.Errorf("TRES %s: %w", name, ErrLicense)
		}
		asks = append(asks, licenseAsk{pool, n})
		return nil
	}
	if err := eachTRES(s.TRES, add); err != nil {
		return nil, err
	}
	bb, err := e.burstBuffers(s.BurstBuffer)
	if err != nil {
		return nil, err
	}
	var sums []licenseAsk
	for _, a := range append(asks, bb...) {
		sums = addAsk(sums, a)
	}
	for _, a := range sums {
		if p := &e.licenses.pools[a.pool]; a.count > p.total {
			return nil, fmt.Errorf("licence %q: %d of %d: %w", p.name, a.count, p.total, ErrLicense)
		}
	}
	return sums, nil
}

// checkAccess refuses a reservation that nobody could use, lists that allow and
// deny at once, and names that do not exist.
func (e *engine) checkAccess(s *ReservationSpec) error {
	given := false
	for _, l := range [][]string{s.Users, s.Groups, s.Accounts, s.QOS, s.Partitions} {
		deny := 0
		for _, n := range l {
			if strings.HasPrefix(n, "-") {
				deny++
			}
		}
		if deny > 0 && deny < len(l) {
			return fmt.Errorf("a list allows and denies: %w", ErrSpec)
		}
		given = given || len(l) > 0
	}
	switch {
	case !given:
		return fmt.Errorf("no users, groups, accounts, QOS or partitions: %w", ErrSpec)
	case len(s.Users) > 0 && len(s.Groups) > 0:
		return fmt.Errorf("both users and groups: %w", ErrSpec)
	}
	for _, p := range s.Partitions {
		if _, ok := e.partByKey[strings.TrimPrefix(p, "-")]; !ok {
			return fmt.Errorf("partition %q: %w", p, ErrUnknownPartition)
		}
	}
	if e.acct == nil {
		return nil
	}
	for _, q := range s.QOS {
		if e.acct.l.FindQOS(strings.TrimPrefix(q, "-")) == 0 {
			return fmt.Errorf("QOS %q: %w", q, ErrUnknownQOS)
		}
	}
	return e.checkAssocs(s)
}

// checkAssocs refuses accounts that do not exist, and users who have no
// association in any of the accounts named with them.
func (e *engine) checkAssocs(s *ReservationSpec) error {
	l := e.acct.l
	for _, a := range s.Accounts {
		if l.FindAccount(strings.TrimPrefix(a, "-")) == 0 {
			return fmt.Errorf("account %q: %w", a, ErrUnknownAccount)
		}
	}
	if len(s.Accounts) == 0 || strings.HasPrefix(s.Accounts[0], "-") || len(s.Users) == 0 || strings.HasPrefix(s.Users[0], "-") {
		return nil
	}
	for _, u := range s.Users {
		if !slices.ContainsFunc(s.Accounts, func(a string) bool { return l.Find(a, u, "") != 0 }) {
			return fmt.Errorf("user %q in accounts %q: %w", u, s.Accounts, ErrUnknownAccount)
		}
	}
	return nil
}
