package schedtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// reserve makes, changes or removes reservations, a line each, by the keys of
// scontrol in lower case: "name=r users=mail start=600 duration=60 nodes=p[0-1]
// flags=MAINT". Times are seconds, durations minutes; duration=unlimited is a
// year. With update a key may end in + or -: "users+=games", "flags-=MAINT".
func (e *env) reserve(cmd string, in []fields) (string, error) {
	var b strings.Builder
	for _, f := range in {
		ev := scheduler.Event{Kind: scheduler.EventReservation, Remove: cmd == "unreserve", Text: f["by"]}
		if cmd == "re-reserve" {
			u := resvUpdate(f)
			ev.ReservationUpdate = &u
		} else {
			s := reservationOf(f)
			ev.Reservation = &s
		}
		if err := e.s.Apply(e.now, ev); err != nil {
			fmt.Fprintf(&b, "refused: %v\n", err)
			continue
		}
		if cmd == "unreserve" {
			b.WriteString("ok\n")
			continue
		}
		e.s.View(func(v scheduler.View) {
			var last scheduler.ReservationSpec
			for r := range v.Reservations() {
				if r.Name == f["name"] || f["name"] == "" {
					last = r
				}
			}
			writeReservation(&b, &last)
		})
	}
	return b.String(), nil
}

func reservationOf(f fields) scheduler.ReservationSpec {
	return scheduler.ReservationSpec{
		Name: f["name"], Start: scheduler.Seconds(f.num("start")), End: scheduler.Seconds(f.num("end")), Duration: minutesOf(f["duration"]),
		Nodes: f["nodes"], NodeCount: int32(f.num("nodecnt")), CoreCount: coresOf(f["corecnt"]), TRES: f["tres"], Licenses: f["lic"],
		BurstBuffer: f["bb"], Features: f["features"], Partition: f["part"], Users: f.list("users"), Groups: f.list("groups"),
		Accounts: f.list("accounts"), QOS: f.list("qos"), Partitions: f.list("parts"), Flags: f.list("flags"),
		PurgeComp: f.seconds("purge"), MaxStartDelay: minutesOf(f["delay"]),
	}
}

func minutesOf(text string) time.Duration {
	if text == "unlimited" {
		return scheduler.Infinite
	}
	n, err := strconv.Atoi(text)
	if err != nil && text != "" {
		panic(fmt.Sprintf("schedtest: %q is no number of minutes", text))
	}
	return time.Duration(n) * time.Minute
}

func coresOf(text string) (counts []int32) {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			panic(fmt.Sprintf("schedtest: %q is no number of cores", text))
		}
		counts = append(counts, int32(n))
	}
	return counts
}

func resvUpdate(f fields) scheduler.ReservationUpdate {
	u := scheduler.ReservationUpdate{Name: f["name"], Skip: f.has("skip"), CoreCount: coresOf(f["corecnt"])}
	at := func(key string) *scheduler.Time {
		if !f.has(key) {
			return nil
		}
		t := scheduler.Seconds(f.num(key))
		return &t
	}
	u.Start, u.End = at("start"), at("end")
	if f.has("duration") {
		d := minutesOf(f["duration"])
		u.Duration = &d
	}
	for _, op := range []string{"+", "-"} {
		if f.has("duration" + op) {
			d := minutesOf(f["duration"+op])
			if op == "-" {
				d = -d
			}
			u.Extend = &d
		}
	}
	if f.has("nodecnt") {
		n := int32(f.num("nodecnt"))
		u.NodeCount = &n
	}
	for _, k := range []struct {
		key string
		to  **string
	}{{"tres", &u.TRES}, {"lic", &u.Licenses}, {"part", &u.Partition}, {"features", &u.Features}} {
		if v, ok := f[k.key]; ok {
			*k.to = &v
		}
	}
	for _, k := range []struct {
		key string
		to  **scheduler.ListChange
	}{{"nodes", &u.Nodes}, {"users", &u.Users}, {"accounts", &u.Accounts}, {"qos", &u.QOS}, {"parts", &u.Partitions}, {"flags", &u.Flags}} {
		for _, op := range []string{"", "+", "-"} {
			if f.has(k.key + op) {
				*k.to = &scheduler.ListChange{Op: op, Names: f.list(k.key + op)}
			}
		}
	}
	return u
}

// writeReservation writes a line as scontrol show reservation would, shorter.
func writeReservation(b *strings.Builder, r *scheduler.ReservationSpec) {
	fmt.Fprintf(b, "%s %d-%d %s", r.Name, r.Start/1e6, r.End/1e6, r.Nodes)
	if len(r.CoreCount) > 0 {
		fmt.Fprintf(b, " cores=%v", r.CoreCount)
	}
	if r.Licenses != "" {
		fmt.Fprintf(b, " lic=%s", r.Licenses)
	}
	if len(r.Flags) > 0 {
		fmt.Fprintf(b, " %s", strings.Join(r.Flags, ","))
	}
	b.WriteByte('\n')
}

// writeReserved ends a line about a node with what it is reserved for.
func writeReserved(b *strings.Builder, n *scheduler.NodeView) {
	if n.Reservation != "" {
		b.WriteString(" reserved for " + n.Reservation)
	}
	if n.Maintenance {
		b.WriteString(", maintenance")
	}
	b.WriteByte('\n')
}

// reservations lists all.
func (e *env) reservations() string {
	var b strings.Builder
	e.s.View(func(v scheduler.View) {
		for r := range v.Reservations() {
			writeReservation(&b, &r)
		}
	})
	if b.Len() == 0 {
		return "none\n"
	}
	return b.String()
}

// licenseOf makes a licence pool of a line: "lic=watts scope=unit
// units=n[0-3]:1000/n[4-7]:500".
func licenseOf(f fields) scheduler.LicenseSpec {
	l := scheduler.LicenseSpec{Name: f["lic"], Total: f.num("total"), External: f.num("external")}
	if f.has("scope") {
		if err := l.Scope.UnmarshalText([]byte(f["scope"])); err != nil {
			panic(err)
		}
	}
	for u := range strings.SplitSeq(f["units"], "/") {
		if nodes, total, ok := strings.Cut(u, ":"); ok {
			n, _ := strconv.ParseInt(total, 10, 64)
			l.Units = append(l.Units, scheduler.LicenseUnit{Nodes: nodes, Total: n})
		}
	}
	return l
}
