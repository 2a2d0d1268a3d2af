package slurmconf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/gres"
)

// A GresLine is one record of gres.conf.
type GresLine struct {
	// Nodes is the hostlist after NodeName=; unset: every node.
	Nodes Value[string]
	// Name and Type are the GRES; a line with AutoDetect alone has no Name.
	Name, Type Value[string]
	// Count is the number of units; unset: the number of files, or 1.
	Count Value[int64]
	// File is a bracket list, one device each; MultipleFiles a list of files
	// that belong to one device.
	File, MultipleFiles Value[string]
	// Cores is a list of abstract core ids near the device.
	Cores Value[string]
	// Links is the number of links to each device in device order, -1 at the
	// device's own place. Nil if the text was none; BadLinks then says so.
	Links    Value[[]int64]
	BadLinks bool
	// Flags are in lower case.
	Flags Value[[]string]
	// AutoDetect is in lower case: off, or words such as nvml.
	AutoDetect Value[string]
	// At is the line.
	At Origin
}

var gresFlag = parseWord("countonly", "explicit", "one_sharing", "all_sharing", "env_uuid", "nvidia_gpu_env", "amd_gpu_env",
	"intel_gpu_env", "opencl_env", "no_gpu_env")

func parseGresFlags(s string) ([]string, error) {
	list, _ := parseList(s)
	for i, f := range list {
		w, err := gresFlag(f)
		if err != nil {
			return nil, err
		}
		list[i] = w
	}
	return list, nil
}

// autoDetectWords are the methods that AutoDetect finds as a part of its value.
var autoDetectWords = []string{"full", "nvml", "rsmi", "oneapi", "nrt", "nvidia"}

func parseAutoDetect(s string) (string, error) {
	l := strings.ToLower(s)
	if l == "off" {
		return l, nil
	}
	for _, w := range autoDetectWords {
		if strings.Contains(l, w) {
			return l, nil
		}
	}
	return "", valueErr("off or one of %s is wanted", strings.Join(autoDetectWords, ", "))
}

// parseAmount reads a count with Slurm's suffixes.
func parseAmount(s string) (int64, error) {
	n, err := gres.ParseCount(s)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrValue, err)
	}
	return n, nil
}

// setLinks reads a Links list. Slurm drops a bad list and keeps the device.
func setLinks(g *GresLine, w word, at Origin) error {
	var out []int64
	self := 0
	for f := range strings.SplitSeq(w.val, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(f), 10, 32)
		if err != nil || n < -1 {
			self = 2
			break
		}
		if n == -1 {
			self++
		}
		out = append(out, n)
	}
	if self > 1 {
		out = nil
		g.BadLinks = true
	}
	g.Links = Value[[]int64]{out, at}
	return nil
}

var gresKeys = table[GresLine]{
	"nodename":      put(parseText, func(g *GresLine) *Value[string] { return &g.Nodes }),
	"name":          put(parseText, func(g *GresLine) *Value[string] { return &g.Name }),
	"type":          put(parseText, func(g *GresLine) *Value[string] { return &g.Type }),
	"count":         put(parseAmount, func(g *GresLine) *Value[int64] { return &g.Count }),
	"file":          put(parseText, func(g *GresLine) *Value[string] { return &g.File }),
	"multiplefiles": put(parseText, func(g *GresLine) *Value[string] { return &g.MultipleFiles }),
	"cores":         put(parseText, func(g *GresLine) *Value[string] { return &g.Cores }),
	"links":         setLinks,
	"flags":         put(parseGresFlags, func(g *GresLine) *Value[[]string] { return &g.Flags }),
	"autodetect":    put(parseAutoDetect, func(g *GresLine) *Value[string] { return &g.AutoDetect }),
	"ignore":        drop[GresLine],
}.with("cores", "cpus").with("links", "link").with("file", "files")

// A Cgroup is what cgroup.conf says, as far as the linter asks. Package
// cgroupsv2 reads the file for use.
type Cgroup struct {
	Plugin                                                             Value[string]
	ConstrainCores, ConstrainDevices, ConstrainRAMSpace, ConstrainSwap Value[bool]
	JobIDPaths                                                         Value[bool]
}

var cgroupKeys = table[Cgroup]{
	"cgroupplugin":            put(parseWord("autodetect", "cgroup/v1", "cgroup/v2", "disabled"), func(c *Cgroup) *Value[string] { return &c.Plugin }),
	"constraincores":          put(parseBool, func(c *Cgroup) *Value[bool] { return &c.ConstrainCores }),
	"constraindevices":        put(parseBool, func(c *Cgroup) *Value[bool] { return &c.ConstrainDevices }),
	"constrainramspace":       put(parseBool, func(c *Cgroup) *Value[bool] { return &c.ConstrainRAMSpace }),
	"constrainswapspace":      put(parseBool, func(c *Cgroup) *Value[bool] { return &c.ConstrainSwap }),
	"cgroupjobidpaths":        put(parseBool, func(c *Cgroup) *Value[bool] { return &c.JobIDPaths }),
	"cgroupmountpoint":        drop[Cgroup],
	"cgroupslice":             drop[Cgroup],
	"ignoresystemd":           drop[Cgroup],
	"ignoresystemdonfailure":  drop[Cgroup],
	"enablecontrollers":       drop[Cgroup],
	"enableextracontrollers":  drop[Cgroup],
	"systemdtimeout":          drop[Cgroup],
	"allowedramspace":         drop[Cgroup],
	"allowedswapspace":        drop[Cgroup],
	"maxrampercent":           drop[Cgroup],
	"maxswappercent":          drop[Cgroup],
	"minramspace":             drop[Cgroup],
	"signalchildrenprocesses": drop[Cgroup],
}
