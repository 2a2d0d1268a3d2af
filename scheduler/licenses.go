package scheduler

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// licenses are the pools of what is counted beside nodes: the cluster's licences
// and burst buffers, and what racks and nodes have to give (spec: backfill 7).
type licenses struct {
	pools []licensePool
}

type licensePool struct {
	name           string
	total, used    int64
	external       int64
	kind           gres.Kind
	tracked        bool
	scope          Scope
	unitOf         []int32 // by node; -1 where there is none. Not for ScopeCluster
	units          []licenseUnit
	spec           int32 // in cfg.Licenses
	free, freeNext []int64
	first          []int32           // by unit: where its nodes begin in members
	members        []topology.NodeID // of the units
}

// A licenseUnit is what one rack or node has.
type licenseUnit struct{ total, used int64 }

// A licenseAsk is an amount of one pool.
type licenseAsk struct {
	pool  int32
	count int64
}

func (e *engine) buildLicenses() error {
	for i := range e.cfg.Licenses {
		if e.licenses.find(e.cfg.Licenses[i].Name) >= 0 {
			return fmt.Errorf("scheduler: read licence %q: given twice: %w", e.cfg.Licenses[i].Name, ErrSpec)
		}
		if err := e.setPool(int32(i), -1); err != nil {
			return err
		}
	}
	return nil
}

// setPool makes pool number at follow entry spec of the configuration; -1 is a
// new one. What is in use stays.
func (e *engine) setPool(spec, at int32) error {
	s := &e.cfg.Licenses[spec]
	bad := func(what string) error {
		return fmt.Errorf("scheduler: read licence %q: %s: %w", s.Name, what, ErrSpec)
	}
	if s.Name == "" || s.Total < 0 || s.External < 0 || s.Scope >= scopes {
		return bad(fmt.Sprintf("total %d, external %d", s.Total, s.External))
	}
	p := licensePool{name: s.Name, total: s.Total, external: s.External, scope: s.Scope, spec: spec}
	name := s.Name
	if !strings.HasPrefix(name, "bb/") {
		name = "license/" + name
	}
	p.kind, p.tracked = e.schema.Kind(name)
	if p.scope != ScopeCluster {
		if err := e.addUnits(&p, s); err != nil {
			return err
		}
	}
	if at < 0 {
		e.licenses.pools = append(e.licenses.pools, p)
		return nil
	}
	old := &e.licenses.pools[at]
	if p.scope != old.scope || !slices.Equal(p.unitOf, old.unitOf) {
		return bad("its scope cannot change")
	}
	p.used = old.used
	for u := range p.units {
		p.units[u].used = old.units[u].used
	}
	*old = p
	if int(at) < len(e.plans.units) {
		e.plans.units[at] = nil
	}
	return nil
}

// addUnits gives a pool of racks or nodes its units.
func (e *engine) addUnits(p *licensePool, s *LicenseSpec) error {
	p.unitOf = make([]int32, len(e.nodes))
	for n := range p.unitOf {
		p.unitOf[n] = -1
		if s.Scope == ScopeNode && len(s.Units) == 0 {
			p.unitOf[n] = int32(n)
			p.units = append(p.units, licenseUnit{total: s.Total})
		}
	}
	for i := range s.Units {
		u := &s.Units[i]
		ids, err := e.appendNodes(nil, "licence "+s.Name, u.Nodes)
		if err != nil {
			return err
		}
		for _, n := range ids {
			if p.unitOf[n] >= 0 || u.Total < 0 {
				return fmt.Errorf("scheduler: read licence %q: nodes %q: %w", s.Name, u.Nodes, ErrSpec)
			}
			if s.Scope == ScopeNode || n == ids[0] {
				p.units = append(p.units, licenseUnit{total: u.Total})
			}
			p.unitOf[n] = int32(len(p.units) - 1)
		}
	}
	p.free, p.freeNext = make([]int64, len(p.units)), make([]int64, len(p.units))
	p.listMembers()
	p.total = 0
	for _, u := range p.units {
		p.total = max(p.total, u.total)
	}
	return nil
}

func (l *licenses) find(name string) int32 {
	return int32(slices.IndexFunc(l.pools, func(p licensePool) bool { return p.name == name }))
}

// licenseUse is what a job asks of the pools.
type licenseUse struct {
	asks   []licenseAsk
	or     bool  // one of asks will do
	scoped bool  // some are of racks or nodes
	pick   int16 // the one that it takes
}

