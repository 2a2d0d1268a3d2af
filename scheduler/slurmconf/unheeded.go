package slurmconf

import "strings"

// unheededKeys are the parameters of slurm.conf that concern decisions and set
// nothing, with what happens instead. [scheduler.Unenforced] names those that are
// given.
var unheededKeys = map[string]string{
	"burstbuffertype":          "burst buffers are counted, not staged",
	"disablerootjobs":          "root may submit",
	"federationparameters":     "clusters are not federated",
	"maxstepcount":             "a job has any number of steps",
	"maxtaskspernode":          "a node takes as many tasks as it has room for",
	"mcsparameters":            "nodes are shared whatever the labels of jobs",
	"mcsplugin":                "nodes are shared whatever the labels of jobs",
	"nodefeaturesplugins":      "nodes are not booted for features",
	"prioritysitefactorplugin": "the site's factor is 0",
	"requeueexit":              "an exit code does not requeue a job, an event does",
	"requeueexithold":          "an exit code does not requeue a job, an event does",
	"resumerate":               "nodes are neither powered down nor up",
	"resumetimeout":            "nodes are neither powered down nor up",
	"suspendexcnodes":          "nodes are neither powered down nor up",
	"suspendexcparts":          "nodes are neither powered down nor up",
	"suspendexcstates":         "nodes are neither powered down nor up",
	"suspendrate":              "nodes are neither powered down nor up",
	"suspendtime":              "nodes are neither powered down nor up",
	"suspendtimeout":           "nodes are neither powered down nor up",
}

// unheededWords are words of TopologyParam and SelectTypeParameters of that kind.
var unheededWords = map[string]string{
	"switchasnoderank":      "SwitchAsNodeRank: nodes are in order of their names",
	"blockasnoderank":       "BlockAsNodeRank: nodes are in order of their names",
	"cr_pack_nodes":         "CR_PACK_NODES: tasks of steps are spread over nodes",
	"cr_no_dist_topo_block": "CR_NO_DIST_TOPO_BLOCK: tasks of steps are spread over nodes",
}

// unheeded notes a parameter that is given and sets nothing.
func (f *Files) unheeded(key, value string) {
	why := unheededKeys[strings.ToLower(key)]
	switch v := strings.ToLower(value); {
	case why == "", v == "", v == "0", v == "-1", v == "no", v == "none", v == "infinite", v == "unlimited", strings.HasSuffix(v, "/none"):
		return
	}
	f.Unheeded = append(f.Unheeded, key+": "+why)
}

// unheededParts notes what partitions and words of lists say and nothing follows.
func (b *builder) unheededParts() {
	out := &b.cfg.Parameters.Unheeded
	for _, it := range b.f.Params.TopologyParam.V {
		if why := unheededWords[it.Name]; why != "" {
			*out = append(*out, why)
		}
	}
	for _, w := range b.f.Params.SelectTypeParameters.V {
		if why := unheededWords[w]; why != "" {
			*out = append(*out, why)
		}
	}
	for i := range b.f.Partitions {
		p := &b.f.Partitions[i]
		for _, w := range []struct {
			set  bool
			text string
		}{
			{len(allOr(p.AllowAllocNodes.V)) > 0, "AllowAllocNodes: whence a job is submitted is not known"},
			{p.DisableRootJobs.V, "DisableRootJobs: root may submit"},
			{p.ResvOverRun.IsSet(), "ResvOverRun: the cluster's counts"},
			{p.PowerDownOnIdle.V || p.SuspendTime.IsSet() && p.SuspendTime.V != Forever, "PowerDownOnIdle, SuspendTime: nodes are neither powered down nor up"},
		} {
			if w.set {
				*out = append(*out, "partition "+p.Name.V+", "+w.text)
			}
		}
	}
}
