package schedtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// GenConfig draws a small cluster: one or two kinds of nodes, with and without
// GPUs, one or two partitions that overlap, perhaps levels of topology, and
// parameters of planning.
func GenConfig(t *rapid.T) scheduler.Config {
	kinds := rapid.IntRange(1, 2).Draw(t, "node kinds")
	var c scheduler.Config
	var sizes []int
	for k := range kinds {
		n := rapid.IntRange(1, 4).Draw(t, "nodes")
		sizes = append(sizes, n)
		s := scheduler.NodeSpec{
			Names:   fmt.Sprintf("%c[0-%d]", 'a'+k, n-1),
			Sockets: rapid.Int32Range(1, 2).Draw(t, "sockets"), CoresPerSocket: rapid.Int32Range(1, 4).Draw(t, "cores"),
			ThreadsPerCore: rapid.Int32Range(1, 2).Draw(t, "threads"), MemMiB: 1000,
			Weight: rapid.Uint32Range(1, 2).Draw(t, "weight"), Features: []string{"f", "g"}[k:],
		}
		switch g := rapid.IntRange(0, 5).Draw(t, "GPUs"); {
		case g == 5:
			s.GRES = "gpu:1"
			s.Devices = []scheduler.DeviceSpec{{Name: "gpu", Model: "A30", Plain: "1g.6gb", Scope: rapid.SampledFrom([]string{"", "user", "job"}).Draw(t, "scope")}}
		case g > 0:
			s.GRES = fmt.Sprintf("gpu:%s:%d", rapid.SampledFrom([]string{"x", "y"}).Draw(t, "type"), g)
		}
		c.Nodes = append(c.Nodes, s)
	}
	c.Partitions = []scheduler.PartitionSpec{{Name: "p", Nodes: "ALL", Default: true}}
	if rapid.Bool().Draw(t, "two partitions") {
		q := scheduler.PartitionSpec{Name: "q", Nodes: c.Nodes[0].Names, MaxTime: 20 * time.Second}
		q.MaxNodes = rapid.Int32Range(0, 2).Draw(t, "most nodes")
		c.Partitions = append(c.Partitions, q)
	}
	if rapid.Bool().Draw(t, "nodes join") {
		c.MaxNodes, c.GresTypes = 10, []string{"gpu"}
		c.NodeSets = []scheduler.NodeSetSpec{{Name: "f-nodes", Feature: "f"}}
		c.Partitions[len(c.Partitions)-1].Nodes += ",f-nodes"
	}
	genLevels(t, &c, sizes)
	c.Parameters.ResvOverRun = rapid.SampledFrom([]time.Duration{0, 0, 5 * time.Second, scheduler.Infinite}).Draw(t, "overrun")
	c.Profile = rapid.SampledFrom([]scheduler.Profile{scheduler.ProfileBest, scheduler.ProfileSlurm}).Draw(t, "profile")
	p := &c.Parameters
	p.Plan.Mode = rapid.SampledFrom([]scheduler.PlanMode{scheduler.PlanBackfill, scheduler.PlanNone}).Draw(t, "mode")
	p.Plan.Depth = rapid.Int32Range(0, 2).Draw(t, "depth")
	p.Plan.Promise = rapid.SampledFrom([]scheduler.Promise{scheduler.PromiseBestEffort, scheduler.PromiseKept}).Draw(t, "promise")
	p.Plan.Fill = rapid.SampledFrom([]scheduler.Fill{scheduler.FillShortest, scheduler.FillRank}).Draw(t, "fill")
	p.Plan.Resolution = time.Second
	p.Priority.Age = rapid.Uint32Range(0, 1).Draw(t, "age weight") * 1000
	p.Priority.MaxAge = time.Minute
	p.Priority.CalcPeriod = 5 * time.Second
	p.Select.NoMemory = rapid.Bool().Draw(t, "no memory")
	p.Select.Fragmentation = rapid.SampledFrom([]string{"", "", "BestFit", "GpuClustering", "FGD", "FillUp"}).Draw(t, "policy")
	p.Select.WorkloadHalfLife = time.Duration(rapid.IntRange(0, 60).Draw(t, "half-life")) * time.Second
	if rapid.Bool().Draw(t, "accounts") {
		genAccounts(t, &c)
	}
	if rapid.Bool().Draw(t, "licences") {
		c.Licenses = []scheduler.LicenseSpec{{Name: "lic", Total: 2}}
	}
	if rapid.IntRange(0, 2).Draw(t, "scopes") == 0 {
		genScopes(t, &c)
	}
	return c
}

