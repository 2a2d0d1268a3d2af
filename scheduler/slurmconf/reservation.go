package slurmconf

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
)

// reservationFlags are the words of Flags= that can be set.
var reservationFlags = []string{"MAINT", "OVERLAP", "IGNORE_JOBS", "HOURLY", "DAILY", "WEEKLY", "WEEKDAY", "WEEKEND", "FORCE_START",
	"FLEX", "MAGNETIC", "ANY_NODES", "PART_NODES", "REPLACE", "REPLACE_DOWN", "STATIC_ALLOC", "TIME_FLOAT", "NO_HOLD_JOBS_AFTER",
	"PURGE_COMP", "USER_DELETE"}

// year is what a duration of UNLIMITED means for a reservation.
const year = 365 * 24 * time.Hour

// purgeDefault is how long a PURGE_COMP reservation without a time of its own
// waits.
const purgeDefault = 5 * time.Minute

// ParseReservation reads the arguments of scontrol create reservation. now
// resolves times such as now+1800; its zone is the zone of clocks. What the
// command itself refuses is an error; what needs the cluster's state is the
// scheduler's to refuse. Errors are [*Error] whose line is the argument's
// number.
//
// Source: scontrol(1), create reservation; spec/reservations.md 1 to 3.
func ParseReservation(args []string, now time.Time) (scheduler.ReservationSpec, error) {
	var r scheduler.ReservationSpec
	ended := false
	for i, a := range args {
		at := Origin{"reservation", i + 1}
		key, v, ok := strings.Cut(a, "=")
		if !ok {
			return scheduler.ReservationSpec{}, &Error{at, a, fmt.Errorf("%w: a key=value pair is wanted", ErrSyntax)}
		}
		set, ok := reservationKeys[strings.ToLower(key)]
		if !ok {
			return scheduler.ReservationSpec{}, &Error{at, a, fmt.Errorf("%w: no such key of a reservation", ErrSyntax)}
		}
		if err := set(&r, v, now); err != nil {
			return scheduler.ReservationSpec{}, &Error{at, a, err}
		}
		ended = ended || r.End != 0 || r.Duration != 0
	}
	if err := checkReservation(&r, ended); err != nil {
		return scheduler.ReservationSpec{}, &Error{Origin{"reservation", max(len(args), 1)}, strings.Join(args, " "), err}
	}
	return r, nil
}

func checkReservation(r *scheduler.ReservationSpec, ended bool) error {
	has := func(f string) bool { return slices.Contains(r.Flags, f) }
	switch {
	case len(r.Users)+len(r.Groups)+len(r.Accounts)+len(r.QOS)+len(r.Partitions) == 0:
		return refusedErr("a reservation needs Users, Groups, Accounts, QOS or AllowedPartitions")
	case len(r.Users) > 0 && len(r.Groups) > 0:
		return refusedErr("Users and Groups exclude each other")
	case !ended:
		return refusedErr("a reservation needs EndTime or Duration")
	case r.End != 0 && r.Start >= r.End:
		return refusedErr("the reservation ends before it starts")
	case has("PART_NODES") && (r.Partition == "" || !strings.EqualFold(r.Nodes, "ALL")):
		return refusedErr("PART_NODES needs PartitionName and Nodes=ALL")
	case has("ANY_NODES") && r.Licenses == "" && r.BurstBuffer == "" && r.TRES == "":
		return refusedErr("ANY_NODES needs licences or burst buffers")
	}
	for _, list := range [][]string{r.Users, r.Groups, r.Accounts, r.QOS, r.Partitions} {
		deny := 0
		for _, s := range list {
			if s[0] == '-' {
				deny++
			}
		}
		if deny > 0 && deny < len(list) {
			return refusedErr("a list allows or denies, not both")
		}
	}
	return nil
}

type reservationSetter func(r *scheduler.ReservationSpec, v string, now time.Time) error

func resvText(field func(*scheduler.ReservationSpec) *string) reservationSetter {
	return func(r *scheduler.ReservationSpec, v string, _ time.Time) error { *field(r) = v; return nil }
}

func resvList(field func(*scheduler.ReservationSpec) *[]string) reservationSetter {
	return func(r *scheduler.ReservationSpec, v string, _ time.Time) error { *field(r) = splitList(v); return nil }
}

func resvTime(field func(*scheduler.ReservationSpec) *scheduler.Time) reservationSetter {
	return func(r *scheduler.ReservationSpec, v string, now time.Time) error {
		t, err := sbatch.ParseWhen(v, now)
		if err == nil {
			*field(r) = scheduler.Time(t.UnixMicro())
		}
		return err
	}
}

