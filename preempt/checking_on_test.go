//go:build invariants || race

package preempt

const checking = true
