package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/gres"
)

// licenses are the cluster's licence pools (spec: backfill 7).
type licenses struct {
	pools []licensePool
}

type licensePool struct {
	name        string
	total, used int64
	kind        gres.Kind
	tracked     bool
}

// A licenseAsk is an amount of one pool.
type licenseAsk struct {
	pool  int32
	count int64
}

func (e *engine) buildLicenses() error {
	for i := range e.cfg.Licenses {
		s := &e.cfg.Licenses[i]
		if s.Name == "" || s.Total < 0 || e.licenses.find(s.Name) >= 0 {
			return fmt.Errorf("scheduler: read licence %q: total %d: %w", s.Name, s.Total, ErrSpec)
		}
		e.addPool(s.Name, s.Total)
	}
	return nil
}

func (e *engine) addPool(name string, total int64) {
	p := licensePool{name: name, total: total}
	p.kind, p.tracked = e.schema.Kind("license/" + name)
	e.licenses.pools = append(e.licenses.pools, p)
}

func (l *licenses) find(name string) int32 {
	return int32(slices.IndexFunc(l.pools, func(p licensePool) bool { return p.name == name }))
}

// licenseUse is what a job asks of the pools.
type licenseUse struct {
	asks []licenseAsk
	or   bool  // one of asks will do
	pick int16 // the one that it takes
}

// parse reads a list of licences: "a:2,b" asks all, "a:1|b:1" one of them.
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
			if n, err = strconv.ParseInt(item[i+1:], 10, 32); err != nil || n < 0 {
				return u, fmt.Errorf("licence %q: %w", item, ErrLicense)
			}
		}
		pool := l.find(name)
		if pool < 0 {
			return u, fmt.Errorf("licence %q: %w", item, ErrLicense)
		}
		if i := slices.IndexFunc(u.asks, func(a licenseAsk) bool { return a.pool == pool }); i >= 0 && !u.or {
			u.asks[i].count += n
		} else {
			u.asks = append(u.asks, licenseAsk{pool, n})
		}
	}
	return u, nil
}

// read parses what a job asks and refuses what the pools could never give.
func (l *licenses) read(text string) (licenseUse, error) {
	u, err := l.parse(text)
	if err != nil {
		return u, err
	}
	fits := 0
	for _, a := range u.asks {
		if a.count <= l.pools[a.pool].total {
			fits++
		}
	}
	if fits < len(u.asks) && (!u.or || fits == 0) {
		return u, fmt.Errorf("licences %q: %w", text, ErrLicense)
	}
	return u, nil
}

// free reports whether a job could have its licences now; of alternatives it
// notes the first that is free.
func (l *licenses) free(u *licenseUse) bool {
	for i, a := range u.asks {
		p := &l.pools[a.pool]
		free := p.used+a.count <= p.total
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

// use takes what a job asks, or with sign -1 gives it back.
func (l *licenses) use(u *licenseUse, sign int64) {
	for i, a := range u.asks {
		if !u.or || int(u.pick) == i {
			l.pools[a.pool].used += sign * a.count
		}
	}
}

// count adds what a job asks to dst, where it is tracked.
func (l *licenses) count(dst gres.Vector, u *licenseUse) {
	for i, a := range u.asks {
		if p := &l.pools[a.pool]; p.tracked && (!u.or || int(u.pick) == i) {
			dst[p.kind] += a.count
		}
	}
}

// setLicense changes the size of a licence pool, or adds one.
func (e *engine) setLicense(ev *Event) error {
	s := ev.License
	if s == nil || s.Name == "" || s.Total < 0 {
		return fmt.Errorf("scheduler: apply %s: no licence given: %w", ev.Kind, ErrSpec)
	}
	i := e.licenses.find(s.Name)
	total := s.Total
	if ev.Remove {
		if i < 0 {
			return fmt.Errorf("scheduler: apply %s: licence %q: %w", ev.Kind, s.Name, ErrLicense)
		}
		total = 0
	}
	if i < 0 {
		e.addPool(s.Name, total)
		e.cfg.Licenses = append(e.cfg.Licenses, LicenseSpec{Name: s.Name, Total: total})
	} else {
		e.licenses.pools[i].total = total
		e.cfg.Licenses[i].Total = total
	}
	if e.acct != nil {
		e.acct.l.SetTotal(e.totalTRES(nil))
	}
	e.freed++
	return nil
}
