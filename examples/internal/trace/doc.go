// Package trace reads job logs and node lists of several origins into one
// neutral list.
//
// Input: the Standard Workload Format (plain or gzip), ALCF's text form of it,
// the Alibaba GPU cluster's pod and node lists, per-virtual-cluster tables of
// the Philly trace, the UB CCR micro-cluster tables, Tiresias' and Batsim's job
// tables, and dumps of `sacct -P`. Gzip is recognised by content.
//
// [Open] and [Read] return a [List] of [Job] values in order of submission;
// [OpenNodes] and [ReadNodes] return [Node] values. The form is recognised by
// its heading, or named.
//
// Reading is deterministic, keeps no reference to the input, and never panics
// on bytes. An error is an [*Error] that says file, line, token and cause in
// one line of text.
//
// What the jobs mean to a cluster (partitions, missing time limits, the number
// of nodes of a GPU count) is left to the program that replays them.
package trace
