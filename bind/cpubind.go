package bind

import (
	"math/bits"
	"strings"
)

// A CPUBindType is the TYPE of --cpu-bind.
type CPUBindType uint8

// The types; those from CPUMap on name CPUs or NUMA nodes explicitly.
const (
	CPUAuto CPUBindType = iota
	CPUNone
	CPUThreads
	CPUCores
	CPUSockets
	CPULdoms
	CPUMap
	CPUMask
	CPULdomRank
	CPULdomMap
	CPULdomMask
)

// A CPUBinding is a parsed --cpu-bind. The zero value is automatic.
type CPUBinding struct {
	Type    CPUBindType
	Verbose bool
	Quiet   bool
	Map     []MapRun  // of CPUMap and CPULdomMap
	Masks   []MaskRun // of CPUMask and CPULdomMask
}

// ParseCPUBind reads the argument of --cpu-bind: [{quiet|verbose},]TYPE with
// none, threads, cores, sockets, ldoms, map_cpu:LIST, mask_cpu:LIST,
// rank_ldom, map_ldom:LIST and mask_ldom:LIST. Lists are those of
// [ParseGPUBind]. Errors are of type [*ParseError].
//
// Source: srun(1) --cpu-bind.
func ParseCPUBind(text string) (CPUBinding, error) {
	p := bindParser{text: text}
	b := p.cpuBinding()
	if p.err != nil {
		return CPUBinding{}, p.err
	}
	return b, nil
}

func (p *bindParser) cpuBinding() (b CPUBinding) {
	for _, word := range [2]string{"verbose", "quiet"} {
		rest := p.text[p.pos:]
		tail, ok := cutFold(rest, word)
		if !ok || tail != "" && tail[0] != ',' {
			continue
		}
		b.Verbose, b.Quiet = word == "verbose", word == "quiet"
		if tail == "" {
			return b
		}
		p.pos += len(word) + 1
		break
	}
	word, arg, hasArg := strings.Cut(p.text[p.pos:], ":")
	at := p.pos + len(word) + 1
	for typ := CPUNone; typ <= CPULdomMask; typ++ {
		if !strings.EqualFold(word, typ.String()) {
			continue
		}
		b.Type = typ
		var g Binding
		switch typ {
		case CPUMap, CPULdomMap:
			p.mapList(&g, arg, at)
		case CPUMask, CPULdomMask:
			p.maskList(&g, arg, at)
		default:
			if hasArg {
				p.fail(at-1, ErrSyntax)
			}
			return b
		}
		if len(g.Map)+len(g.Masks) == 0 {
			p.fail(p.pos+len(word), ErrSyntax)
		}
		b.Map, b.Masks = g.Map, g.Masks
		return b
	}
	p.fail(p.pos, ErrType)
	return b
}

// String returns the word of --cpu-bind, empty for automatic.
func (t CPUBindType) String() string {
	switch t {
	case CPUNone:
		return "none"
	case CPUThreads:
		return "threads"
	case CPUCores:
		return "cores"
	case CPUSockets:
		return "sockets"
	case CPULdoms:
		return "ldoms"
	case CPUMap:
		return "map_cpu"
	case CPUMask:
		return "mask_cpu"
	case CPULdomRank:
		return "rank_ldom"
	case CPULdomMap:
		return "map_ldom"
	case CPULdomMask:
		return "mask_ldom"
	}
	return ""
}

// Append appends b as --cpu-bind takes it; parsing the text gives b again. An
// automatic binding that is neither verbose nor quiet is empty.
func (b *CPUBinding) Append(dst []byte) []byte {
	flag := ""
	if b.Verbose {
		flag = "verbose"
	} else if b.Quiet {
		flag = "quiet"
	}
	dst = append(dst, flag...)
	if b.Type == CPUAuto {
		return dst
	}
	if flag != "" {
		dst = append(dst, ',')
	}
	return b.AppendList(append(append(dst, b.Type.String()...), b.colon()...))
}

func (b *CPUBinding) colon() string {
	if len(b.Map)+len(b.Masks) > 0 {
		return ":"
	}
	return ""
}

// AppendList appends the list of an explicit binding, as
// SLURM_CPU_BIND_LIST has it.
func (b *CPUBinding) AppendList(dst []byte) []byte {
	g := Binding{Map: b.Map, Masks: b.Masks}
	return g.appendLists(dst)
}

// fill stores an explicit binding's masks.
func (b *CPUBinding) fill(dst *Masks, s *CPUShape, alloc []uint64, wholeNode bool) Refusal {
	ldoms := int32(0)
	for core := range s.Sockets * s.Cores {
		ldoms = max(ldoms, s.memory(core*s.Threads)+1)
	}
	byLdom := b.Type >= CPULdomRank
	if byLdom && !wholeNode {
		return RefusedWholeNode
	}
	for k, mask := range dst.list {
		var why Refusal
		switch b.Type {
		case CPULdomRank:
			why = setUnit(mask, s, alloc, int32(k)%ldoms, true)
		case CPUMap, CPULdomMap:
			run := runAt(b.Map, func(m *MapRun) int32 { return m.Times }, k)
			if run == nil {
				return RefusedCPUList
			}
			why = setUnit(mask, s, alloc, run.ID, byLdom)
		default:
			run := runAt(b.Masks, func(m *MaskRun) int32 { return m.Times }, k)
			if run == nil {
				return RefusedCPUList
			}
			for w, word := range run.Bits {
				for ; word != 0 && why == Accepted; word &= word - 1 {
					why = setUnit(mask, s, alloc, int32(w<<6+bits.TrailingZeros64(word)), byLdom)
				}
			}
		}
		if why != Accepted {
			return why
		}
	}
	return Accepted
}

// setUnit adds one CPU, or one NUMA node's CPUs of the step, to mask.
func setUnit(mask []uint64, s *CPUShape, alloc []uint64, id int32, byLdom bool) Refusal {
	found := false
	for cpu := range s.CPUs() {
		if byLdom && s.memory(cpu) == id || !byLdom && cpu == id {
			if hasBit(alloc, cpu) {
				mask[cpu>>6] |= 1 << (cpu & 63)
				found = true
			}
		}
	}
	if !found {
		return RefusedCPUList
	}
	return Accepted
}