// parse reads a list of licences: "a:2,b" asks all, "a:1|b:1" one of them. A unit
// follows numbers of bytes: "bb/cray:10G" is 10·1024³.
func (l *licenses) parse(text string) (u licenseUse, err error) {
	if text == "" {
		return u, nil
	}
	sep := ","
	if u.or = strings.Contains(text, "|"); u.or {
		sep = "|"
	}
	for item := range strings.SplitSeq(text, sep) {
		name, n := item, int64(1)
		if i := strings.LastIndexAny(item, ":="); i >= 0 {
			name = item[:i]
			if n, err = parseAmount(item[i+1:]); err != nil {
				return u, fmt.Errorf("licence %q: %w", item, ErrLicense)
			}
		}
		pool := l.find(name)
		if pool < 0 {
			return u, fmt.Errorf("licence %q: %w", item, ErrLicense)
		}
		if l.pools[pool].scope != ScopeCluster {
			u.scoped = true
		}
		if u.or {
			u.asks = append(u.asks, licenseAsk{pool, n})
		} else {
			u.asks = addAsk(u.asks, licenseAsk{pool, n})
		}
	}
	if u.or && u.scoped {
		return u, fmt.Errorf("licences %q: alternatives of racks or nodes: %w", text, ErrLicense)
	}
	return u, nil
}

// addAsk adds to what is asked of a pool, or asks it first; too much to count stays
// the most that can be.
func addAsk(asks []licenseAsk, a licenseAsk) []licenseAsk {
	for i := range asks {
		if asks[i].pool == a.pool {
			asks[i].count += min(a.count, math.MaxInt64-asks[i].count)
			return asks
		}
	}
	return append(asks, a)
}

