package cgroupsv2

import "math"

// Unset is the value of a limit that is not written.
const Unset = -1

// A Memory has the three limits of a level in bytes; [Unset] ones are not
// written.
type Memory struct {
	Max  int64 // memory.max: beyond it the kernel kills
	High int64 // memory.high: beyond it the kernel slows down and reclaims
	Swap int64 // memory.swap.max
}

// Memory returns the limits of a job or a step that was allocated alloc MiB
// (0: no limit was asked for) on a node whose configured RealMemory is real
// MiB. All are [Unset] where neither RAM nor swap is constrained.
//
// The minimum is tested before the maximum, as Slurm does: a MinRAMSpace above
// the maximum wins. A swap limit below zero, which in Slurm wraps around, is 0.
//
// Source: specification cgroupsv2.md 4.3.
func (c *Conf) Memory(alloc, real int64) Memory {
	if !c.ConstrainRAM && !c.ConstrainSwap {
		return Memory{Max: Unset, High: Unset, Swap: Unset}
	}
	alloc, real = max(alloc, 0), max(real, 0)
	base, ram := alloc, 100.0
	if c.ConstrainRAM {
		ram = c.AllowedRAM
	}
	if alloc == 0 {
		base = real
	}
	low, high := share(c.MinRAM, 100), share(real, c.MaxRAMPercent)
	hard := bound(share(real, 100), low, high)
	soft := hard
	if alloc > 0 {
		hard = bound(share(alloc, ram), low, high)
		soft = min(bound(share(alloc, 100), low, high), hard)
	}
	both := bound(add(hard, share(base, c.AllowedSwap)), low, add(high, share(real, c.MaxSwapPercent)))
	if !c.ConstrainRAM {
		hard = both
	}
	m := Memory{Max: hard, High: soft, Swap: Unset}
	if c.ConstrainSwap {
		m.Swap = max(both-hard, 0)
	}
	return m
}

// bound raises n to low, or else cuts it to high.
func bound(n, low, high int64) int64 {
	if n < low {
		return low
	}
	return min(n, high)
}

// share returns p percent of mib MiB in bytes, cut to whole bytes.
func share(mib int64, p float64) int64 {
	f := float64(float64(float64(mib)*(1<<20))*p) / 100
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(f)
}

// add adds two amounts of at least 0 and stays at the largest number.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
