package cgroupsv2

import (
	"slices"
	"strconv"

	"github.com/cilium/ebpf/asm"
)

// A DeviceType is the kind of a device file.
type DeviceType uint8

// The kinds, with the kernel's numbers.
const (
	AnyDevice   DeviceType = 0
	BlockDevice DeviceType = 1
	CharDevice  DeviceType = 2
)

// An Access is what a process wants to do with a device file, or what a rule
// is about: a union of the constants.
type Access uint8

// The ways, with the kernel's numbers.
const (
	Mknod Access = 1
	Read  Access = 2
	Write Access = 4

	AllAccess = Mknod | Read | Write
)

// A Device is a device file's identity: not its path, which anybody may copy.
type Device struct {
	Type         DeviceType
	Major, Minor uint32
}

// AnyNumber as a rule's major or minor matches every number.
const AnyNumber = 1<<32 - 1

// A Rule allows or denies. An allowing rule decides an access only if all of
// the asked ways are in it, a denying rule if any of them is; so neither a
// part of a right gives the whole, nor does asking for more evade a denial.
type Rule struct {
	Device        // AnyDevice and AnyNumber match all
	Access Access // 0 means AllAccess
	Allow  bool
}

// A Filter is a list of rules: the first that decides wins, and Allow is the
// answer where none does. Slurm's filters allow by default: only devices that
// it manages are ever denied.
type Filter struct {
	Rules []Rule
	Allow bool
}

// AppendRules appends the rules for a level that holds some of a node's device
// records: first every file of the held ones is allowed, then every other
// file is denied. A record is a set of files, such as a MIG instance (the
// GPU's file and two capabilities); files that a held and another record share
// are allowed. Bit i of held is records[i]. Each file is named once.
//
// Source: specification cgroupsv2.md 4.4.
func AppendRules(dst []Rule, records [][]Device, held []uint64) []Rule {
	from := len(dst)
	put := func(d Device, allow bool) {
		for _, r := range dst[from:] {
			if r.Device == d {
				return
			}
		}
		dst = append(dst, Rule{Device: d, Allow: allow})
	}
	for _, allow := range [...]bool{true, false} {
		for i, files := range records {
			if hasBit(held, i) == allow {
				for _, d := range files {
					put(d, allow)
				}
			}
		}
	}
	return dst
}

// Decide says whether an access is allowed, as the compiled program does.
func (f *Filter) Decide(d Device, asked Access) bool {
	for i := range f.Rules {
		r := &f.Rules[i]
		switch mask := r.mask(); {
		case r.Type != AnyDevice && r.Type != d.Type:
		case r.Major != AnyNumber && r.Major != d.Major:
		case r.Minor != AnyNumber && r.Minor != d.Minor:
		case r.Allow && asked&AllAccess&^mask != 0:
		case !r.Allow && mask != AllAccess && asked&mask == 0:
		default:
			return r.Allow
		}
	}
	return f.Allow
}

func (r *Rule) mask() Access {
	if r.Access == 0 {
		return AllAccess
	}
	return r.Access & AllAccess
}

// always says whether the rule decides every access.
func (r *Rule) always() bool {
	return r.Type == AnyDevice && r.Major == AnyNumber && r.Minor == AnyNumber && r.mask() == AllAccess
}

// Equal says whether two filters have the same rules and the same default.
func (f *Filter) Equal(g *Filter) bool {
	return f.Allow == g.Allow && slices.Equal(f.Rules, g.Rules)
}

// Append appends the filter as text: a rule a line, the default last.
func (f *Filter) Append(dst []byte) []byte {
	for i := range f.Rules {
		dst = append(f.Rules[i].Append(dst), '\n')
	}
	return append(verdict(dst, f.Allow), " rest\n"...)
}

// Append appends the rule as text, such as: deny char 195:0 rwm.
func (r *Rule) Append(dst []byte) []byte {
	dst = verdict(dst, r.Allow)
	switch r.Type {
	case BlockDevice:
		dst = append(dst, " block "...)
	case CharDevice:
		dst = append(dst, " char "...)
	default:
		dst = append(dst, " any "...)
	}
	dst = append(appendNumber(dst, r.Major), ':')
	dst = append(appendNumber(dst, r.Minor), ' ')
	for i, c := range []byte{'m', 'r', 'w'} {
		if r.mask()>>i&1 != 0 {
			dst = append(dst, c)
		}
	}
	return dst
}

func verdict(dst []byte, allow bool) []byte {
	if allow {
		return append(dst, "allow"...)
	}
	return append(dst, "deny"...)
}

func appendNumber(dst []byte, n uint32) []byte {
	if n == AnyNumber {
		return append(dst, '*')
	}
	return strconv.AppendUint(dst, uint64(n), 10)
}

// Registers of a compiled filter.
const (
	regType   = asm.R2
	regAccess = asm.R3
	regMajor  = asm.R4
	regMinor  = asm.R5
	regTest   = asm.R1 // the context, once it is read
)

// Compile turns the filter into a program of the kernel's type cgroup/dev: six
// instructions that take the context apart, then up to eight for each rule.
// It is pure; fmt.Sprint of the result is a listing.
func (f *Filter) Compile() asm.Instructions {
	prog := asm.Instructions{
		asm.LoadMem(regType, asm.R1, 0, asm.Word),
		asm.Mov.Reg(regAccess, regType),
		asm.And.Imm(regType, 0xffff),
		asm.RSh.Imm(regAccess, 16),
		asm.LoadMem(regMajor, asm.R1, 4, asm.Word),
		asm.LoadMem(regMinor, asm.R1, 8, asm.Word),
	}
	label := ""
	for i := range f.Rules {
		at := len(prog)
		next := "rule" + strconv.Itoa(i+1)
		if i == len(f.Rules)-1 {
			next = "rest"
		}
		prog = f.Rules[i].compile(prog, next)
		if label != "" {
			prog[at] = prog[at].WithSymbol(label)
		}
		if f.Rules[i].always() { // the verifier refuses code that nothing reaches
			return prog
		}
		label = next
	}
	at := len(prog)
	prog = append(prog, answer(f.Allow), asm.Return())
	if label != "" {
		prog[at] = prog[at].WithSymbol(label)
	}
	return prog
}

func (r *Rule) compile(prog asm.Instructions, next string) asm.Instructions {
	if r.Type != AnyDevice {
		prog = append(prog, asm.JNE.Imm(regType, int32(r.Type), next))
	}
	mask := int32(r.mask())
	if r.Allow && r.mask() != AllAccess {
		prog = append(prog, asm.Mov.Reg(regTest, regAccess), asm.And.Imm(regTest, int32(AllAccess)&^mask), asm.JNE.Imm(regTest, 0, next))
	}
	if !r.Allow && r.mask() != AllAccess {
		prog = append(prog, asm.Mov.Reg(regTest, regAccess), asm.And.Imm(regTest, mask), asm.JEq.Imm(regTest, 0, next))
	}
	if r.Major != AnyNumber {
		prog = append(prog, asm.JNE.Imm32(regMajor, int32(r.Major), next))
	}
	if r.Minor != AnyNumber {
		prog = append(prog, asm.JNE.Imm32(regMinor, int32(r.Minor), next))
	}
	return append(prog, answer(r.Allow), asm.Return())
}

func answer(allow bool) asm.Instruction {
	if allow {
		return asm.Mov.Imm(asm.R0, 1)
	}
	return asm.Mov.Imm(asm.R0, 0)
}
