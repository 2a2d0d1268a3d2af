package scheduler

import (
	"fmt"
	"math"
	"time"
)

// checkAsked refuses amounts, durations and names of a reservation that say
// nothing, and features and a partition that do not exist.
func (e *engine) checkAsked(s *ReservationSpec) error {
	if s.NodeCount < 0 {
		return fmt.Errorf("node count %d: %w", s.NodeCount, ErrSpec)
	}
	cores := int64(0)
	for _, n := range s.CoreCount {
		if cores += int64(n); n < 1 || cores > math.MaxInt32 {
			return fmt.Errorf("core count %d: %w", s.CoreCount, ErrSpec)
		}
	}
	for _, d := range []struct {
		name string
		long time.Duration
	}{{"duration", s.Duration}, {"time without jobs", s.PurgeComp}, {"start delay", s.MaxStartDelay}} {
		if d.long < 0 {
			return fmt.Errorf("%s %s: %w", d.name, d.long, ErrSpec)
		}
	}
	for _, l := range []struct {
		kind  string
		names []string
	}{{"user", s.Users}, {"group", s.Groups}, {"account", s.Accounts}, {"QOS", s.QOS}, {"partition", s.Partitions}} {
		for _, n := range l.names {
			if n == "" || n == "-" {
				return fmt.Errorf("%s %q: %w", l.kind, n, ErrSpec)
			}
		}
	}
	if s.Features != "" {
		if _, err := e.featureWish(s.Features, false); err != nil {
			return err
		}
	}
	if s.Partition == "" {
		return nil
	}
	_, err := e.partNamed(s.Partition)
	return err
}

// partNamed is the number of a partition.
func (e *engine) partNamed(name string) (int32, error) {
	p, ok := e.partByKey[name]
	if !ok {
		return -1, fmt.Errorf("partition %q: %w", name, ErrUnknownPartition)
	}
	return p, nil
}

// checkOthers refuses a reservation whose cores, nodes or licences others hold then;
// at is the one that it replaces, -1 for none (spec: reservations 2.2).
func (e *engine) checkOthers(x *reservation, at int) error {
	for i := range e.resv.all {
		if o := &e.resv.all[i]; i != at && (x.flags|o.flags)&(resvMaint|resvOverlap) == 0 && x.meets(o) && e.coincide(x, o) {
			return fmt.Errorf("with %q: %w", o.spec.Name, ErrReservationOverlap)
		}
	}
	return e.checkReservedLicenses(x, at)
}

// meets reports whether two reservations share a node, or a core where both are of
// cores.
func (x *reservation) meets(o *reservation) bool {
	if len(x.cores) == 0 || len(o.cores) == 0 {
		return x.nodes.Intersects(&o.nodes)
	}
	for i := range x.cores {
		k := indexOfGrant(o.cores, x.cores[i].node)
		if k < len(o.cores) && o.cores[k].node == x.cores[i].node && meetWords(x.cores[i].grant.Cores, o.cores[k].grant.Cores) {
			return true
		}
	}
	return false
}

// checkReservedLicenses refuses a reservation of licences that others have reserved
// so many of at the same time that they are not there for both.
func (e *engine) checkReservedLicenses(x *reservation, at int) error {
	for _, a := range x.licenses {
		p := &e.licenses.pools[a.pool]
		left := p.total - a.count
		for i := range e.resv.all {
			o := &e.resv.all[i]
			if i == at || !e.coincide(x, o) {
				continue
			}
			for _, b := range o.licenses {
				if b.pool != a.pool {
					continue
				}
				if left -= b.count; left < 0 {
					return fmt.Errorf("licence %q: with %q %d more than the %d there are: %w", p.name, o.spec.Name, -left, p.total, ErrLicense)
				}
			}
		}
	}
	return nil
}