var reservationKeys = map[string]reservationSetter{
	"reservationname":   resvText(func(r *scheduler.ReservationSpec) *string { return &r.Name }),
	"reservation":       resvText(func(r *scheduler.ReservationSpec) *string { return &r.Name }),
	"nodes":             resvText(func(r *scheduler.ReservationSpec) *string { return &r.Nodes }),
	"tres":              resvText(func(r *scheduler.ReservationSpec) *string { return &r.TRES }),
	"licenses":          resvText(func(r *scheduler.ReservationSpec) *string { return &r.Licenses }),
	"license":           resvText(func(r *scheduler.ReservationSpec) *string { return &r.Licenses }),
	"burstbuffer":       resvText(func(r *scheduler.ReservationSpec) *string { return &r.BurstBuffer }),
	"features":          resvText(func(r *scheduler.ReservationSpec) *string { return &r.Features }),
	"partitionname":     resvText(func(r *scheduler.ReservationSpec) *string { return &r.Partition }),
	"partition":         resvText(func(r *scheduler.ReservationSpec) *string { return &r.Partition }),
	"users":             resvList(func(r *scheduler.ReservationSpec) *[]string { return &r.Users }),
	"user":              resvList(func(r *scheduler.ReservationSpec) *[]string { return &r.Users }),
	"groups":            resvList(func(r *scheduler.ReservationSpec) *[]string { return &r.Groups }),
	"accounts":          resvList(func(r *scheduler.ReservationSpec) *[]string { return &r.Accounts }),
	"account":           resvList(func(r *scheduler.ReservationSpec) *[]string { return &r.Accounts }),
	"qos":               resvList(func(r *scheduler.ReservationSpec) *[]string { return &r.QOS }),
	"allowedpartitions": resvList(func(r *scheduler.ReservationSpec) *[]string { return &r.Partitions }),
	"starttime":         resvTime(func(r *scheduler.ReservationSpec) *scheduler.Time { return &r.Start }),
	"endtime":           resvTime(func(r *scheduler.ReservationSpec) *scheduler.Time { return &r.End }),
	"duration":          setResvDuration,
	"nodecnt":           setResvNodes,
	"nodecount":         setResvNodes,
	"corecnt":           setResvCores,
	"corecount":         setResvCores,
	"flags":             setResvFlags,
	"maxstartdelay":     setResvDelay,
	"comment":           func(*scheduler.ReservationSpec, string, time.Time) error { return nil },
}

// setResvDuration reads minutes or a time string; seconds round up and
// UNLIMITED is a year.
func setResvDuration(r *scheduler.ReservationSpec, v string, _ time.Time) error {
	d, err := parseMinutes(v)
	if err != nil {
		return err
	}
	if d == Forever {
		d = year
	}
	if d == 0 {
		return valueErr("a duration of at least a minute is wanted")
	}
	r.Duration = d
	return nil
}

func setResvDelay(r *scheduler.ReservationSpec, v string, _ time.Time) error {
	d, err := parseMinutes(v)
	if err == nil {
		r.MaxStartDelay = d
	}
	return err
}

// setResvNodes reads a node count with an optional suffix k.
func setResvNodes(r *scheduler.ReservationSpec, v string, _ time.Time) error {
	num, unit := strings.TrimPrefix(v, "+"), int64(1)
	if n := len(num) - 1; n > 0 && num[n]|0x20 == 'k' {
		num, unit = num[:n], 1024
	}
	n, err := parseCount(0, 1<<20, false)(num)
	if err == nil {
		r.NodeCount = int32(n * unit)
	}
	return err
}

// setResvCores reads one number, or one for each node.
func setResvCores(r *scheduler.ReservationSpec, v string, _ time.Time) error {
	var out []int32
	for _, f := range splitList(v) {
		n, err := parseCount(0, 1<<24, false)(f)
		if err != nil {
			return err
		}
		out = append(out, int32(n))
	}
	if len(out) == 0 {
		return valueErr("a number of cores is wanted")
	}
	r.CoreCount = out
	return nil
}

// setResvFlags reads the flag words; PURGE_COMP may carry a time.
func setResvFlags(r *scheduler.ReservationSpec, v string, _ time.Time) error {
	var out []string
	for _, f := range splitList(v) {
		name, arg, has := strings.Cut(strings.ToUpper(f), "=")
		switch name {
		case "LICENSE_ONLY":
			name = "ANY_NODES"
		case "SPEC_NODES", "ALL_NODES": // shown, never set
			continue
		}
		if !slices.Contains(reservationFlags, name) {
			return valueErr("no such reservation flag: %q", f)
		}
		if name == "PURGE_COMP" {
			r.PurgeComp = purgeDefault
			if has {
				d, err := parseDuration(arg)
				if err != nil {
					return err
				}
				r.PurgeComp = d
			}
		} else if has {
			return valueErr("%s takes no value", name)
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	r.Flags = out
	return nil
}
