package cgroupsv2

import (
	"math"
	"strconv"
	"strings"
)

// A Conf is cgroup.conf. [DefaultConf] has the values of an absent file.
//
// Source: cgroup.conf(5) of Slurm 26.05; specification cgroupsv2.md 6.
type Conf struct {
	Plugin               string // CgroupPlugin: autodetect, cgroup/v1, cgroup/v2 or disabled
	Mountpoint           string // CgroupMountpoint
	Slice                string // CgroupSlice
	JobIDPaths           bool   // CgroupJobIdPaths: job_N instead of the SLUID
	IgnoreSystemd        bool
	IgnoreSystemdFailure bool // IgnoreSystemdOnFailure
	EnableControllers    bool
	ExtraControllers     []string // EnableExtraControllers, in the order of the file; "all" stands alone
	SystemdTimeout       int64    // milliseconds
	ConstrainCores       bool
	ConstrainDevices     bool
	ConstrainRAM         bool    // ConstrainRAMSpace
	ConstrainSwap        bool    // ConstrainSwapSpace
	AllowedRAM           float64 // AllowedRAMSpace, percent of what was allocated
	AllowedSwap          float64 // AllowedSwapSpace, percent
	MaxRAMPercent        float64 // of the node's RealMemory
	MaxSwapPercent       float64 // of the node's RealMemory
	MinRAM               int64   // MinRAMSpace, MiB
	SignalChildren       bool    // SignalChildrenProcesses
	MemorySwappiness     int64   // 0 to 100, -1 unset; version 1 alone uses it
}

// DefaultConf returns what Slurm uses without a file: nothing is constrained.
func DefaultConf() Conf {
	return Conf{
		Plugin: "autodetect", Mountpoint: "/sys/fs/cgroup", Slice: "system.slice", SystemdTimeout: 1000,
		AllowedRAM: 100, MaxRAMPercent: 100, MaxSwapPercent: 100, MinRAM: 30, MemorySwappiness: -1,
	}
}

// ParseConf reads the text of cgroup.conf: key=value pairs, several on a line
// or one, keys in any case, # starts a comment, a backslash at the end of a
// line continues it, values may be in double quotes. The last of equal keys
// wins. Warnings name keys without effect. A text that cannot be read, also an
// unknown key, is an error, as it is fatal for Slurm: limits that someone
// believes in must not get lost by a misspelling.
func ParseConf(text string) (c Conf, warnings []string, err error) {
	c = DefaultConf()
	line := 0
	for text != "" {
		line++
		first := line
		row, rest, _ := strings.Cut(text, "\n")
		for strings.HasSuffix(row, "\\") && rest != "" {
			var more string
			more, rest, _ = strings.Cut(rest, "\n")
			row = row[:len(row)-1] + more
			line++
		}
		text = rest
		warnings, err = c.line(row, first, warnings)
		if err != nil {
			return DefaultConf(), nil, err
		}
	}
	if c.IgnoreSystemd {
		c.IgnoreSystemdFailure = true
	}
	return c, warnings, nil
}

// line reads one logical line.
func (c *Conf) line(row string, line int, warnings []string) ([]string, error) {
	at := 0
	for {
		for at < len(row) && space(row[at]) {
			at++
		}
		if at == len(row) || row[at] == '#' {
			return warnings, nil
		}
		start := at
		fail := func(offset int, err error) ([]string, error) {
			return nil, &ParseError{What: "cgroup.conf", Text: row, Line: line, Offset: offset, Err: err}
		}
		for at < len(row) && letter(row[at]) {
			at++
		}
		key := row[start:at]
		if key == "" || at == len(row) || row[at] != '=' {
			return fail(at, ErrSyntax)
		}
		at++
		value, next, ok := confValue(row, at)
		if !ok {
			return fail(at, ErrSyntax)
		}
		if err := c.set(key, value); err == ErrUnknownKey {
			return fail(start, err)
		} else if err != nil {
			return fail(at, err)
		}
		if why := idle[strings.ToLower(key)]; why != "" {
			warnings = append(warnings, "line "+strconv.Itoa(line)+": "+key+" "+why)
		}
		at = next
	}
}

