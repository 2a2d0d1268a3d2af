package cgroupsv2

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf/asm"
	"pgregory.net/rapid"
)

// run interprets the few opcodes that a filter uses, on the context that the
// kernel gives: access and type in one word, major, minor.
func run(prog asm.Instructions, d Device, asked Access) (bool, error) {
	ctx := [3]uint64{uint64(asked)<<16 | uint64(d.Type), uint64(d.Major), uint64(d.Minor)}
	at := map[string]int{}
	for i := range prog {
		if s := prog[i].Symbol(); s != "" {
			at[s] = i
		}
	}
	const fromContext = 1 << 40 // what R1 holds at the start
	var r [11]uint64
	r[1] = fromContext
	for pc := 0; pc < len(prog); pc++ {
		in := &prog[pc]
		imm := uint64(in.Constant)
		switch op := in.OpCode; {
		case op.Class().IsLoad() && op.Mode() == asm.MemMode:
			if r[in.Src] != fromContext || in.Offset%4 != 0 {
				return false, fmt.Errorf("load outside of the context at %d", pc)
			}
			r[in.Dst] = ctx[in.Offset/4]
		case op.Class().IsJump() && op.JumpOp() == asm.Exit:
			return r[0] != 0, nil
		case op.Class().IsJump():
			a := r[in.Dst]
			if op.Class() == asm.Jump32Class {
				a, imm = uint64(uint32(a)), uint64(uint32(imm))
			}
			jump := a == imm
			switch op.JumpOp() {
			case asm.JEq:
			case asm.JNE:
				jump = !jump
			default:
				return false, fmt.Errorf("jump %v", op)
			}
			if jump {
				to, ok := at[in.Reference()]
				if !ok || to <= pc {
					return false, fmt.Errorf("jump to %q from %d", in.Reference(), pc)
				}
				pc = to - 1
			}
		case op.Class().IsALU():
			b := imm
			if op.Source() == asm.RegSource {
				b = r[in.Src]
			}
			switch op.ALUOp() {
			case asm.Mov:
				r[in.Dst] = b
			case asm.And:
				r[in.Dst] &= b
			case asm.RSh:
				r[in.Dst] >>= b
			default:
				return false, fmt.Errorf("opcode %v", op)
			}
		default:
			return false, fmt.Errorf("opcode %v", op)
		}
	}
	return false, fmt.Errorf("ran off the end")
}

func device() *rapid.Generator[Device] {
	return rapid.Custom(func(t *rapid.T) Device {
		return Device{
			Type:  rapid.SampledFrom([]DeviceType{BlockDevice, CharDevice}).Draw(t, "type"),
			Major: rapid.SampledFrom([]uint32{1, 195, 240, 4095}).Draw(t, "major"),
			Minor: rapid.SampledFrom([]uint32{0, 1, 3, 255, 1<<20 - 1}).Draw(t, "minor"),
		}
	})
}

func rule() *rapid.Generator[Rule] {
	return rapid.Custom(func(t *rapid.T) Rule {
		r := Rule{Device: device().Draw(t, "device"), Access: Access(rapid.IntRange(0, 7).Draw(t, "access")), Allow: rapid.Bool().Draw(t, "allow")}
		if rapid.IntRange(0, 3).Draw(t, "any") == 0 {
			r.Type = AnyDevice
		}
		if rapid.IntRange(0, 2).Draw(t, "every major") == 0 {
			r.Major = AnyNumber
		}
		if rapid.IntRange(0, 2).Draw(t, "every minor") == 0 {
			r.Minor = AnyNumber
		}
		return r
	})
}

// The compiled program and Decide are two writings of one rule.
func TestProgramDecidesAsDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Filter{Rules: rapid.SliceOfN(rule(), 0, 8).Draw(t, "rules"), Allow: rapid.Bool().Draw(t, "allow")}
		prog := f.Compile()
		for range 20 {
			d, asked := device().Draw(t, "d"), Access(rapid.IntRange(0, 7).Draw(t, "asked"))
			got, err := run(prog, d, asked)
			if err != nil {
				t.Fatalf("%v\n%v", err, prog)
			}
			if want := f.Decide(d, asked); got != want {
				t.Fatalf("%v asked %d: program %v, Decide %v\n%s%v", d, asked, got, want, f.Append(nil), prog)
			}
		}
	})
}

// A part of a right is not the whole, and asking for more evades no denial.
func TestAccessOfRules(t *testing.T) {
	zero := Device{CharDevice, 1, 5}
	reads := Filter{Rules: []Rule{{Device: zero, Access: Read, Allow: true}}}
	unwritten := Filter{Rules: []Rule{{Device: zero, Access: Write}}, Allow: true}
	for _, c := range []struct {
		f     *Filter
		asked Access
		want  bool
	}{
		{&reads, Read, true}, {&reads, Read | Write, false}, {&reads, Mknod, false},
		{&unwritten, Read, true}, {&unwritten, Read | Write, false}, {&unwritten, Mknod | Read, true},
	} {
		if got := c.f.Decide(zero, c.asked); got != c.want {
			t.Errorf("%s asked %d: %v", c.f.Append(nil), c.asked, got)
		}
	}
}

// Held files are allowed, files of the others denied, shared ones allowed.
func TestRulesOfRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.SliceOfN(device(), 0, 3), 0, 6).Draw(t, "records")
		held := []uint64{rapid.Uint64Range(0, 63).Draw(t, "held")}
		f := Filter{Rules: AppendRules(nil, records, held), Allow: true}
		mine, all := map[Device]bool{}, map[Device]bool{}
		for i, files := range records {
			for _, d := range files {
				all[d] = true
				mine[d] = mine[d] || hasBit(held, i)
			}
		}
		if len(f.Rules) != len(all) {
			t.Fatalf("%d rules for %d files", len(f.Rules), len(all))
		}
		for range 10 {
			d := device().Draw(t, "d")
			if want := !all[d] || mine[d]; f.Decide(d, Read|Write) != want {
				t.Fatalf("%v: want %v\n%s", d, want, f.Append(nil))
			}
		}
	})
}
