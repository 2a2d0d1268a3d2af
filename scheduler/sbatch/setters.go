package sbatch

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
)

// parseInt reads a number in [lo, hi].
func parseInt(v string, lo, hi int64) (int64, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < lo || n > hi {
		return 0, valueErr("a number in [%d, %d] is wanted", lo, hi)
	}
	return n, nil
}

// setInt stores a number in [lo, 2^31).
func setInt(dst *int32, v string, lo int64) error {
	n, err := parseInt(v, lo, math.MaxInt32)
	if err == nil {
		*dst = int32(n)
	}
	return err
}

// ParseMemory reads an amount of memory or disk: a number of MiB, or with a
// suffix K, M, G or T and an optional B. Kibibytes round up. Errors are
// [ErrValue].
//
// Source: sbatch(1), --mem.
func ParseMemory(text string) (int64, error) {
	num := text
	if n := len(num) - 1; n > 1 && num[n]|0x20 == 'b' {
		num = num[:n]
	}
	unit, kib := int64(1), false
	if n := len(num) - 1; n > 0 {
		switch num[n] | 0x20 {
		case 'k':
			kib = true
		case 'm':
		case 'g':
			unit = 1 << 10
		case 't':
			unit = 1 << 20
		default:
			n++
		}
		num = num[:n]
	}
	v, err := strconv.ParseInt(num, 10, 64)
	if err != nil || v < 0 || num[0] == '+' || v > math.MaxInt64/unit {
		return 0, valueErr("a size in MiB is wanted, or a number with K, M, G or T")
	}
	if kib {
		return v/1024 + min(v%1024, 1), nil
	}
	return v * unit, nil
}

// AppendMemory appends MiB with the largest suffix that divides it.
// [ParseMemory] reads it back.
func AppendMemory(dst []byte, mib int64) []byte {
	switch {
	case mib > 0 && mib%(1<<20) == 0:
		return append(strconv.AppendInt(dst, mib>>20, 10), 'T')
	case mib > 0 && mib%(1<<10) == 0:
		return append(strconv.AppendInt(dst, mib>>10, 10), 'G')
	}
	return append(strconv.AppendInt(dst, mib, 10), 'M')
}

func list(v string) []string {
	var out []string
	for f := range strings.SplitSeq(v, ",") {
		if f = strings.TrimSpace(f); f != "" {
			out = append(out, f)
		}
	}
	return out
}

func oneOf(v string, words ...string) (string, error) {
	l := strings.ToLower(v)
	for _, w := range words {
		if l == w {
			return w, nil
		}
	}
	return "", valueErr("one of %s is wanted", strings.Join(words, ", "))
}

func setAccount(o *Options, v string) error           { o.Spec.Account = v; return nil }
func setComment(o *Options, v string) error           { o.Spec.Comment = v; return nil }
func setJobName(o *Options, v string) error           { o.Spec.Name = v; return nil }
func setWCKey(o *Options, v string) error             { o.Spec.WCKey = v; return nil }
func setClusterConstraint(o *Options, v string) error { o.Spec.ClusterConstraint = v; return nil }
func setBurstBuffer(o *Options, v string) error       { o.Spec.BurstBuffer = v; return nil }
func setMCSLabel(o *Options, v string) error          { o.Spec.MCSLabel = v; return nil }
func setPartition(o *Options, v string) error         { o.Spec.Partitions = list(v); return nil }
func setQOS(o *Options, v string) error               { o.Spec.QOS = list(v); return nil }
func setReservation(o *Options, v string) error       { o.Spec.Reservations = list(v); return nil }

func setHold(o *Options, _ string) error           { o.Spec.Hold = true; return nil }
func setContiguous(o *Options, _ string) error     { o.Spec.Contiguous = true; return nil }
func setReboot(o *Options, _ string) error         { o.Spec.Reboot = true; return nil }
func setSpread(o *Options, _ string) error         { o.Spec.Spread = true; return nil }
func setSpreadSegments(o *Options, _ string) error { o.Spec.SpreadSegments = true; return nil }
func setConsolidate(o *Options, _ string) error    { o.Spec.ConsolidateSegments = true; return nil }
func setUseMinNodes(o *Options, _ string) error    { o.Spec.UseMinNodes = true; return nil }
func setOvercommit(o *Options, _ string) error     { o.Spec.Overcommit = true; return nil }
func setOversubscribe(o *Options, _ string) error  { o.Spec.Oversubscribe = true; return nil }
func setRequeue(o *Options, _ string) error        { o.Spec.Requeue = 1; return nil }
func setNoRequeue(o *Options, _ string) error      { o.Spec.Requeue = -1; return nil }

