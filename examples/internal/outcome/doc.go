// Package outcome holds what happened when a list of jobs was run through a
// scheduler, and says it in figures.
//
// Input is a [Run]: the nodes, what became of each job (when it ran, what it
// held on each node, what it waited for), and the use of the cluster as the
// scheduler counted it, sample by sample.
//
// [Check] holds the run to its laws: no job lost, no wait negative, nothing
// given twice, the sum of what jobs held equal to the integral of what was in
// use. [Measure] computes [Figures]; [AppendText] prints them as tables.
//
// Everything is a pure function of the run; sums that can leave int64 are kept
// in 128 bits, so equality is exact.
//
// Pictures are left to package report.
package outcome
