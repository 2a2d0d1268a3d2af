package slurmconf

import (
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// AppendReservation appends r as the arguments of scontrol create reservation,
// with instants on the clock of the zone. [ParseReservation] reads them back.
// Parts of a second are dropped: the grammar has none.
func AppendReservation(dst []string, r *scheduler.ReservationSpec, zone *time.Location) []string {
	text := func(key, v string) {
		if v != "" {
			dst = append(dst, key+"="+v)
		}
	}
	list := func(key string, v []string) { text(key, strings.Join(v, ",")) }
	at := func(key string, t scheduler.Time) {
		if t != 0 {
			text(key, time.UnixMicro(int64(t)).In(zone).Format("2006-01-02T15:04:05"))
		}
	}
	minutes := func(key string, d time.Duration) {
		switch {
		case d == Forever:
			text(key, "UNLIMITED")
		case d != 0:
			text(key, strconv.FormatInt(int64(d/time.Minute), 10))
		}
	}
	text("ReservationName", r.Name)
	at("StartTime", r.Start)
	at("EndTime", r.End)
	minutes("Duration", r.Duration)
	text("Nodes", r.Nodes)
	if r.NodeCount != 0 {
		text("NodeCnt", strconv.Itoa(int(r.NodeCount)))
	}
	var cores []string
	for _, n := range r.CoreCount {
		cores = append(cores, strconv.Itoa(int(n)))
	}
	list("CoreCnt", cores)
	text("TRES", r.TRES)
	text("Licenses", r.Licenses)
	text("BurstBuffer", r.BurstBuffer)
	text("Features", r.Features)
	text("PartitionName", r.Partition)
	list("Users", r.Users)
	list("Groups", r.Groups)
	list("Accounts", r.Accounts)
	list("QOS", r.QOS)
	list("AllowedPartitions", r.Partitions)
	var flags []string
	for _, f := range r.Flags {
		if f == "PURGE_COMP" {
			f += "=" + seconds(r.PurgeComp)
		}
		flags = append(flags, f)
	}
	list("Flags", flags)
	minutes("MaxStartDelay", r.MaxStartDelay)
	return dst
}

// seconds writes a duration as minutes:seconds.
func seconds(d time.Duration) string {
	if d == Forever {
		return "UNLIMITED"
	}
	s := int64(d / time.Second)
	return strconv.FormatInt(s/60, 10) + ":" + strconv.FormatInt(s%60, 10)
}