func setCPUsPerTask(o *Options, v string) error    { return setInt(&o.Spec.CPUsPerTask, v, 1) }
func setCPUsPerGPU(o *Options, v string) error     { return setInt(&o.Spec.CPUsPerGPU, v, 1) }
func setCoresPerSocket(o *Options, v string) error { return setInt(&o.Spec.CoresPerSocket, v, 1) }
func setSocketsPerNode(o *Options, v string) error { return setInt(&o.Spec.SocketsPerNode, v, 1) }
func setThreadsPerCore(o *Options, v string) error { return setInt(&o.Spec.ThreadsPerCore, v, 1) }
func setMinCPUs(o *Options, v string) error        { return setInt(&o.Spec.MinCPUs, v, 1) }
func setTasks(o *Options, v string) error          { return setInt(&o.Spec.Tasks, v, 1) }
func setTasksPerCore(o *Options, v string) error   { return setInt(&o.Spec.TasksPerCore, v, 1) }
func setTasksPerGPU(o *Options, v string) error    { return setInt(&o.Spec.TasksPerGPU, v, 1) }
func setTasksPerNode(o *Options, v string) error   { return setInt(&o.Spec.TasksPerNode, v, 1) }
func setTasksPerSocket(o *Options, v string) error { return setInt(&o.Spec.TasksPerSocket, v, 1) }
func setSegment(o *Options, v string) error        { return setInt(&o.Spec.Segment, v, 1) }
func setThreadSpec(o *Options, v string) error     { return setInt(&o.Spec.ThreadSpec, v, 0) }

func setCoreSpec(o *Options, v string) error {
	o.Spec.CoreSpecSet = true
	return setInt(&o.Spec.CoreSpec, v, 0)
}

func setNoKill(o *Options, v string) error {
	if v != "" && !strings.EqualFold(v, "off") {
		return valueErr("off or nothing is wanted")
	}
	o.Spec.NoKill = v == ""
	return nil
}

// setNice reads --nice, which alone means 100.
func setNice(o *Options, v string) error {
	if v == "" {
		o.Spec.Nice = 100
		return nil
	}
	n, err := parseInt(v, -2147483645, 2147483645)
	if err == nil {
		o.Spec.Nice = n
	}
	return err
}

// setPriority reads a number; TOP is the largest one.
func setPriority(o *Options, v string) error {
	if strings.EqualFold(v, "top") {
		o.Spec.Priority = math.MaxUint32 - 1
		return nil
	}
	n, err := parseInt(v, 0, math.MaxUint32-1)
	if err == nil {
		o.Spec.Priority = uint32(n)
		o.Spec.Hold = o.Spec.Hold || n == 0
	}
	return err
}

func setKillOnInvalidDep(o *Options, v string) error {
	w, err := oneOf(v, "yes", "no")
	if err == nil {
		o.Spec.KillOnInvalidDep = w
	}
	return err
}

func setArray(o *Options, v string) (err error) {
	if o.Array, err = ParseArray(v); err == nil {
		o.Spec.Array = string(AppendArray(nil, o.Array))
	}
	return err
}

// setDependency keeps the text as written: the scheduler has the same grammar.
func setDependency(o *Options, v string) (err error) {
	if o.Dependency, err = ParseDependency(v); err == nil {
		o.Spec.Dependency = v
	}
	return err
}

func setConstraint(o *Options, v string) (err error) {
	if o.Constraint, err = ParseFeatures(v); err == nil {
		o.Spec.Constraint = v
	}
	return err
}

func setPrefer(o *Options, v string) (err error) {
	if o.Prefer, err = ParseFeatures(v); err == nil {
		o.Spec.Prefer = v
	}
	return err
}

func setSignal(o *Options, v string) error {
	s, err := ParseSignal(v)
	if err != nil {
		return err
	}
	o.Signal = s
	o.Spec.Signal, o.Spec.SignalBefore, o.Spec.SignalFlags = s.Number, s.Before, ""
	if s.Reservation {
		o.Spec.SignalFlags += "R"
	}
	if s.Batch {
		o.Spec.SignalFlags += "B"
	}
	return nil
}

// setLicenses reads a:2,b or a:1|b:1; the two separators do not mix.
func setLicenses(o *Options, v string) error {
	if strings.Contains(v, ",") && strings.Contains(v, "|") {
		return valueErr("licences are separated by commas or by bars, not both")
	}
	for f := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ',' || r == '|' }) {
		name, count, counted := strings.Cut(f, ":")
		if name == "" {
			return valueErr("a licence name is wanted")
		}
		if counted {
			if _, err := parseInt(count, 0, math.MaxInt32); err != nil {
				return err
			}
		}
	}
	o.Spec.Licenses = v
	return nil
}

// setDuration stores a time limit rounded up to minutes, as Slurm keeps them.
func setLimit(dst *time.Duration, v string) error {
	d, err := parseLimit(v)
	if err == nil {
		*dst = d
	}
	return err
}

func setTime(o *Options, v string) error    { return setLimit(&o.Spec.TimeLimit, v) }
func setTimeMin(o *Options, v string) error { return setLimit(&o.Spec.TimeMin, v) }
func setDelayBoot(o *Options, v string) error {
	return setLimit(&o.Spec.DelayBoot, v)
}

func setWhen(o *Options, dst *scheduler.Time, v string) error {
	t, err := ParseWhen(v, o.now)
	if err == nil {
		*dst = scheduler.Time(t.UnixMicro())
	}
	return err
}

