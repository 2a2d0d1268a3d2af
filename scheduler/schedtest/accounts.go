package schedtest

import (
	"slices"

	"github.com/berth-sched/berth/scheduler"
)

// limitsOf reads the limits of a line: its fields with a capital letter, by
// sacctmgr's names ("GrpTRES=cpu=4"), in order of names.
func limitsOf(f fields) []scheduler.LimitSpec {
	var out []scheduler.LimitSpec
	for k, v := range f {
		if k[0] >= 'A' && k[0] <= 'Z' {
			out = append(out, scheduler.LimitSpec{Name: k, Value: v})
		}
	}
	slices.SortFunc(out, func(a, b scheduler.LimitSpec) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

// assocOf makes an account or a user of a line.
func assocOf(f fields) scheduler.AssocSpec {
	return scheduler.AssocSpec{
		Account: f["account"], User: f["user"], Parent: f["parent"], Shares: f["shares"], DefaultQOS: f["defqos"], QOS: f.list("allow"),
		DefaultAccount: f.has("default"), Priority: uint32(f.num("prio")), Limits: limitsOf(f),
	}
}

// change applies what a line says of an account, a user, a QOS or a licence:
// kind is "set", "limit" or "remove".
func (e *env) change(kind string, f fields) (string, error) {
	ev := scheduler.Event{Remove: kind == "remove"}
	switch {
	case f.has("lic"):
		ev.Kind, ev.License = scheduler.EventLicense, new(licenseOf(f))
	case f.has("qos"):
		q := quality(f)
		ev.Kind, ev.QOS = scheduler.EventQOS, &q
	default:
		a := assocOf(f)
		ev.Kind, ev.Assoc = scheduler.EventAccount, &a
		if a.User != "" {
			ev.Kind = scheduler.EventUser
		}
	}
	if kind == "limit" {
		ev.Kind = scheduler.EventLimit
	}
	return e.apply(ev)
}
