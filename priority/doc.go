// Package priority answers who goes first: the multifactor sum that ranks
// pending jobs, the fair-share factor in it (Fair Tree and classic), and the
// formulas by which use is billed, charged and forgotten. In Kubernetes' words
// it is the order of a queue by priority class, share and decayed usage.
//
// Inputs are columns that the caller fills from its own tables: one row a job
// ([Jobs]), one row an association ([Tree]), TRES counts as rows of schema
// length. Ids are dense indices; time comes as durations. Nothing here knows a
// job, an account or an instant.
//
// The entry points are [Multifactor] (priorities of many jobs, and the
// breakdown of one as sprio shows it), [FairTree] and [Classic] (factors of
// all associations), [LiveTree] (one factor while usage changes), [Billing]
// (points of an allocation), [Decay] and [Period] (how use is forgotten). A
// batch costs tens of nanoseconds a job or a user, one factor after a change
// microseconds.
//
// Everything is pure and deterministic: the same columns give the same bits on
// every architecture, because no product is fused into a sum, powers are
// repeated squarings of our own, and Fair Tree compares quotients of a 64-bit
// mantissa as integers. Hot functions write into the caller's slices and
// allocate nothing once their scratch has grown.
//
// It leaves to others: who owns the account tree and its ledger (package qos),
// which jobs exist and when a factor is due (package scheduler), and limits.
package priority
