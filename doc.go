// Package berth is documentation only: the contract between the library and
// the program that embeds it, and a map of the packages.
//
// # What it is
//
// berth decides which job runs where on a GPU cluster, and says why the others
// wait. It is a deterministic state machine: it talks to no network, reads no
// clock, starts no goroutine and keeps no file. Facts go in one way, decisions
// come out one way.
//
// # The loop
//
//	s, err := scheduler.New(cfg, nil)
//	for {
//		err := s.Apply(now, event)                // a job came, ended, a node died, …
//		for _, d := range s.Pass(now, buf[:0]) {  // what to do now: Start, Kill, Requeue, …
//			carryOut(d)                       // its outcome comes back as an event with the same Seq
//		}
//		sleepUntil(s.Wake())
//	}
//
// # What the program must do
//
//  1. Call one at a time. A scheduler is not safe for concurrent use; package
//     scheduler/locked puts a lock around one.
//  2. Give the time. now never runs backwards: Apply refuses an older one.
//  3. Write down, before carrying out. The journal is the sequence of Apply and
//     Pass calls (a pass changes the books too). Decisions of a pass may be
//     carried out once the call is on disk.
//  4. Carry decisions out in their order, and report each outcome as an event
//     with the decision's Seq. What a decision needs is charged already.
//  5. Report every end. What a job holds is free when its ended event arrives,
//     also after a Kill or a Requeue decision.
//  6. Call Pass after events, and at Wake: nothing changes between.
//
// # After a crash
//
// Replaying the journal, or restoring a snapshot and replaying what follows it,
// gives the state bit for bit. What may be lost is the outcome of decisions that
// were carried out and not reported: the program asks the nodes, and reports
// started, failed or ended; a report that comes twice is refused or ignored and
// changes nothing.
//
// # Determinism
//
// Equal calls in equal order give equal results on every machine and
// architecture. No result depends on map order, addresses, floating-point order,
// the clock, or the history of insertions. Every order ends in an id.
//
// # Slices
//
// Functions append to the caller's slices. What aliases internal storage says
// how long it is valid; Decision.Nodes, until the next call of Pass. Nothing that
// an event points to is kept.
//
// # Map
//
//	gres                 what is counted: devices, cores, memory; the pool of all nodes
//	topology             where things are: node sets, hostlists, trees, blocks, rings, toruses
//	priority             who goes first: multifactor, Fair Tree, billing, decay
//	qos                  accounts, QOS, limits, usage
//	preempt              who must go, and the least of them
//	bind, bind/wiring    which task sees which CPU and GPU of a machine
//	scheduler            the interface and the engine that joins them
//	scheduler/slurmconf  Slurm's configuration files in
//	scheduler/sbatch     sbatch options and scripts in
//	scheduler/schedtest  laws, generators, golden scripts, a slow twin
//	nvml                 finds GPUs, MIG instances and links
//	cgroupsv2            fences a job, step or task with cgroup v2
//	examples             programs, a module of its own
//
// # Limits
//
// A cluster has at most 2^31−1 nodes, a node 16,384 cores, 64 sockets and 1,024
// devices of a name; a request asks for at most 8 names and types of devices.
// Times are microseconds since 1970 in 63 bits.
package berth
