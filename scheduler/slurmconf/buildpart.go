package slurmconf

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/scheduler"
)

// partitions converts the partition lines.
func (b *builder) partitions() {
	seen := map[string]Origin{}
	def := ""
	for i := range b.f.Partitions {
		p := &b.f.Partitions[i]
		if at, ok := seen[p.Name.V]; ok {
			b.rd.fail(p.Name.At, p.Name.V, refusedErr("the partition is defined at %s already", at))
			continue
		}
		seen[p.Name.V] = p.Name.At
		if p.Default.V {
			if def != "" {
				b.rd.warn(p.Default.At, p.Name.V, "%s is the default partition already, the last one counts", def)
				for j := range b.cfg.Partitions {
					b.cfg.Partitions[j].Default = false
				}
			}
			def = p.Name.V
		}
		b.cfg.Partitions = append(b.cfg.Partitions, b.partition(p))
	}
}

var partitionStates = map[string]scheduler.PartitionState{"": scheduler.PartitionUp, "up": scheduler.PartitionUp,
	"down": scheduler.PartitionDown, "drain": scheduler.PartitionDrain, "inactive": scheduler.PartitionInactive}

var exclusives = [...]scheduler.Exclusive{ExclusiveNo: scheduler.ExclusiveNo, ExclusiveNode: scheduler.ExclusiveNode,
	ExclusiveUser: scheduler.ExclusiveUser, ExclusiveTopo: scheduler.ExclusiveTopo}

func (b *builder) partition(p *Partition) scheduler.PartitionSpec {
	s := scheduler.PartitionSpec{
		Name: p.Name.V, Default: p.Default.V, State: partitionStates[p.State.V], MinNodes: clip32(p.MinNodes.V), MaxNodes: clip32(p.MaxNodes.V),
		MaxCPUsPerNode: clip32(p.MaxCPUsPerNode.V), MaxCPUsPerSocket: clip32(p.MaxCPUsPerSocket.V),
		Defaults: scheduler.ResourceDefaults{
			DefMemPerNode: memory(p.DefMemPerNode), DefMemPerCPU: memory(p.DefMemPerCPU), DefMemPerGPU: memory(p.DefMemPerGPU),
			DefCPUPerGPU: clip32(p.DefCPUPerGPU.V), MaxMemPerNode: memory(p.MaxMemPerNode), MaxMemPerCPU: memory(p.MaxMemPerCPU)},
		AllowAccounts: allOr(p.AllowAccounts.V), DenyAccounts: p.DenyAccounts.V, AllowQOS: allOr(p.AllowQOS.V), DenyQOS: p.DenyQOS.V,
		AllowGroups: allOr(p.AllowGroups.V), QOS: p.QOS.V, Exclusive: exclusives[p.Exclusive.V], GraceTime: p.GraceTime.V,
		PreemptMode: strings.ToUpper(strings.Join(p.PreemptMode.V, ",")), LLN: p.LLN.V, ReqResv: p.ReqResv.V, RootOnly: p.RootOnly.V,
		Topology: p.Topology.V, BillingWeights: p.TRESBillingWeights.V,
		Alternate: p.Alternate.V,
	}
	if p.Nodes.V != "" {
		s.Nodes = b.hosts(p.Nodes)
	}
	if p.MaxTime.IsSet() && p.MaxTime.V != Forever {
		s.MaxTime = p.MaxTime.V
	}
	s.DefaultTime = p.DefaultTime.V
	if p.PriorityTier.IsSet() {
		v := uint16(p.PriorityTier.V)
		s.Tier = &v
	}
	if p.PriorityJobFactor.IsSet() {
		v := uint16(p.PriorityJobFactor.V)
		s.JobFactor = &v
	}
	if p.OverTimeLimit.IsSet() {
		v := p.OverTimeLimit.V
		s.OverTimeLimit = &v
	}
	switch p.OverSubscribe.V.Sharing {
	case ShareYes:
		s.Oversubscribe = "YES:" + strconv.FormatInt(p.OverSubscribe.V.Jobs, 10)
	case ShareForce:
		s.Oversubscribe = "FORCE:" + strconv.FormatInt(p.OverSubscribe.V.Jobs, 10)
	}
	b.partitionUnit(p, &s)
	if p.Topology.V != "" && !slices.ContainsFunc(b.f.Topologies, func(t Topology) bool { return t.Name.V == p.Topology.V }) {
		b.rd.fail(p.Topology.At, p.Topology.V, refusedErr("there is no such topology"))
	}
	return s
}

// partitionUnit reads a partition's own SelectTypeParameters, which count only
// beside a cluster that uses cores or sockets.
func (b *builder) partitionUnit(p *Partition, s *scheduler.PartitionSpec) {
	if !p.SelectTypeParameters.IsSet() {
		return
	}
	for _, w := range p.SelectTypeParameters.V {
		switch l := strings.ToLower(w); l {
		case "cr_core", "cr_core_memory", "cr_socket", "cr_socket_memory":
			s.Unit, s.NoMemory = "CR_Core", !strings.HasSuffix(l, "_memory")
			if strings.HasPrefix(l, "cr_socket") {
				s.Unit = "CR_Socket"
			}
		case "none":
		default:
			b.rd.fail(p.SelectTypeParameters.At, w, valueErr("CR_Core, CR_Core_Memory, CR_Socket or CR_Socket_Memory is wanted"))
		}
	}
	for _, w := range b.f.Params.SelectTypeParameters.V {
		if strings.HasPrefix(w, "cr_cpu") && s.Unit != "" {
			b.rd.warn(p.SelectTypeParameters.At, s.Unit, "the cluster uses CR_CPU, the partition's own parameter is ignored")
			s.Unit, s.NoMemory = "", false
		}
	}
}

// allOr drops a list that allows all.
func allOr(list []string) []string {
	if len(list) == 1 && strings.EqualFold(list[0], "ALL") {
		return nil
	}
	return list
}

// clip32 makes an int32 of a count; Unlimited is 0, which means none.
func clip32(n int64) int32 {
	if n > 1<<31-1 {
		return 0
	}
	return int32(n)
}

// memory returns MiB, 0 for unlimited.
func memory(v Value[int64]) int64 {
	if v.V == Unlimited {
		return 0
	}
	return v.V
}
