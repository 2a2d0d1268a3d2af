//go:build !invariants && !race

package gres

// checking turns on the costly self-checks.
const checking = false