// genAccounts draws two accounts with their users, two QOS, limits on all of
// them, and factors that follow from them.
func genAccounts(t *rapid.T, c *scheduler.Config) {
	c.QOS = []scheduler.QOSSpec{{Name: "high", Priority: 10, Limits: genLimits(t, qosLimits)}, {Name: "part", Limits: genLimits(t, qosLimits)}}
	if rapid.Bool().Draw(t, "no decay") {
		c.QOS[0].Flags = []string{"NoDecay"}
	}
	c.Accounts = []scheduler.AssocSpec{
		{Account: "a", QOS: []string{"normal", "high"}, Limits: genLimits(t, groupLimits)}, {Account: "b", Shares: "3"},
		{Account: "a", User: "ann", Limits: genLimits(t, userLimits)}, {Account: "b", User: "ann", DefaultAccount: true},
		{Account: "a", User: "bob", Priority: 5},
	}
	if rapid.Bool().Draw(t, "partition QOS") {
		c.Partitions[0].QOS = "part"
	}
	c.Partitions[0].BillingWeights = rapid.SampledFrom([]string{"", "CPU=1,Mem=0.5"}).Draw(t, "billing")
	p := &c.Parameters
	p.Limits.Enforce = rapid.SampledFrom([]string{"", "associations", "limits,qos", "safe"}).Draw(t, "enforce")
	p.Queue.AssocLimitStop = rapid.Bool().Draw(t, "assoc_limit_stop")
	p.Priority.FairShare = rapid.Uint32Range(0, 1).Draw(t, "fair-share weight") * 500
	p.Priority.QOS = rapid.Uint32Range(0, 1).Draw(t, "QOS weight") * 100
	p.Priority.DecayHalfLife = time.Minute
}

var (
	groupLimits = []string{"GrpTRES=cpu=3", "GrpTRES=node=1", "GrpJobs=1", "GrpSubmitJobs=3", "GrpTRESMins=cpu=1", "GrpTRESRunMins=cpu=1", "GrpWall=1", "GrpJobsAccrue=1"}
	userLimits  = []string{"MaxTRES=cpu=2", "MaxJobs=1", "MaxSubmitJobs=2", "MaxWall=1", "MaxTRESMins=cpu=1", "MaxJobsAccrue=1", "MaxTRESPerNode=cpu=2"}
	qosLimits   = append([]string{"MaxTRESPerUser=cpu=3", "MaxTRESPerUser=node=1", "MaxJobsPerUser=1", "MaxSubmitJobsPerAccount=2", "MinTRESPerJob=cpu=2"}, groupLimits...)
)

func genLimits(t *rapid.T, from []string) []scheduler.LimitSpec {
	var out []scheduler.LimitSpec
	for range rapid.IntRange(0, 2).Draw(t, "limits") {
		name, value, _ := strings.Cut(rapid.SampledFrom(from).Draw(t, "limit"), "=")
		out = append(out, scheduler.LimitSpec{Name: name, Value: value})
	}
	return out
}

// GenAccountEvent draws a change of accounts, QOS, limits, licences or usage.
func GenAccountEvent(t *rapid.T) scheduler.Event {
	switch rapid.IntRange(0, 7).Draw(t, "change") {
	case 0:
		return scheduler.Event{Kind: scheduler.EventLimit, Assoc: &scheduler.AssocSpec{Account: "a", Limits: genLimits(t, groupLimits)}}
	case 1:
		return scheduler.Event{Kind: scheduler.EventLimit, QOS: &scheduler.QOSSpec{Name: "high", Limits: genLimits(t, qosLimits)}}
	case 2:
		s := scheduler.AssocSpec{Account: "b", User: "bob", Limits: genLimits(t, userLimits)}
		return scheduler.Event{Kind: scheduler.EventUser, Assoc: &s, Remove: rapid.Bool().Draw(t, "remove")}
	case 3:
		s := scheduler.AssocSpec{Account: "b", Parent: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "parent"), Limits: genLimits(t, groupLimits)}
		return scheduler.Event{Kind: scheduler.EventAccount, Assoc: &s}
	case 4:
		s := scheduler.QOSSpec{Name: rapid.SampledFrom([]string{"high", "low"}).Draw(t, "QOS"), Priority: 1, Limits: genLimits(t, append(userLimits, qosLimits...))}
		return scheduler.Event{Kind: scheduler.EventQOS, QOS: &s, Remove: rapid.IntRange(0, 3).Draw(t, "remove") == 0}
	case 5:
		return scheduler.Event{Kind: scheduler.EventUsageReset, Text: rapid.SampledFrom([]string{"", "a", "x"}).Draw(t, "account")}
	case 6:
		return scheduler.Event{Kind: scheduler.EventLicense, License: &scheduler.LicenseSpec{Name: "lic", Total: rapid.Int64Range(0, 3).Draw(t, "total")}}
	default:
		s := scheduler.AssocSpec{Account: "c", Parent: "a"}
		return scheduler.Event{Kind: scheduler.EventAccount, Assoc: &s, Remove: rapid.Bool().Draw(t, "remove")}
	}
}

