//go:build invariants || race

package topology

// checking turns on the checks of states after each change.
const checking = true
