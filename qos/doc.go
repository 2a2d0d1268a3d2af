// Package qos answers "may this account have it": it keeps accounts, users and
// qualities of service, what each has in use and has used, and says which limit
// holds a job back, with the numbers.
//
// Inputs are plain values: who asks ([AssocID], [QOSID]), what ([gres.Vector]),
// for how long (time.Duration) and on which nodes (dense indices). A Kubernetes
// reader finds ResourceQuota and the queue here: an account is a queue, an
// association a namespace of a user in it, a limit a meter without lending;
// what may be lent and borrowed is in the package cohort.
//
// The entry points are the checks of a [Ledger] in the order of a job's life:
// [Ledger.CheckSubmit], [Ledger.CheckEligible], [Ledger.NodeCap],
// [Ledger.Admit] and [Ledger.Overrun]; beside them [Ledger.Charge] and
// [Ledger.Uncharge] keep the books. Each check returns a [Verdict]. A try is
// taken back by [Ledger.Mark] and [Ledger.Rollback].
//
// It is pure and deterministic: no clock, no I/O, no map order; counters are
// integers, so charges commute and a reversal is exact. Calls in a pass do not
// allocate once their rows exist. A check costs the number of limits that are
// set along the way, O(levels of the tree + 2 QOS) if none is.
//
// It leaves to others what a job is, when it started and where it runs
// (scheduler), what usage is worth in the queue (priority), and the text of
// configuration commands (scheduler/slurmconf).
//
// Source: Slurm's resource_limits.html, qos.html and sacctmgr(1).
package qos
