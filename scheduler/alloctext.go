package scheduler

import (
	"slices"
	"strconv"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/topology"
)

// appendAllocText appends what a job holds as `scontrol show job -d` prints it,
// a line for each run of nodes that hold the same.
func (e *engine) appendAllocText(dst []byte, j *job) []byte {
	var prev, line []byte
	var nodes []topology.NodeID
	flush := func() {
		if len(nodes) == 0 {
			return
		}
		dst = append(dst, "Nodes="...)
		dst = append(dst, e.hosts(nodes)...)
		dst = append(dst, prev...)
		dst = append(dst, '\n')
		nodes = nodes[:0]
	}
	for i := range j.alloc {
		a := &j.alloc[i]
		sh := e.pool.Shape(int32(a.node))
		line = append(line[:0], " CPU_IDs="...)
		line = sh.AppendCPUIDs(line, a.grant.Cores)
		line = append(line, " Mem="...)
		line = strconv.AppendInt(line, a.grant.MemMiB, 10)
		line = append(line, " GRES="...)
		line = sh.AppendGRES(line, e.devices, &a.grant)
		if string(line) != string(prev) {
			flush()
			prev = append(prev[:0], line...)
		}
		nodes = append(nodes, a.node)
	}
	flush()
	return dst
}

// allocTRES counts what a job holds, by kind of the schema.
func (e *engine) allocTRES(dst gres.Vector, j *job) {
	clear(dst)
	for i := range j.alloc {
		a := &j.alloc[i]
		dst[gres.CPU] += max(a.grant.CPUs, (a.grant.MilliCPU+999)/1000)
		dst[gres.Mem] += a.grant.MemMiB
		dst[gres.Node]++
		sh := e.pool.Shape(int32(a.node))
		for _, d := range a.grant.Devices {
			units := d.Units
			if sh.GroupFlags(int(d.Group))&gres.Divisible != 0 {
				units = 1
			}
			name := "gres/" + e.devices.Name(sh.GroupName(int(d.Group)))
			if k, ok := e.schema.Kind(name); ok {
				dst[k] += units
			}
			if k, ok := e.schema.Kind(name + ":" + e.devices.Type(d.Type)); ok && d.Type != 0 {
				dst[k] += units
			}
		}
	}
	e.licenses.count(dst, &j.licenses, int64(len(j.alloc)))
	dst[gres.Billing] = priority.WholePoints(e.parts[j.parts[j.partIdx]].points(dst))
}

// tracked reports whether a kind is shown in a job's AllocTRES: the fixed ones
// and those of Config.TRES.
func (e *engine) tracked(k gres.Kind) bool {
	return k <= gres.Pages || slices.Contains(e.trackedKinds, k)
}

func (e *engine) appendTRES(dst []byte, j *job) []byte {
	v := e.schema.NewVector()
	e.allocTRES(v, j)
	for k := range v {
		if !e.tracked(gres.Kind(k)) {
			v[k] = 0
		}
	}
	mem := v[gres.Mem]
	v[gres.Mem] = 0
	cut := gres.Kind(gres.Mem)
	head := e.schema.NewVector()
	copy(head[:cut], v[:cut])
	clear(v[:cut])
	sep := func(b []byte) []byte {
		if len(b) > 0 {
			return append(b, ',')
		}
		return b
	}
	dst = gres.AppendTRES(dst, e.schema, head)
	if mem > 0 {
		dst = appendMem(append(sep(dst), "mem="...), mem)
	}
	if rest := gres.AppendTRES(nil, e.schema, v); len(rest) > 0 {
		dst = append(sep(dst), rest...)
	}
	return dst
}

// appendMem writes memory as job listings do: in G with two decimals where it is
// a multiple of half a G, else in M (spec: cores 5.2).
func appendMem(dst []byte, mib int64) []byte {
	if mib < 1024 || mib%512 != 0 {
		return append(strconv.AppendInt(dst, mib, 10), 'M')
	}
	dst = strconv.AppendInt(dst, mib/1024, 10)
	if mib%1024 != 0 {
		dst = append(dst, ".50"...)
	}
	return append(dst, 'G')
}
