package bind

import (
	"strconv"
	"strings"
)

// A Mode is the TYPE of --gpu-bind.
type Mode uint8

// The modes.
const (
	ModeNone    Mode = iota // every task sees all devices of the step on its node
	ModeClosest             // the devices near the task's CPUs
	ModeSingle              // one device a task, N tasks a device
	ModePerTask             // N devices a task
	ModeMap                 // a list of devices, one a task
	ModeMask                // a list of device sets, one a task
)

// A MapRun is a token of map:LIST: a device number and how often it repeats.
type MapRun struct {
	ID    int32
	Times int32 // at least 1
}

// A MaskRun is a token of mask:LIST: a device set and how often it repeats.
type MaskRun struct {
	Bits  []uint64 // bit i is device i
	Times int32    // at least 1
}

// A Binding is a parsed --gpu-bind, or one resource of --tres-bind. The zero
// value is none.
type Binding struct {
	Mode    Mode
	Verbose bool
	// N is the number of single:N and per_task:N. single:0 is accepted, as
	// Slurm does; it leaves no free place, so devices go round.
	N     int32
	Map   []MapRun  // of ModeMap; may be empty
	Masks []MaskRun // of ModeMask; may be empty
}

const maxRepeat = 1 << 30

// ParseGPUBind reads the argument of --gpu-bind: [verbose,]TYPE with closest,
// none, single:N, per_task:N, map:LIST, mask:LIST and the older words map_gpu:
// and mask_gpu:. Ids and masks may repeat with *COUNT. Masks are hexadecimal
// with or without 0x: Slurm's client checks them so, though its launch reads
// a token without 0x as a decimal number. Errors are of type [*ParseError].
//
// Source: srun(1) --gpu-bind; specification bind.md 1.
func ParseGPUBind(text string) (Binding, error) {
	p := bindParser{text: text}
	b := p.binding()
	if p.err != nil {
		return Binding{}, p.err
	}
	return b, nil
}

// A bindParser reads one binding from text[pos:end]; the first error stays.
type bindParser struct {
	text string
	pos  int
	err  error
}

func (p *bindParser) fail(at int, cause error) {
	if p.err == nil {
		p.err = &ParseError{Text: p.text, Offset: at, Err: cause}
	}
}

func (p *bindParser) binding() (b Binding) {
	rest := p.text[p.pos:]
	if tail, ok := cutFold(rest, "verbose"); ok && (tail == "" || tail[0] == ',') {
		b.Verbose = true
		p.pos += len(rest) - len(tail)
		if tail == "" {
			return b
		}
		p.pos++
	}
	start := p.pos
	word, arg, hasArg := strings.Cut(p.text[p.pos:], ":")
	argAt := p.pos + len(word) + 1
	switch strings.ToLower(word) {
	case "none":
		b.Mode = ModeNone
	case "closest":
		b.Mode = ModeClosest
	case "single", "per_task":
		b.Mode = ModeSingle
		least := int64(0)
		if len(word) == len("per_task") {
			b.Mode, least = ModePerTask, 1
		}
		if !hasArg {
			p.fail(argAt-1, ErrSyntax)
			return b
		}
		b.N = int32(p.number(arg, argAt, least, 1<<31-1))
		return b
	case "map", "map_gpu", "mask", "mask_gpu":
		if !hasArg {
			p.fail(argAt-1, ErrSyntax)
			return b
		}
		if word[2]|0x20 == 'p' {
			b.Mode = ModeMap
			p.mapList(&b, arg, argAt)
		} else {
			b.Mode = ModeMask
			p.maskList(&b, arg, argAt)
		}
		return b
	default:
		p.fail(start, ErrType)
	}
	if hasArg {
		p.fail(argAt-1, ErrSyntax)
	}
	return b
}

func (p *bindParser) mapList(b *Binding, list string, at int) {
	for list != "" {
		tok, rest, more := strings.Cut(list, ",")
		id, times := p.repeated(tok, at)
		n := p.number(id, at, 0, 1<<31-1)
		b.Map = append(b.Map, MapRun{ID: int32(n), Times: times})
		at += len(tok) + 1
		if more && rest == "" {
			p.fail(at, ErrSyntax)
		}
		list = rest
	}
}

func (p *bindParser) maskList(b *Binding, list string, at int) {
	for list != "" {
		tok, rest, more := strings.Cut(list, ",")
		mask, times := p.repeated(tok, at)
		b.Masks = append(b.Masks, MaskRun{Bits: p.hexMask(mask, at), Times: times})
		at += len(tok) + 1
		if more && rest == "" {
			p.fail(at, ErrSyntax)
		}
		list = rest
	}
}

// repeated splits VALUE[*COUNT].
func (p *bindParser) repeated(tok string, at int) (value string, times int32) {
	value, count, ok := strings.Cut(tok, "*")
	if !ok {
		return value, 1
	}
	return value, int32(p.number(count, at+len(value)+1, 1, maxRepeat))
}

func (p *bindParser) number(s string, at int, least, most int64) int64 {
	if s == "" {
		p.fail(at, ErrSyntax)
		return least
	}
	n := int64(0)
	for i := range len(s) {
		d := int64(s[i]) - '0'
		if d < 0 || d > 9 {
			p.fail(at+i, ErrSyntax)
			return least
		}
		if n = n*10 + d; n > most {
			p.fail(at, ErrRange)
			return least
		}
	}
	if n < least {
		p.fail(at, ErrRange)
		return least
	}
	return n
}

