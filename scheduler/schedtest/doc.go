// Package schedtest tests a scheduler: golden scripts, generators of small
// clusters and jobs, laws that every scheduler must keep, and a slow and obvious
// twin to compare with. Programs that wrap a [scheduler.Scheduler] run the same
// laws against their wrapping.
//
// The entry points are [RunScript] for golden files, [CheckLaws] for random
// sequences of events, and [Naive], the twin.
//
// Import it from test files only: it brings in pgregory.net/rapid, which adds
// flags to the program's flag set.
//
// Everything is deterministic: random sequences come from rapid's seed.
//
// It leaves to others: recorded decisions of a real Slurm, which package
// scheduler's own tests compare with.
package schedtest
