//go:build !invariants && !race

package qos

// checking says that invariants are checked at run time.
const checking = false