// hexMask reads hexadecimal digits, lowest bits last, into words without
// leading zero words.
func (p *bindParser) hexMask(s string, at int) []uint64 {
	if t, ok := cutFold(s, "0x"); ok {
		at += len(s) - len(t)
		s = t
	}
	if s == "" {
		p.fail(at, ErrSyntax)
		return nil
	}
	words := make([]uint64, (len(s)+15)/16)
	for i := range len(s) {
		var d byte
		switch c := s[i] | 0x20; {
		case '0' <= s[i] && s[i] <= '9':
			d = s[i] - '0'
		case 'a' <= c && c <= 'f':
			d = c - 'a' + 10
		default:
			p.fail(at+i, ErrSyntax)
			return nil
		}
		bit := 4 * (len(s) - 1 - i)
		words[bit>>6] |= uint64(d) << (bit & 63)
	}
	for len(words) > 1 && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	return words
}

// cutFold cuts the lower-case prefix from s, whatever the case of s.
func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// Append appends b as --gpu-bind takes it; parsing the text gives b again.
func (b *Binding) Append(dst []byte) []byte {
	if b.Verbose {
		dst = append(dst, "verbose,"...)
	}
	switch b.Mode {
	case ModeNone:
		return append(dst, "none"...)
	case ModeClosest:
		return append(dst, "closest"...)
	case ModeSingle:
		return strconv.AppendInt(append(dst, "single:"...), int64(b.N), 10)
	case ModePerTask:
		return strconv.AppendInt(append(dst, "per_task:"...), int64(b.N), 10)
	case ModeMap:
		dst = append(dst, "map:"...)
	case ModeMask:
		dst = append(dst, "mask:"...)
	}
	return b.appendLists(dst)
}

func (b *Binding) appendLists(dst []byte) []byte {
	for i, r := range b.Map {
		dst = strconv.AppendInt(comma(dst, i), int64(r.ID), 10)
		dst = appendTimes(dst, r.Times)
	}
	for i, r := range b.Masks {
		dst = appendHex(append(comma(dst, i), "0x"...), r.Bits)
		dst = appendTimes(dst, r.Times)
	}
	return dst
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return dst
}

func appendTimes(dst []byte, times int32) []byte {
	if times == 1 {
		return dst
	}
	return strconv.AppendInt(append(dst, '*'), int64(times), 10)
}

// appendHex appends words as one hexadecimal number without leading zeros.
func appendHex(dst []byte, words []uint64) []byte {
	top := len(words) - 1
	for top > 0 && words[top] == 0 {
		top--
	}
	if top < 0 {
		return append(dst, '0')
	}
	dst = strconv.AppendUint(dst, words[top], 16)
	for w := top - 1; w >= 0; w-- {
		for shift := 60; shift >= 0; shift -= 4 {
			dst = append(dst, "0123456789abcdef"[words[w]>>shift&15])
		}
	}
	return dst
}

// A TRESBinding is one resource of --tres-bind.
type TRESBinding struct {
	Name string // gpu, nic, shard, …: what follows gres/
	Binding
}

// ParseTRESBind reads the argument of --tres-bind: resources of the form
// gres/NAME:[verbose,]TYPE joined with plus signs. Shared resources (mps,
// shard) take only per_task and none. Errors are of type [*ParseError]; Slurm
// prints "Invalid Trackable RESource (TRES) specification" for all of them.
//
// Source: srun(1) --tres-bind; specification bind.md 1.
func ParseTRESBind(text string) ([]TRESBinding, error) {
	var all []TRESBinding
	for at := 0; at <= len(text); {
		end := at + strings.IndexByte(text[at:]+"+", '+')
		item := text[at:end]
		body, ok := strings.CutPrefix(item, "gres/")
		name, _, hasType := strings.Cut(body, ":")
		if !ok || name == "" || !hasType {
			return nil, &ParseError{Text: text, Offset: at, Err: ErrSyntax}
		}
		start := at + len("gres/") + len(name) + 1
		p := bindParser{text: text[:end], pos: start}
		b := p.binding()
		if (name == "mps" || name == "shard") && b.Mode != ModePerTask && b.Mode != ModeNone {
			p.fail(start, ErrShared)
		}
		if e, bad := p.err.(*ParseError); bad {
			e.Text = text
			return nil, e
		}
		all = append(all, TRESBinding{Name: name, Binding: b})
		at = end + 1
	}
	return all, nil
}

// AppendTRESBind appends all as --tres-bind takes it.
func AppendTRESBind(dst []byte, all []TRESBinding) []byte {
	for i := range all {
		if i > 0 {
			dst = append(dst, '+')
		}
		dst = append(append(append(dst, "gres/"...), all[i].Name...), ':')
		dst = all[i].Append(dst)
	}
	return dst
}

// ImpliedBinding returns the binding of a step that names none: single:g for
// --ntasks-per-gpu=g, per_task:t for GPUs per task (t summed over types), and
// none otherwise. Zero means not given.
//
// Source: srun(1); specification bind.md 1.
func ImpliedBinding(perTask, tasksPerGPU int32) Binding {
	switch {
	case perTask > 0:
		return Binding{Mode: ModePerTask, N: perTask}
	case tasksPerGPU > 0:
		return Binding{Mode: ModeSingle, N: tasksPerGPU}
	}
	return Binding{}
}
