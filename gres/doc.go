// Package gres answers what a cluster has, what a job asks, and which cores
// and devices of which node it gets. It owns the words for countable things:
// TRES kinds and vectors (Slurm), extended resources and device claims
// (Kubernetes), and the pool of what is free on every node.
//
// The inputs are a [Schema] of the kinds that are counted, the [Shape] of each
// kind of node (sockets, cores, memory, devices, or counts alone), and a
// [Request], compiled by [Derive] from the options of a job. Amounts are int64
// with a unit: CPUs, MiB, pieces, milli-GPUs. There is no float in an amount,
// so 0.1 and 0.2 of a GPU are 0.3 of it.
//
// The entry points are [Evaluate], which says what one node could give, and
// [Select], which says which cores and devices it gives; a [Pool] asks them
// for a whole cluster and remembers the answers. [ParseTRES] and [AppendTRES]
// read and write amounts.
//
// Everything here is pure and deterministic: no clock, no goroutine, no
// global that changes, no dependence on map order or on floats. Equal calls
// in equal order give equal results, ties end at the lowest index.
//
// It does not know jobs, users, time, or where nodes stand to each other:
// who may run is the business of qos and priority, which nodes go together
// that of topology.
//
// # One job's way through a pool
//
// When nodes are configured, the caller adds each kind of hardware with
// [Pool.AddShape], says with [Pool.SetNode] which node has it, and adds a view
// ([Pool.AddView]) for each set of nodes in which jobs look: a partition, cut
// by weight. When a job comes, [Pool.AddClass] gives its request a number;
// equal requests share one.
//
// A request for one node asks [Pool.PlaceOne] with the partition's views,
// lightest first, in pass [PassNear] and, if no node does, in [PassAny]. The
// answer is a node and the [Grant] there.
//
// A request for more nodes asks [Pool.Fill] for what each eligible node could
// give, in the weaker pass and then, within the nodes found, in the stricter;
// a fitter of topology chooses among the columns; [Taking] trims what each
// chosen node contributes, and [Select] lays out cores and devices.
//
//	mark := pool.Mark()
//	for i, node := range nodes {
//		pool.Take(node, &grants[i])
//	}
//	if tooMuch { // a limit on the real allocation, another part of the job
//		pool.Rollback(mark)
//	} else {
//		pool.Forget() // with the decision
//	}
//
// When the job ends, [Pool.Give] takes its grants off. [Pool.Hash] is then
// what it was before the job came.
package gres