func setBegin(o *Options, v string) error    { return setWhen(o, &o.Spec.Begin, v) }
func setDeadline(o *Options, v string) error { return setWhen(o, &o.Spec.Deadline, v) }

func setMem(o *Options, v string) error       { return setMemory(o, scheduler.MemPerNode, v) }
func setMemPerCPU(o *Options, v string) error { return setMemory(o, scheduler.MemPerCPU, v) }
func setMemPerGPU(o *Options, v string) error { return setMemory(o, scheduler.MemPerGPU, v) }

// setMemory stores a memory request; --mem=0 and --mem-per-cpu=0 ask for all
// memory of each node.
func setMemory(o *Options, kind scheduler.MemKind, v string) error {
	n, err := ParseMemory(v)
	if err != nil {
		return err
	}
	if n == 0 && kind != scheduler.MemPerGPU {
		kind = scheduler.MemAll
	}
	o.Spec.Mem, o.Spec.MemMiB = kind, n
	return nil
}

func setTmp(o *Options, v string) error {
	n, err := ParseMemory(v)
	if err == nil {
		o.Spec.TmpMiB = n
	}
	return err
}

func setNodes(o *Options, v string) error {
	c, err := topology.ParseNodeCount(v)
	if err != nil {
		return err
	}
	if c.Min < 1 {
		return valueErr("at least one node is wanted")
	}
	s := &o.Spec
	s.MinNodes, s.MaxNodes, s.NodeSizes = c.Min, c.Max, c.Sizes
	s.NodesRange = c.Sizes == nil && c.Max != c.Min
	return nil
}

func setHosts(dst *string, v string) error {
	if _, err := topology.ParseHostlist(v); err != nil {
		return err
	}
	*dst = v
	return nil
}

func setExclude(o *Options, v string) error { return setHosts(&o.Spec.Exclude, v) }

// setNodeList takes a hostlist. A value with a slash is a file of names; it is
// kept until the parser reads the file.
func setNodeList(o *Options, v string) error {
	if strings.Contains(v, "/") {
		o.Spec.NodeList = ""
		o.keep("nodefile", v)
		return nil
	}
	return setHosts(&o.Spec.NodeList, v)
}

func setExclusive(o *Options, v string) error {
	w := ""
	if v != "" {
		var err error
		if w, err = oneOf(v, "user", "mcs", "topo", "node"); err != nil {
			return err
		}
	}
	switch w {
	case "user":
		o.Spec.Exclusive = scheduler.ExclusiveUser
	case "mcs":
		o.Spec.Exclusive = scheduler.ExclusiveMCS
	case "topo":
		o.Spec.Exclusive = scheduler.ExclusiveTopo
	default:
		o.Spec.Exclusive = scheduler.ExclusiveNode
	}
	return nil
}

// setSwitches reads count[@time].
func setSwitches(o *Options, v string) error {
	n, wait, waits := strings.Cut(v, "@")
	if err := setInt(&o.Spec.Switches, n, 1); err != nil {
		return err
	}
	o.Spec.SwitchWait = 0
	if !waits {
		return nil
	}
	d, err := parseTime(wait)
	if err == nil {
		o.Spec.SwitchWait = d
	}
	return err
}

// setExtraNodeInfo reads sockets[:cores[:threads]], where * is any number.
func setExtraNodeInfo(o *Options, v string) error {
	f := strings.Split(v, ":")
	if len(f) > 3 {
		return valueErr("sockets[:cores[:threads]] is wanted")
	}
	for _, n := range f {
		if n == "*" {
			continue
		}
		if _, err := parseInt(n, 1, math.MaxInt32); err != nil {
			return err
		}
	}
	o.Spec.ExtraNodeInfo = v
	return nil
}

func setHint(o *Options, v string) error {
	w, err := oneOf(v, "nomultithread", "multithread", "compute_bound", "memory_bound", "help")
	if err == nil {
		o.Spec.Hint = w
	}
	return err
}

var distributions = map[string]bool{"*": true, "block": true, "cyclic": true, "arbitrary": true, "plane": true, "fcyclic": true}

// setDistribution reads node[:socket[:core]] with ,Pack or ,NoPack, or plane=n.
func setDistribution(o *Options, v string) error {
	base, pack, packed := strings.Cut(strings.ToLower(v), ",")
	if packed && pack != "pack" && pack != "nopack" {
		return valueErr("Pack or NoPack is wanted after the comma")
	}
	if n, ok := strings.CutPrefix(base, "plane="); ok {
		if _, err := parseInt(n, 1, math.MaxInt32); err != nil {
			return err
		}
		o.Spec.Distribution = v
		return nil
	}
	f := strings.Split(base, ":")
	if len(f) > 3 {
		return valueErr("node[:socket[:core]] is wanted")
	}
	for i, w := range f {
		if !distributions[w] || i > 0 && (w == "arbitrary" || w == "plane") || i == 0 && w == "fcyclic" {
			return valueErr("no such distribution: %q", w)
		}
	}
	o.Spec.Distribution = v
	return nil
}
