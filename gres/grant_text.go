package gres

import (
	"math/bits"
	"strconv"
	"strings"
)

// AppendCPUIDs appends the CPU ids of cores as ranges ("0-3,8-9"): all
// configured threads of every core, socket by socket, core by core.
func (s *Shape) AppendCPUIDs(dst []byte, cores []uint64) []byte {
	start := len(dst)
	for lo := nextBit(cores, 0); lo >= 0; {
		hi := lo
		for hasBit(cores, hi+1) {
			hi++
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = appendRange(dst, lo*s.confThreads, (hi+1)*s.confThreads-1)
		lo = nextBit(cores, hi+1)
	}
	return dst
}

func appendRange(dst []byte, lo, hi int) []byte {
	dst = strconv.AppendInt(dst, int64(lo), 10)
	if hi > lo {
		dst = append(dst, '-')
		dst = strconv.AppendInt(dst, int64(hi), 10)
	}
	return dst
}

// nextBit returns the first set bit of words at or after i, −1 if none.
func nextBit(words []uint64, i int) int {
	for w := i >> 6; w < len(words); w++ {
		x := words[w]
		if w == i>>6 {
			x &= ^uint64(0) << (i & 63)
		}
		if x != 0 {
			return w<<6 + bits.TrailingZeros64(x)
		}
	}
	return -1
}

func hasBit(words []uint64, i int) bool {
	return i>>6 < len(words) && words[i>>6]>>(i&63)&1 != 0
}

// ParseCPUIDs stores in dst, a core set of s, the cores of a list of CPU ids
// such as "0-3,8"; any thread stands for its core. Errors are *[ParseError];
// dst is then unspecified.
func (s *Shape) ParseCPUIDs(dst []uint64, text string) error {
	if len(dst) != s.coreWords {
		panic(badCores)
	}
	clear(dst)
	return eachRange(text, 0, func(lo, hi int) bool {
		if hi/s.confThreads >= s.cores {
			return false
		}
		for k := lo / s.confThreads; k <= hi/s.confThreads; k++ {
			dst[k>>6] |= 1 << (k & 63)
		}
		return true
	})
}

const badCores = "gres: core set of the wrong length"

// eachRange reads "1,3-5" from off on and calls f for each range until it
// returns false.
func eachRange(text string, off int, f func(lo, hi int) bool) error {
	for off < len(text) {
		item, _, more := strings.Cut(text[off:], ",")
		a, b, two := strings.Cut(item, "-")
		lo, err := strconv.ParseUint(a, 10, 31)
		hi := lo
		if err == nil && two {
			hi, err = strconv.ParseUint(b, 10, 31)
		}
		if err != nil || hi < lo {
			return &ParseError{text, off, ErrSyntax}
		}
		if !f(int(lo), int(hi)) {
			return &ParseError{text, off, ErrRange}
		}
		off += len(item) + 1
		if more && off == len(text) {
			return &ParseError{text, off, ErrSyntax}
		}
	}
	return nil
}

// AppendGRES appends the devices of g as Slurm shows them for a job on a node:
// "gpu:a100:2(IDX:0-1),lic(CNT:3)", shared ones with used and total units of
// every device: "shard:6(5/5,1/5,0/5,0/5)". It appends nothing if g has none.
func (s *Shape) AppendGRES(dst []byte, t *DeviceTable, g *Grant) []byte {
	for i := 0; i < len(g.Devices); {
		j := i + 1
		for j < len(g.Devices) && g.Devices[j].Group == g.Devices[i].Group && g.Devices[j].Type == g.Devices[i].Type {
			j++
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.appendRun(dst, t, g.Devices[i:j])
		i = j
	}
	return dst
}

// appendRun appends the entries of one group and type.
func (s *Shape) appendRun(dst []byte, t *DeviceTable, run []DeviceGrant) []byte {
	gr := &s.groups[run[0].Group]
	if gr.part != nil {
		return appendInstances(append(dst, t.Name(gr.name)...), t, run)
	}
	dst = append(dst, t.Name(gr.name)...)
	if run[0].Type != 0 {
		dst = append(dst, ':')
		dst = append(dst, t.Type(run[0].Type)...)
	}
	var n int64
	for i := range run {
		if gr.flags&Divisible != 0 && run[i].Units == gr.devs[run[i].Device].units {
			n++
		} else {
			n += run[i].Units
		}
	}
	if len(gr.devs) == 0 {
		dst = append(dst, "(CNT:"...)
		if gr.flags&NoConsume != 0 {
			n = 0
		}
		dst = strconv.AppendInt(dst, n, 10)
		return append(dst, ')')
	}
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, n, 10)
	dst = append(dst, '(')
	if gr.over >= 0 {
		return appendUses(dst, gr, func(d int) int64 {
			for i := range run {
				if int(run[i].Device) == d {
					return run[i].Units
				}
			}
			return 0
		})
	}
	dst = append(dst, "IDX:"...)
	for i := 0; i < len(run); i++ {
		if run[i].Units == 0 {
			continue
		}
		j := i
		for j+1 < len(run) && run[j+1].Device == run[j].Device+1 {
			j++
		}
		if dst[len(dst)-1] != ':' {
			dst = append(dst, ',')
		}
		dst = appendRange(dst, int(run[i].Device), int(run[j].Device))
		i = j
	}
	return append(dst, ')')
}

// appendUses appends "used/total" for every device and the closing bracket; a
// negative use is a device taken whole and shown as "-".
func appendUses(dst []byte, gr *group, used func(d int) int64) []byte {
	for d := range gr.devs {
		if d > 0 {
			dst = append(dst, ',')
		}
		if u := used(d); u < 0 {
			dst = append(dst, '-')
		} else {
			dst = strconv.AppendInt(dst, u, 10)
		}
		dst = append(dst, '/')
		dst = strconv.AppendInt(dst, gr.devs[d].units, 10)
	}
	return append(dst, ')')
}

// AppendNodeGRES appends the devices of a node as Slurm shows its Gres line:
// "gpu:a100:2(S:0),gpu:h100:2(S:1),lic:10". Shares of GPUs of one type show it.
func (s *Shape) AppendNodeGRES(dst []byte, t *DeviceTable) []byte {
	start := len(dst)
	for i := range s.groups {
		gr := &s.groups[i]
		for k := range max(len(gr.types), 1) {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = append(dst, t.Name(gr.name)...)
			n, typ := gr.count, TypeID(0)
			dst = s.appendOverType(dst, t, gr)
			if len(gr.types) > 0 && gr.over < 0 {
				typ = gr.types[k]
				dst = append(dst, ':')
				dst = append(dst, t.Type(typ)...)
				n = s.TypeCount(i, typ)
			}
			dst = append(dst, ':')
			dst = AppendCount(dst, n)
			dst = s.appendSockets(dst, gr, typ)
			if gr.over >= 0 {
				break
			}
		}
	}
	return dst
}

// appendOverType appends the type of the devices that a group shares, if they
// have one: the shares of a node show it.
func (s *Shape) appendOverType(dst []byte, t *DeviceTable, gr *group) []byte {
	if gr.over < 0 || len(s.groups[gr.over].types) != 1 || s.groups[gr.over].types[0] == 0 {
		return dst
	}
	return append(append(dst, ':'), t.Type(s.groups[gr.over].types[0])...)
}

// appendSockets appends "(S:0-1)", the sockets near the devices of a type.
func (s *Shape) appendSockets(dst []byte, gr *group, typ TypeID) []byte {
	var m [1]uint64
	for d := range gr.devs {
		if typ != 0 && gr.devs[d].typ != typ || nextBit(gr.devs[d].cores, 0) < 0 {
			continue
		}
		m[0] |= gr.devs[d].sockets
		if gr.devs[d].sockets == 0 {
			m[0] |= 1<<s.sockets - 1
		}
	}
	if m[0] == 0 {
		return dst
	}
	dst = append(dst, "(S:"...)
	n := len(dst)
	for lo := nextBit(m[:], 0); lo >= 0; {
		hi := lo
		for hasBit(m[:], hi+1) {
			hi++
		}
		if len(dst) > n {
			dst = append(dst, ',')
		}
		dst = appendRange(dst, lo, hi)
		lo = nextBit(m[:], hi+1)
	}
	return append(dst, ')')
}

// AppendNodeUsed appends what is in use of row as Slurm shows a node's
// GresUsed: "gpu:a100:3(IDX:0,2-3)", shared "shard:8(-/5,5/5,3/5,0/5)" with
// "-" for a device that is taken whole.
func (s *Shape) AppendNodeUsed(dst []byte, t *DeviceTable, row []uint64) []byte {
	start := len(dst)
	for i := range s.groups {
		gr := &s.groups[i]
		if gr.over >= 0 {
			dst = appendSep(dst, start)
			dst = append(dst, t.Name(gr.name)...)
			dst = s.appendOverType(dst, t, gr)
			dst = append(dst, ':')
			dst = strconv.AppendInt(dst, s.UsedCount(row, i), 10)
			dst = append(dst, '(')
			dst = appendUses(dst, gr, func(d int) int64 {
				if s.groups[gr.over].used(row, d) != 0 {
					return -1
				}
				return gr.used(row, d)
			})
			continue
		}
		if gr.part != nil {
			dst = s.appendUsedInstances(appendSep(dst, start), t, row, i)
			continue
		}
		for k := range max(len(gr.types), 1) {
			dst = appendSep(dst, start)
			dst = append(dst, t.Name(gr.name)...)
			typ := TypeID(0)
			if len(gr.types) > 0 {
				typ = gr.types[k]
				dst = append(dst, ':')
				dst = append(dst, t.Type(typ)...)
			}
			dst = s.appendUsedIDX(dst, row, gr, typ)
		}
	}
	return dst
}

func appendSep(dst []byte, start int) []byte {
	if len(dst) > start {
		return append(dst, ',')
	}
	return dst
}

// appendUsedIDX appends ":2(IDX:0-1)" for the used devices of a type, or
// ":3" for a count; "(IDX:N/A)" stands for none, as in Slurm.
func (s *Shape) appendUsedIDX(dst []byte, row []uint64, gr *group, typ TypeID) []byte {
	dst = append(dst, ':')
	if len(gr.devs) == 0 {
		return strconv.AppendUint(dst, row[gr.off], 10)
	}
	busy := func(d int) bool {
		return d < len(gr.devs) && (typ == 0 || gr.devs[d].typ == typ) && gr.used(row, d) != 0
	}
	n := 0
	for d := range gr.devs {
		if busy(d) {
			n++
		}
	}
	dst = strconv.AppendInt(dst, int64(n), 10)
	if n == 0 {
		return append(dst, "(IDX:N/A)"...)
	}
	dst = append(dst, "(IDX:"...)
	for d := 0; d < len(gr.devs); d++ {
		if !busy(d) {
			continue
		}
		lo := d
		for busy(d + 1) {
			d++
		}
		if dst[len(dst)-1] != ':' {
			dst = append(dst, ',')
		}
		dst = appendRange(dst, lo, d)
	}
	return append(dst, ')')
}