// parseAmount reads a number with an optional suffix K, M, G or T.
func parseAmount(text string) (int64, error) {
	shift := 0
	if i := len(text) - 1; i > 0 {
		if k := strings.IndexByte("KMGT", text[i]&^0x20); k >= 0 {
			shift, text = 10*(k+1), text[:i]
		}
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || n<<shift>>shift != n {
		return 0, ErrLicense
	}
	return n << shift, nil
}

// usesOf parses what a job asks: licences and burst buffers.
func (e *engine) usesOf(s *JobSpec) (licenseUse, error) {
	u, err := e.licenses.parse(s.Licenses)
	if err != nil || s.BurstBuffer == "" {
		return u, err
	}
	bb, err := e.burstBuffers(s.BurstBuffer)
	if err == nil && u.or {
		err = fmt.Errorf("licences %q with burst buffers: %w", s.Licenses, ErrLicense)
	}
	for _, a := range bb {
		u.asks = addAsk(u.asks, a)
	}
	return u, err
}

// readUses is usesOf; it refuses what the pools could never give.
func (e *engine) readUses(s *JobSpec) (licenseUse, error) {
	u, err := e.usesOf(s)
	if err != nil {
		return u, err
	}
	fits := 0
	for _, a := range u.asks {
		if a.count <= e.licenses.pools[a.pool].total {
			fits++
		}
	}
	if fits < len(u.asks) && (!u.or || fits == 0) && !e.par.Queue.LicensesLater {
		return u, fmt.Errorf("licences %q: %w", s.Licenses, ErrLicense)
	}
	return u, nil
}

// burstBuffers reads amounts of burst buffers, "cray:100,local:5", which are
// pools named "bb/cray" and "bb/local".
func (e *engine) burstBuffers(text string) ([]licenseAsk, error) {
	if text == "" {
		return nil, nil
	}
	u, err := e.licenses.parse("bb/" + strings.ReplaceAll(text, ",", ",bb/"))
	return u.asks, err
}

// useLicenses takes what a job asks, or with sign -1 gives it back. Of racks and
// nodes it takes that much for each node that it holds.
func (e *engine) useLicenses(j *job, sign int64) {
	u := &j.licenses
	e.staleUnits(u, j.alloc)
	for i, a := range u.asks {
		p := &e.licenses.pools[a.pool]
		switch {
		case u.or && int(u.pick) != i:
		case p.scope == ScopeCluster:
			p.used += sign * a.count
		default:
			for k := range j.alloc {
				if unit := p.unitOf[j.alloc[k].node]; unit >= 0 {
					p.units[unit].used += sign * a.count
				}
			}
		}
	}
}

// count adds what a job on so many nodes asks to dst, where it is tracked.
func (l *licenses) count(dst gres.Vector, u *licenseUse, nodes int64) {
	for i, a := range u.asks {
		p := &l.pools[a.pool]
		switch {
		case !p.tracked || u.or && int(u.pick) != i:
		case p.scope == ScopeCluster:
			dst[p.kind] += a.count
		default:
			dst[p.kind] += a.count * nodes
		}
	}
}

// setLicense changes a pool, or adds one.
func (e *engine) setLicense(ev *Event) error {
	s := ev.License
	if s == nil || s.Name == "" || s.Total < 0 {
		return fmt.Errorf("scheduler: apply %s: no licence given: %w", ev.Kind, ErrSpec)
	}
	at := e.licenses.find(s.Name)
	if ev.Remove && at < 0 {
		return fmt.Errorf("scheduler: apply %s: licence %q: %w", ev.Kind, s.Name, ErrLicense)
	}
	was := e.cfg.Licenses
	e.cfg.Licenses = slices.Clone(was)
	spec := int32(len(was))
	if at >= 0 {
		spec = e.licenses.pools[at].spec
		c := &e.cfg.Licenses[spec]
		c.External = s.External
		if c.Total = s.Total; ev.Remove {
			c.Total = 0
		}
		if len(s.Units) > 0 {
			c.Units = slices.Clone(s.Units)
		}
	} else {
		c := *s
		c.Units = slices.Clone(s.Units)
		e.cfg.Licenses = append(e.cfg.Licenses, c)
	}
	if err := e.setPool(spec, at); err != nil {
		e.cfg.Licenses = was
		return err
	}
	if e.acct != nil {
		e.acct.l.SetTotal(e.totalTRES(nil))
	}
	e.freed++
	return nil
}

// A Scope says over what the amount of a pool is counted.
type Scope uint8

// Scopes of pools.
const (
	// ScopeCluster: jobs take so much in all: licences, burst buffers.
	ScopeCluster Scope = iota
	// ScopeUnit: jobs take so much for each of their nodes from what its rack
	// has: watts, water.
	ScopeUnit
	// ScopeNode: jobs take so much of what each of their nodes has: bandwidth.
	ScopeNode
	scopes
)

var scopeNames = [scopes]string{ScopeCluster: "cluster", ScopeUnit: "unit", ScopeNode: "node"}

// String returns the name of s.
func (s Scope) String() string { return enumName(scopeNames[:], uint8(s)) }

// MarshalText returns the name of s.
func (s Scope) MarshalText() ([]byte, error) { return enumText(scopeNames[:], uint8(s)) }

// UnmarshalText accepts a name that MarshalText gives.
func (s *Scope) UnmarshalText(b []byte) error {
	v, err := enumParse("scope", scopeNames[:], b)
	if err == nil {
		*s = Scope(v)
	}
	return err
}

// keepScoped takes from the set of the try the nodes whose racks, or which
// themselves, have less than a job takes of them at t, and notes the rest.
func (e *engine) keepScoped(j *job, t Time) {
	s := &e.try
	if s.uses = nil; !j.licenses.scoped {
		return
	}
	s.uses, s.cut = &j.licenses, true
	for _, a := range j.licenses.asks {
		p := &e.licenses.pools[a.pool]
		if p.scope == ScopeCluster {
			continue
		}
		for u := range p.units {
			p.free[u] = p.units[u].total - p.units[u].used
		}
		if t > e.now {
			e.freeScoped(a.pool, t)
		}
		for n := range s.within.All() {
			if u := p.unitOf[n]; u < 0 || p.free[u] < a.count {
				s.within.Remove(n)
			}
		}
	}
}

// freeScoped adds what jobs that end by t give back to a pool.
func (e *engine) freeScoped(pool int32, t Time) {
	p := &e.licenses.pools[pool]
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if !j.running() || !j.licenses.scoped || e.expectedEnd(j) > t {
			continue
		}
		for _, a := range j.licenses.asks {
			if a.pool != pool {
				continue
			}
			for k := range j.alloc {
				if u := p.unitOf[j.alloc[k].node]; u >= 0 {
					p.free[u] += a.count
				}
			}
		}
	}
}

// pruneScoped leaves of each rack only as many fitting nodes as it can serve,
// the first ones. Racks are those at the instant of keepScoped.
func (e *engine) pruneScoped() {
	s := &e.try
	if s.uses == nil {
		return
	}
	for _, a := range s.uses.asks {
		p := &e.licenses.pools[a.pool]
		if p.scope != ScopeUnit || a.count == 0 {
			continue
		}
		copy(p.freeNext, p.free)
		s.cols.Forget() // the largest may be among those that go
		s.near.Forget()
		for n := range s.fit.All() {
			if u := p.unitOf[n]; p.freeNext[u] < a.count {
				s.fit.Remove(n)
			} else {
				p.freeNext[u] -= a.count
			}
		}
	}
}

