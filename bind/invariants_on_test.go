//go:build invariants || race

package bind

const checking = true
