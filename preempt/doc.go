// Package preempt decides which running jobs must make room for a waiting one:
// Slurm's preempt/partition_prio and preempt/qos exactly, and a search for the
// victims of least total cost. In Kubernetes' words it is the preemption of
// PriorityClasses and, for quota reclaim, the choice of workloads to evict.
//
// A [Rule] is the configured relation: who may take whose place, with which
// [Mode], after which grace. [Rule.Key] orders candidates as Slurm does, and
// [Parameters.AppendTimeline] lists what a victim's processes see and when. The
// components of a heterogeneous job are one candidate: [Rule.EligibleUnit].
//
// Two searches choose victims among candidates. Both know nothing of nodes: the
// caller's [Trial] removes candidates tentatively and says whether the
// preemptor fits then, so that devices, topology and quotas all count.
// [Search.Greedy] is Slurm's two-stage choice with its re-ordering;
// [Search.Minimal] finds an irredundant set of least cost. [Slots] proposes a
// cheap set to start from where thousands of candidates run: per node the
// cheapest subset that frees a slot, then the cheapest nodes of one unit.
//
// A [Gang] lets jobs that hold the same cores take turns.
//
// Candidates are numbers from 0, sorted or ranked by the caller's columns.
// Nothing here knows an instant; times are durations since a job's start or
// since the choice. Searches keep their memory between calls and allocate
// nothing in steady state.
//
// Costs: Greedy makes at most (reorders+1) times the number of candidates
// trials, Minimal at most its budget of trials plus one a candidate, Slots a
// step for each pair of candidate and node and each free amount of a slot.
package preempt
