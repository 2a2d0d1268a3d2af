package slurmconf

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// ParseReservationUpdate reads the arguments of scontrol update reservation: keys
// of [ParseReservation], where lists, nodes, flags and the duration may be added
// to and taken from ("users+=ann", "flags-=MAINT", "duration+=30"), and the word
// "skip". Errors are [*Error] whose line is the argument's number.
//
// Source: scontrol(1), update reservation; spec/reservations.md 6.3.
func ParseReservationUpdate(args []string, now time.Time) (scheduler.ReservationUpdate, error) {
	var u scheduler.ReservationUpdate
	for i, a := range args {
		if err := updateArgument(&u, a, now); err != nil {
			return scheduler.ReservationUpdate{}, &Error{Origin{"reservation", i + 1}, a, err}
		}
	}
	if u.Name == "" {
		return scheduler.ReservationUpdate{}, &Error{Origin{"reservation", max(len(args), 1)}, strings.Join(args, " "), refusedErr("a reservation must be named")}
	}
	return u, nil
}

func updateArgument(u *scheduler.ReservationUpdate, arg string, now time.Time) error {
	if strings.EqualFold(arg, "skip") {
		u.Skip = true
		return nil
	}
	key, v, ok := strings.Cut(arg, "=")
	if !ok {
		return fmt.Errorf("%w: a key=value pair is wanted", ErrSyntax)
	}
	op := ""
	if n := len(key) - 1; n > 0 && (key[n] == '+' || key[n] == '-') {
		key, op = key[:n], key[n:]
	}
	key = strings.ToLower(key)
	set, ok := reservationKeys[key]
	if !ok {
		return fmt.Errorf("%w: no such key of a reservation", ErrSyntax)
	}
	var r scheduler.ReservationSpec
	if v != "" || key != "partition" && key != "partitionname" {
		if err := set(&r, v, now); err != nil {
			return err
		}
	}
	change := func(names []string) *scheduler.ListChange { return &scheduler.ListChange{Op: op, Names: names} }
	switch key {
	case "users", "user":
		u.Users = change(r.Users)
	case "groups":
		u.Groups = change(r.Groups)
	case "accounts", "account":
		u.Accounts = change(r.Accounts)
	case "qos":
		u.QOS = change(r.QOS)
	case "allowedpartitions":
		u.Partitions = change(r.Partitions)
	case "nodes":
		u.Nodes = change([]string{v})
	case "flags":
		u.Flags = change(r.Flags)
		if r.PurgeComp > 0 && op != "-" {
			u.PurgeComp = &r.PurgeComp
		}
	case "duration":
		switch op {
		case "+":
			u.Extend = &r.Duration
		case "-":
			less := -r.Duration
			u.Extend = &less
		default:
			u.Duration = &r.Duration
		}
	default:
		if op != "" {
			return fmt.Errorf("%w: %s cannot be added to", ErrSyntax, key)
		}
		updateField(u, key, &r)
	}
	return nil
}

// updateField stores a field that can only be set.
func updateField(u *scheduler.ReservationUpdate, key string, r *scheduler.ReservationSpec) {
	switch key {
	case "reservationname", "reservation":
		u.Name = r.Name
	case "tres":
		u.TRES = &r.TRES
	case "licenses", "license":
		u.Licenses = &r.Licenses
	case "burstbuffer":
		u.BurstBuffer = &r.BurstBuffer
	case "features":
		u.Features = &r.Features
	case "partitionname", "partition":
		u.Partition = &r.Partition
	case "starttime":
		u.Start = &r.Start
	case "endtime":
		u.End = &r.End
	case "nodecnt", "nodecount":
		u.NodeCount = &r.NodeCount
	case "corecnt", "corecount":
		u.CoreCount = r.CoreCount
	case "maxstartdelay":
		u.MaxStartDelay = &r.MaxStartDelay
	}
}