// GenJob draws a job that such a cluster may take.
func GenJob(t *rapid.T, id scheduler.JobID) *scheduler.JobSpec {
	j := &scheduler.JobSpec{
		ID: id, User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"),
		TimeLimit: time.Duration(rapid.IntRange(1, 30).Draw(t, "limit")) * time.Second,
		Nice:      int64(rapid.IntRange(0, 2).Draw(t, "nice")) * -100,
		Mem:       scheduler.MemPerNode, MemMiB: rapid.Int64Range(1, 600).Draw(t, "memory"),
	}
	if rapid.IntRange(0, 9).Draw(t, "long") == 9 {
		j.TimeLimit = time.Duration(rapid.IntRange(1, 30).Draw(t, "hours")) * time.Hour // past what repeats
	}
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 0:
		j.Tasks = rapid.Int32Range(1, 6).Draw(t, "tasks")
	case 1:
		j.MinNodes = rapid.Int32Range(1, 3).Draw(t, "nodes")
		j.Exclusive = rapid.SampledFrom([]scheduler.Exclusive{scheduler.ExclusiveNo, scheduler.ExclusiveNode}).Draw(t, "exclusive")
	case 2:
		j.MinNodes, j.Tasks = 1, 1
		j.GPUsPerNode = fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "GPUs"))
	case 3:
		j.MinNodes = rapid.Int32Range(1, 2).Draw(t, "nodes")
		j.TasksPerNode = rapid.Int32Range(1, 3).Draw(t, "tasks a node")
		j.GRES = rapid.SampledFrom([]string{"gpu:2g.12gb:1", "gpu:1", "gpu:x:1", "gpu:y:2"}).Draw(t, "gres")
	}
	if rapid.Bool().Draw(t, "charged") {
		j.Account = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "account")
		j.QOS = rapid.SampledFrom([][]string{nil, nil, {"normal"}, {"high"}}).Draw(t, "QOS")
		j.Licenses = rapid.SampledFrom([]string{"", "", "lic", "lic:2", "lic:3|lic:1"}).Draw(t, "licences")
	}
	if rapid.IntRange(0, 3).Draw(t, "scoped") == 0 {
		j.Licenses = rapid.SampledFrom(scopedAsks).Draw(t, "of racks and nodes")
	}
	if j.Exclusive == scheduler.ExclusiveNo && rapid.IntRange(0, 5).Draw(t, "apart") == 0 {
		j.Exclusive = rapid.SampledFrom([]scheduler.Exclusive{scheduler.ExclusiveUser, scheduler.ExclusiveTopo}).Draw(t, "from whom")
	}
	if rapid.IntRange(0, 3).Draw(t, "features") == 0 {
		j.Constraint = rapid.SampledFrom([]string{"", "g", "f*1", "[f|g]", "[g|f]", "[f*1&g*1]"}).Draw(t, "constraint")
		j.Prefer = rapid.SampledFrom([]string{"", "f", "g", "[f|g]"}).Draw(t, "prefer")
	}
	switch rapid.IntRange(0, 9).Draw(t, "partition") {
	case 0:
		j.Partitions = []string{"q"}
	case 1:
		j.Partitions = []string{"q", "p"}
	}
	return j
}

// genStep draws the arrival or the end of a step.
func genStep(t *rapid.T, id scheduler.JobID) scheduler.Event {
	ev := scheduler.Event{Kind: scheduler.EventStepEnd, Job: id, Step: &scheduler.StepSpec{ID: rapid.Uint32Range(0, 5).Draw(t, "step")}}
	if rapid.IntRange(0, 3).Draw(t, "ends") > 0 {
		ev.Kind = scheduler.EventStepStart
		ev.Step.Tasks = rapid.Int32Range(0, 4).Draw(t, "tasks")
		ev.Step.CPUsPerTask = rapid.Int32Range(0, 2).Draw(t, "cpus")
		ev.Step.GRES = rapid.SampledFrom([]string{"", "none", "gpu:1"}).Draw(t, "gres")
		ev.Step.Exact = rapid.Bool().Draw(t, "exact")
		ev.Step.Overlap = rapid.IntRange(0, 3).Draw(t, "overlap") == 0
	}
	return ev
}
