//go:build invariants || race

package scheduler

// checking says that the books are walked after every call.
const checking = true
