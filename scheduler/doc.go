// Package scheduler decides which job runs where and when, and says why the
// others wait. In Slurm's words it is the controller's main loop with backfill;
// in Kubernetes' words, a batch scheduler with gangs and time-aware planning.
//
// Facts go in by [Scheduler.Apply] as events, decisions come out of
// [Scheduler.Pass]; [Scheduler.Wake] says when to pass again, [Scheduler.Explain]
// why a job waits, [Scheduler.View] shows the books. [New] makes a scheduler from
// a [Config], [Restore] from a snapshot. Both sides are plain data that survives
// JSON, with names and no indices.
//
// The engine joins the packages below it. One placement function serves the
// start phase, plans and explanations, so what is explained is what is decided:
//
//	order the queue    tier, priority, submission, id
//	for each record of (job, partition):
//	  gate             dependency? held? begin time? partition?      reason
//	  limits           accounts and QOS, licences, node cap          reason, numbers
//	  nodes            partition, up, features, node lists           eligible set
//	  capacity         gres.Pool: what each node could give now      columns
//	  place            topology.Fitter                               chosen nodes
//	  give             gres.Select: cores, devices, memory on each   grants
//	  limits           with the real allocation                      reason, numbers
//	  commit           Start; or plan: the earliest start beside what runs and is planned
//
// Everything is pure and deterministic: no clock, no goroutine, no lock. A pass
// costs a step a waiting job, plus for each class of equal requests one
// placement: for one-node requests a few steps of the pool's index, for others a
// look-up a node and the fit. A class that failed is not tried again until
// something is freed. Plans of profile Best are kept between passes, on a calendar of
// every node: a plan costs a look at the nodes whose bounds lie before its start,
// a pass after an early end a look at the plans that the freed nodes may serve, and
// a bounded number of moves. Passes allocate nothing in steady state; planning may
// grow its arena.
//
// It leaves to the embedding program: launching, storing, and telling the time.
//
// # Not yet
//
// Refused with [ErrUnsupported] until built: arrays, heterogeneous jobs,
// dependencies on tasks, on burst buffers and of the kind expand, cohorts, shares
// on nodes of counts, resizing, adding and removing partitions at run time,
// nodes that join a torus.
// Claims of devices (gres.Claim) are not part of a job's specification.
// Jobs that share cores (OverSubscribe) are not suspended for those of a
// higher tier.
// [Unenforced] names what a configuration says without effect.
package scheduler