// confValue reads a value of row from at on.
func confValue(row string, at int) (value string, next int, ok bool) {
	if at < len(row) && row[at] == '"' {
		n := strings.IndexByte(row[at+1:], '"')
		if n < 0 {
			return "", at, false
		}
		return row[at+1 : at+1+n], at + n + 2, true
	}
	next = at
	for next < len(row) && !space(row[next]) && row[next] != '#' && row[next] != '"' {
		next++
	}
	return row[at:next], next, next > at
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// Keys that are read and do nothing here.
var idle = map[string]string{
	"cgroupautomount":        "is defunct",
	"alloweddevicesfile":     "is defunct",
	"memorylimitenforcement": "is defunct",
	"memorylimitthreshold":   "is defunct",
	"memoryswappiness":       "has an effect with version 1 alone",
}

// set takes one pair.
func (c *Conf) set(key, value string) error {
	switch strings.ToLower(key) {
	case "cgroupplugin":
		switch v := strings.ToLower(value); v {
		case "autodetect", "cgroup/v1", "cgroup/v2", "disabled":
			c.Plugin = v
			return nil
		}
		return ErrSyntax
	case "cgroupmountpoint":
		if !strings.HasPrefix(value, "/") {
			return ErrSyntax
		}
		if c.Mountpoint = strings.TrimSuffix(value, "/"); c.Mountpoint == "" {
			return ErrSyntax
		}
	case "cgroupslice":
		if value == "" || strings.Contains(value, "/") || value == "." || value == ".." {
			return ErrSyntax
		}
		c.Slice = value
	case "enableextracontrollers":
		return c.extra(value)
	case "systemdtimeout":
		return whole(&c.SystemdTimeout, value, math.MaxInt32)
	case "minramspace":
		return whole(&c.MinRAM, value, 1<<42)
	case "memoryswappiness":
		err := whole(&c.MemorySwappiness, value, math.MaxInt32)
		c.MemorySwappiness = min(c.MemorySwappiness, 100)
		return err
	case "allowedramspace":
		return percent(&c.AllowedRAM, value)
	case "allowedswapspace":
		return percent(&c.AllowedSwap, value)
	case "maxrampercent":
		return percent(&c.MaxRAMPercent, value)
	case "maxswappercent":
		return percent(&c.MaxSwapPercent, value)
	default:
		return c.flag(strings.ToLower(key), value)
	}
	return nil
}

// flag takes the keys that are yes or no.
func (c *Conf) flag(key, value string) error {
	var to *bool
	switch key {
	case "cgroupjobidpaths":
		to = &c.JobIDPaths
	case "ignoresystemd":
		to = &c.IgnoreSystemd
	case "ignoresystemdonfailure":
		to = &c.IgnoreSystemdFailure
	case "enablecontrollers":
		to = &c.EnableControllers
	case "constraincores":
		to = &c.ConstrainCores
	case "constraindevices":
		to = &c.ConstrainDevices
	case "constrainramspace":
		to = &c.ConstrainRAM
	case "constrainswapspace":
		to = &c.ConstrainSwap
	case "signalchildrenprocesses":
		to = &c.SignalChildren
	default:
		if idle[key] == "" {
			return ErrUnknownKey
		}
		return nil
	}
	switch strings.ToLower(value) {
	case "yes", "true", "up", "1":
		*to = true
	case "no", "false", "down", "0":
		*to = false
	default:
		return ErrSyntax
	}
	return nil
}

// extra takes EnableExtraControllers.
func (c *Conf) extra(value string) error {
	var list []string
	for name := range strings.SplitSeq(strings.ToLower(value), ",") {
		switch name {
		case "io", "hugetlb", "pids", "rdma", "misc", "all":
			list = append(list, name)
		default:
			return ErrSyntax
		}
	}
	c.ExtraControllers = list
	return nil
}

func whole(to *int64, value string, most int64) error {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return ErrSyntax
	case n < 0 || n > most:
		return ErrRange
	}
	*to = n
	return nil
}

func percent(to *float64, value string) error {
	f, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
	switch {
	case err != nil:
		return ErrSyntax
	case math.IsNaN(f) || f < 0 || f > 1e6:
		return ErrRange
	}
	*to = f
	return nil
}
