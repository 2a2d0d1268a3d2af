package bind

import (
	"strconv"
	"strings"
)

// A FreqLevel is a word of --gpu-freq.
type FreqLevel uint8

// The levels.
const (
	FreqUnset  FreqLevel = iota
	FreqLow              // the lowest supported clock
	FreqMedium           // the one in the middle
	FreqHighM1           // the second highest
	FreqHigh             // the highest
	FreqMHz              // a number
)

// A Freq is one value of --gpu-freq.
type Freq struct {
	Level FreqLevel
	MHz   uint32 // of FreqMHz
}

// A GPUFreq is a parsed --gpu-freq. The zero value asks for nothing.
type GPUFreq struct {
	GPU, Memory Freq
	Verbose     bool
}

// ParseGPUFreq reads [VALUE][,memory=VALUE][,verbose] with values low, medium,
// highm1, high or MHz. Errors are of type [*ParseError].
//
// Source: srun(1) --gpu-freq; specification nvml.md 6.
func ParseGPUFreq(text string) (GPUFreq, error) {
	var f GPUFreq
	p := bindParser{text: text}
	at := 0
	for part := range strings.SplitSeq(text, ",") {
		value, isMemory := cutFold(part, "memory=")
		switch {
		case strings.EqualFold(part, "verbose"):
			f.Verbose = true
		case isMemory:
			f.Memory = p.freq(value, at+len(part)-len(value))
		default:
			f.GPU = p.freq(part, at)
		}
		at += len(part) + 1
	}
	if p.err != nil {
		return GPUFreq{}, p.err
	}
	return f, nil
}

func (p *bindParser) freq(s string, at int) Freq {
	for level := FreqLow; level <= FreqHigh; level++ {
		if strings.EqualFold(s, level.String()) {
			return Freq{Level: level}
		}
	}
	if s != "" && (s[0] < '0' || s[0] > '9') {
		p.fail(at, ErrType)
		return Freq{}
	}
	return Freq{Level: FreqMHz, MHz: uint32(p.number(s, at, 1, 1<<31-1))}
}

// String returns the word, empty for FreqUnset and FreqMHz.
func (l FreqLevel) String() string {
	switch l {
	case FreqLow:
		return "low"
	case FreqMedium:
		return "medium"
	case FreqHighM1:
		return "highm1"
	case FreqHigh:
		return "high"
	}
	return ""
}

// Append appends f as --gpu-freq takes it.
func (f GPUFreq) Append(dst []byte) []byte {
	start := len(dst)
	dst = f.GPU.append(dst)
	if f.Memory.Level != FreqUnset {
		dst = f.Memory.append(append(comma(dst, len(dst)-start), "memory="...))
	}
	if f.Verbose {
		dst = append(comma(dst, len(dst)-start), "verbose"...)
	}
	return dst
}

func (f Freq) append(dst []byte) []byte {
	if f.Level == FreqMHz {
		return strconv.AppendUint(dst, uint64(f.MHz), 10)
	}
	return append(dst, f.Level.String()...)
}

// Choose returns the clock in MHz that f means on a device that supports
// clocks, which fall: a number above the highest or below the lowest is cut,
// any other is raised to the next supported one. It returns 0 if f is unset or
// clocks is empty.
//
// Source: specification nvml.md 6.
func (f Freq) Choose(clocks []uint32) uint32 {
	n := len(clocks)
	if n == 0 || f.Level == FreqUnset {
		return 0
	}
	switch f.Level {
	case FreqLow:
		return clocks[n-1]
	case FreqMedium:
		return clocks[(n-1)/2]
	case FreqHigh:
		return clocks[0]
	case FreqHighM1:
		return clocks[min(1, n-1)]
	}
	best := clocks[0]
	for _, c := range clocks {
		if c >= f.MHz {
			best = c
		}
	}
	return best
}

// Clocks are the clocks to set on a GPU in MHz; 0 leaves one alone.
type Clocks struct{ Memory, GPU uint32 }

// ChooseClocks returns what f sets on a device with the falling memory clocks
// memory; graphics[i] are the falling graphics clocks that go with memory[i].
// Without a memory value the graphics clocks are those of the highest memory
// clock, which is the default. Clocks are set as locked ones with equal bounds,
// memory first, or as one pair of application clocks on older drivers.
func ChooseClocks(f GPUFreq, memory []uint32, graphics [][]uint32) Clocks {
	c := Clocks{Memory: f.Memory.Choose(memory)}
	at := 0
	for i, m := range memory {
		if m == c.Memory {
			at = i
		}
	}
	if at < len(graphics) {
		c.GPU = f.GPU.Choose(graphics[at])
	}
	return c
}
