//go:build !invariants && !race

package priority

// checking turns on the costly self-checks.
const checking = false
