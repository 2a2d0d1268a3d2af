// Package topology answers where the nodes of a job should be: from the nodes
// that may be used to the nodes that are, under Slurm's topologies flat, tree,
// block, ring and torus3d and under levelled domains as Kubernetes' schedulers
// know them. It owns node identity ([NodeID], [Names]), sets of nodes
// ([NodeSet]) and their text form, the hostlist ([ParseHostlist],
// [AppendHostlist]).
//
// Inputs are columns by NodeID and sets of nodes, gathered in a [Request]:
// eligible and required nodes, node counts or a size list, how many CPUs and GPUs
// the job could use on each node (strictly placed, and relaxed), effective
// weights, and the options that concern placement, in Slurm's words: segments,
// switches, contiguous, spread, exclusive. What a node can give is the caller's
// knowledge; a [Taker] is asked where the columns do not say all. In Kubernetes'
// words a unit is a domain of a topology level, a segment is a slice, required
// nodes are a nodeName, and a refusal is the unschedulable message.
//
// The entry points are [New] and [NewTopologies], which build topologies from
// plain values and return every [Problem] of a configuration; [Fitter], made by
// [Topology.Fitter], whose Fit fills a [Result] with the chosen nodes or with a
// [Refusal] that names the rule that failed, the nearest unit and what it lacks;
// and [Levels], whose Fit places groups by required and preferred levels, slices
// and leaders, as Kueue, KAI and Volcano do. Fit does Slurm's whole outer loop:
// size lists, the strict and the relaxed pass, retries, the wait for switches.
// [Topology.AppendRoom] says how many parts of a size fit and what is in the way
// of one more, [Suggest] which near request would fit, [Diff] and
// [Topology.CheckFabric] whether a file describes the machine.
//
//	f := topo.Fitter(topology.Options{Profile: topology.ProfileSlurm})
//	var ws topology.Scratch            // the caller's, reused for every fit
//	req := &x.req                      // in the caller's scratch too
//	req.Eligible, req.CPUs = &x.elig, x.cpus
//	req.Min, req.Want, req.Max = 4, 4, 4
//	req.MinCPUs = 4
//	if f.Fit(&ws, req, &x.res) {
//		use(x.res.Nodes, x.res.CPUs)
//	} else {
//		explain(x.res.Refusal)
//	}
//
// Everything is a function of its arguments: no clock, no randomness, no map
// order; the topology is immutable and the working memory is the caller's
// [Scratch]. Ties go to the lowest NodeID unless a rule says otherwise. A fit
// allocates nothing once scratch and result have grown to the cluster. Cost of a
// fit with N nodes, B units and P units touched: O(N) to look at capacities
// (N/64 words if the request is Sifted and the CPUs need no adding up), plus
// O(B) for counts, plus O(P·B) at most for choosing. A job of one node costs what
// is looked at until the first that does, in a torus N/64 words; if no node does,
// nothing where the request tells the largest entries of its columns.
//
// It leaves to others: which nodes are eligible and what they can give (gres),
// in which order jobs are tried and what a refusal means for the queue
// (scheduler), and which CPUs and devices are used on a node (gres, bind).
package topology