// licensesFree reports whether a job that starts at t could have its licences:
// beside those in use then, those that others are planned for or have reserved
// while it runs. Of alternatives it notes the first that is free.
func (e *engine) licensesFree(j *job, resv int32, t Time, limit time.Duration) bool {
	u := &j.licenses
	for i, a := range u.asks {
		p := &e.licenses.pools[a.pool]
		free := p.scope != ScopeCluster || a.count <= p.total-p.external-e.licensesUsed(a.pool, t, limit)-e.licensesReserved(a.pool, resv, t, limit)
		if u.or && free {
			u.pick = int16(i)
			return true
		}
		if !u.or && !free {
			return false
		}
	}
	return !u.or
}

// licensesUsed counts what running jobs hold of a pool at t, and while Slurm's
// planning pass makes licences part of its map, planned ones at any time of
// [t, t+limit).
func (e *engine) licensesUsed(pool int32, t Time, limit time.Duration) int64 {
	used := e.licenses.pools[pool].used
	if t > e.now {
		for r := range e.jobs.rows {
			if j := &e.jobs.rows[r]; j.running() && len(j.licenses.asks) > 0 && e.expectedEnd(j) <= t {
				used -= j.licenses.of(pool)
			}
		}
	}
	if e.cfg.Profile != ProfileSlurm || !e.plans.inPass {
		return used
	}
	for i := range e.plans.all[:e.plans.n] {
		if x := &e.plans.all[i]; x.start < t.Add(limit) && x.end > t {
			used += e.jobs.rows[x.row].licenses.of(pool)
		}
	}
	return used
}

// of counts what a job takes of a pool.
func (u *licenseUse) of(pool int32) int64 {
	n := int64(0)
	for i, a := range u.asks {
		if a.pool == pool && (!u.or || int(u.pick) == i) {
			n += a.count
		}
	}
	return n
}

// licensesReserved counts what other reservations hold of a pool at any time of
// [t, t+limit). In profile Slurm what their jobs use of it counts twice (spec:
// reservations 7.1).
func (e *engine) licensesReserved(pool, resv int32, t Time, limit time.Duration) int64 {
	sum := int64(0)
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if x.id == resv || !e.holdsDuring(x, t, t.Add(limit)) {
			continue
		}
		for _, a := range x.licenses {
			if a.pool != pool {
				continue
			}
			n := a.count
			for _, m := range x.members {
				if j := &e.jobs.rows[m]; e.cfg.Profile != ProfileSlurm && (t <= e.now || j.end > t) {
					n -= j.licenses.of(pool)
				}
			}
			sum += max(n, 0)
		}
	}
	return sum
}

// licensesLater is the first end of a job, a plan or a reservation after t that
// could give back licences that a record of Slurm's map lacks; Never if there is
// none.
func (e *engine) licensesLater(t Time) Time {
	at := Never
	later := func(x Time) {
		if x > t {
			at = min(at, x)
		}
	}
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.running() && len(j.licenses.asks) > 0 {
			later(e.expectedEnd(j))
		}
	}
	for i := range e.plans.all[:e.plans.n] {
		if x := &e.plans.all[i]; len(e.jobs.rows[x.row].licenses.asks) > 0 {
			later(x.end)
		}
	}
	for i := range e.resv.all {
		if x := &e.resv.all[i]; len(x.licenses) > 0 {
			later(x.end)
		}
	}
	return at
}

// waitsForLicenses reports whether a record that the gate stopped is planned for
// when its licences come back, and keeps its partition until then. Slurm:
// bf_licenses.
func (e *engine) waitsForLicenses(j *job) bool {
	return e.cfg.Profile == ProfileSlurm && e.par.Plan.Licenses && j.reason == ReasonLicenses
}

// scopedFits reports whether racks and nodes have what a job would take of them
// on the nodes of the scratch.
func (e *engine) scopedFits(j *job) bool {
	for _, a := range j.licenses.asks {
		p := &e.licenses.pools[a.pool]
		if p.scope == ScopeCluster {
			continue
		}
		for u := range p.units {
			p.freeNext[u] = p.units[u].total - p.units[u].used
		}
		for _, n := range e.try.nodes {
			u := p.unitOf[n]
			if u < 0 || p.freeNext[u] < a.count {
				return false
			}
			p.freeNext[u] -= a.count
		}
	}
	return true
}
