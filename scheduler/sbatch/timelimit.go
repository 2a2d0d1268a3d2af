package sbatch

import (
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// parseTime reads a time in Slurm's forms, exact to the second.
func parseTime(v string) (time.Duration, error) {
	if v == "-1" || strings.EqualFold(v, "unlimited") || strings.EqualFold(v, "infinite") {
		return scheduler.Infinite, nil
	}
	bad := valueErr("a time is wanted: minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s")
	days, rest, dashed := strings.Cut(v, "-")
	if !dashed {
		days, rest = "0", v
	}
	d, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, bad
	}
	f := strings.Split(rest, ":")
	if len(f) > 3 {
		return 0, bad
	}
	var n [3]time.Duration
	for i := range f {
		u, err := strconv.ParseUint(f[i], 10, 31)
		if err != nil {
			return 0, bad
		}
		n[i] = time.Duration(u)
	}
	if !dashed && len(f) < 3 {
		n[0], n[1], n[2] = 0, n[0], n[1]
	}
	if n[0] > 1<<20 || n[1] > 1<<26 {
		return 0, bad
	}
	return time.Duration(d)*24*time.Hour + n[0]*time.Hour + n[1]*time.Minute + n[2]*time.Second, nil
}

// parseLimit reads a time limit and rounds it up to minutes; 0 is no limit at
// all, as with sbatch.
func parseLimit(v string) (time.Duration, error) {
	d, err := parseTime(v)
	if err != nil || d == scheduler.Infinite {
		return d, err
	}
	if d == 0 {
		return scheduler.Infinite, nil
	}
	return (d + time.Minute - 1) / time.Minute * time.Minute, nil
}
