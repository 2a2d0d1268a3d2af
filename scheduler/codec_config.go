package scheduler

import "time"

// The fields of a configuration in the order in which snapshots hold them.

func visitTriple(c *codec, v *[3]int32) {
	for i := range v {
		num(c, &v[i])
	}
}

func visitAssocSpec(c *codec, v *AssocSpec) {
	c.str(&v.Account)
	c.str(&v.User)
	c.str(&v.Partition)
	c.str(&v.Parent)
	c.str(&v.Shares)
	c.str(&v.DefaultQOS)
	strs(c, &v.QOS)
	c.bool(&v.DefaultAccount)
	c.str(&v.Admin)
	num(c, &v.Priority)
	list(c, &v.Limits, visitLimitSpec)
}

func visitCohortSpec(c *codec, v *CohortSpec) {
	c.str(&v.Name)
	c.str(&v.Parent)
	c.str(&v.Account)
	list(c, &v.Quotas, visitQuotaSpec)
}

func visitConfig(c *codec, v *Config) {
	c.str(&v.Cluster)
	num(c, &v.Profile)
	c.bool(&v.Defects)
	list(c, &v.Nodes, visitNodeSpec)
	num(c, &v.MaxNodes)
	list(c, &v.NodeSets, visitNodeSetSpec)
	list(c, &v.Partitions, visitPartitionSpec)
	strs(c, &v.GresTypes)
	strs(c, &v.TRES)
	list(c, &v.Topologies, visitTopologySpec)
	list(c, &v.Accounts, visitAssocSpec)
	list(c, &v.QOS, visitQOSSpec)
	list(c, &v.Cohorts, visitCohortSpec)
	list(c, &v.Reservations, visitReservationSpec)
	list(c, &v.Licenses, visitLicenseSpec)
	visitParameters(c, &v.Parameters)
}

func visitDeviceSpec(c *codec, v *DeviceSpec) {
	c.str(&v.Name)
	c.str(&v.Type)
	num(c, &v.Count)
	c.str(&v.File)
	c.str(&v.MultipleFiles)
	c.str(&v.Cores)
	c.str(&v.Links)
	c.str(&v.Flags)
	c.str(&v.UUID)
	c.str(&v.Model)
	c.str(&v.Plain)
	num(c, &v.Replicas)
	c.str(&v.Scope)
}

func visitDomainSpec(c *codec, v *DomainSpec) {
	strs(c, &v.Values)
	c.str(&v.Nodes)
}

func visitLicenseSpec(c *codec, v *LicenseSpec) {
	c.str(&v.Name)
	num(c, &v.Total)
	num(c, &v.External)
	num(c, &v.Scope)
	list(c, &v.Units, func(c *codec, u *LicenseUnit) {
		c.str(&u.Nodes)
		num(c, &u.Total)
	})
}

func visitLimitParameters(c *codec, v *LimitParameters) {
	c.str(&v.Enforce)
}

func visitLimitSpec(c *codec, v *LimitSpec) {
	c.str(&v.Name)
	c.str(&v.Value)
}

func visitNodeSpec(c *codec, v *NodeSpec) {
	c.str(&v.Names)
	num(c, &v.Sockets)
	num(c, &v.CoresPerSocket)
	num(c, &v.ThreadsPerCore)
	num(c, &v.Boards)
	num(c, &v.CPUs)
	num(c, &v.CPUMilli)
	num(c, &v.MemMiB)
	num(c, &v.TmpMiB)
	num(c, &v.CoreSpecCount)
	c.str(&v.CPUSpecList)
	num(c, &v.MemSpecMiB)
	num(c, &v.RestrictedCoresPerGPU)
	num(c, &v.Weight)
	strs(c, &v.Features)
	strs(c, &v.ActiveFeatures)
	c.str(&v.GRES)
	list(c, &v.Devices, visitDeviceSpec)
	c.str(&v.Topology)
	num(c, &v.Slot)
	num(c, &v.State)
	c.str(&v.Reason)
}

func visitNodeSetSpec(c *codec, v *NodeSetSpec) {
	c.str(&v.Name)
	c.str(&v.Nodes)
	c.str(&v.Feature)
}

func visitParameters(c *codec, v *Parameters) {
	visitQueueParameters(c, &v.Queue)
	visitPlanParameters(c, &v.Plan)
	visitPriorityParameters(c, &v.Priority)
	visitSelectParameters(c, &v.Select)
	visitPreemptParameters(c, &v.Preempt)
	visitLimitParameters(c, &v.Limits)
	num(c, &v.KillWait)
	num(c, &v.MinJobAge)
	num(c, &v.OverTimeLimit)
	num(c, &v.MessageTimeout)
	num(c, &v.ResvOverRun)
	list(c, &v.Zone, func(c *codec, z *ZoneChange) {
		num(c, &z.From)
		num(c, &z.Offset)
	})
	num(c, &v.CompleteWait)
	num(c, &v.RequeueDelay)
	c.bool(&v.NoRequeue)
	num(c, &v.MaxArraySize)
	c.bool(&v.StepPassing)
	c.bool(&v.KillInvalidDep)
	num(c, &v.MaxDependDepth)
	c.str(&v.EnforcePartLimits)
	c.bool(&v.NoHoldOnFail)
	num(c, &v.MaxRequeue)
	num(c, &v.MaxJobs)
	strs(c, &v.Unheeded)
}

func visitPartitionSpec(c *codec, v *PartitionSpec) {
	c.str(&v.Name)
	c.str(&v.Nodes)
	c.bool(&v.Default)
	num(c, &v.State)
	num(c, &v.MaxTime)
	num(c, &v.DefaultTime)
	num(c, &v.MinNodes)
	num(c, &v.MaxNodes)
	num(c, &v.MaxCPUsPerNode)
	num(c, &v.MaxCPUsPerSocket)
	visitResourceDefaults(c, &v.Defaults)
	opt(c, &v.Tier, num[uint16])
	opt(c, &v.JobFactor, num[uint16])
	strs(c, &v.AllowAccounts)
	strs(c, &v.DenyAccounts)
	strs(c, &v.AllowQOS)
	strs(c, &v.DenyQOS)
	strs(c, &v.AllowGroups)
	c.str(&v.QOS)
	num(c, &v.Exclusive)
	c.str(&v.Oversubscribe)
	opt(c, &v.OverTimeLimit, num[time.Duration])
	num(c, &v.GraceTime)
	c.str(&v.PreemptMode)
	c.bool(&v.LLN)
	c.bool(&v.ReqResv)
	c.bool(&v.RootOnly)
	c.str(&v.Unit)
	c.bool(&v.NoMemory)
	c.str(&v.Topology)
	c.str(&v.BillingWeights)
	c.str(&v.Alternate)
}

func visitPlacementSpec(c *codec, v *PlacementSpec) {
	visitTriple(c, &v.Dims)
	visitTriple(c, &v.Seed)
	visitTriple(c, &v.Spacing)
}

func visitPlanParameters(c *codec, v *PlanParameters) {
	num(c, &v.Mode)
	num(c, &v.Depth)
	num(c, &v.Promise)
	num(c, &v.Fill)
	num(c, &v.Window)
	num(c, &v.Resolution)
	num(c, &v.Interval)
	num(c, &v.MaxTest)
	num(c, &v.MaxPart)
	num(c, &v.MaxUser)
	num(c, &v.MaxAssoc)
	num(c, &v.MaxUserPart)
	num(c, &v.MaxStarts)
	num(c, &v.MaxArrayPlans)
	num(c, &v.PartPlans)
	c.bool(&v.OnePlanPerJob)
	c.bool(&v.RunningReserve)
	c.bool(&v.BusyNodes)
	c.bool(&v.Licenses)
	num(c, &v.WindowLinear)
	num(c, &v.MaxSteps)
	num(c, &v.MaxSlots)
	c.str(&v.HetPrio)
	c.bool(&v.HetImmediate)
	c.bool(&v.Continue)
	c.bool(&v.CountMagnetic)
}

func visitPreemptParameters(c *codec, v *PreemptParameters) {
	c.str(&v.Type)
	c.str(&v.Mode)
	num(c, &v.ExemptTime)
	c.str(&v.Parameters)
	c.str(&v.Cost)
	num(c, &v.TimeSlice)
	c.bool(&v.Signals)
	num(c, &v.Window)
	num(c, &v.Budget)
	num(c, &v.Shield)
	num(c, &v.Settle)
}

func visitPriorityParameters(c *codec, v *PriorityParameters) {
	num(c, &v.Age)
	num(c, &v.Assoc)
	num(c, &v.FairShare)
	num(c, &v.JobSize)
	num(c, &v.Partition)
	num(c, &v.QOS)
	c.str(&v.TRES)
	num(c, &v.MaxAge)
	c.bool(&v.FavorSmall)
	num(c, &v.DecayHalfLife)
	num(c, &v.CalcPeriod)
	c.str(&v.UsageReset)
	num(c, &v.Dampening)
	c.str(&v.Flags)
	c.bool(&v.Basic)
	num(c, &v.UTCOffset)
}

func visitQOSSpec(c *codec, v *QOSSpec) {
	c.str(&v.Name)
	num(c, &v.Priority)
	strs(c, &v.Preempt)
	c.str(&v.PreemptMode)
	num(c, &v.GraceTime)
	opt(c, &v.ExemptTime, num[time.Duration])
	opt(c, &v.UsageFactor, (*codec).float)
	c.float(&v.LimitFactor)
	c.float(&v.UsageThreshold)
	strs(c, &v.Flags)
	list(c, &v.Limits, visitLimitSpec)
}

func visitQueueParameters(c *codec, v *QueueParameters) {
	num(c, &v.Depth)
	num(c, &v.FullInterval)
	num(c, &v.PartitionDepth)
	num(c, &v.MaxStarts)
	num(c, &v.MaxSteps)
	c.bool(&v.AssocLimitStop)
	num(c, &v.MinAgeReserve)
	num(c, &v.MinPrioReserve)
	c.bool(&v.IgnoreConstraintValidation)
	c.bool(&v.IgnorePreferValidation)
	c.bool(&v.Disabled)
	c.bool(&v.LicensesLater)
	c.bool(&v.CompletingByPartition)
}

func visitQuotaSpec(c *codec, v *QuotaSpec) {
	c.str(&v.Flavor)
	c.str(&v.TRES)
	num(c, &v.Nominal)
	opt(c, &v.BorrowingLimit, num[int64])
	opt(c, &v.LendingLimit, num[int64])
}

func visitRegionSpec(c *codec, v *RegionSpec) {
	visitTriple(c, &v.Anchor)
	visitTriple(c, &v.Dims)
	c.str(&v.Nodes)
}

func visitReservationSpec(c *codec, v *ReservationSpec) {
	c.str(&v.Name)
	num(c, &v.Start)
	num(c, &v.End)
	num(c, &v.Duration)
	c.str(&v.Nodes)
	num(c, &v.NodeCount)
	nums(c, &v.CoreCount)
	c.str(&v.TRES)
	c.str(&v.Licenses)
	c.str(&v.BurstBuffer)
	c.str(&v.Features)
	c.str(&v.Partition)
	strs(c, &v.Users)
	strs(c, &v.Groups)
	strs(c, &v.Accounts)
	strs(c, &v.QOS)
	strs(c, &v.Partitions)
	strs(c, &v.Flags)
	num(c, &v.PurgeComp)
	num(c, &v.MaxStartDelay)
}

func visitResourceDefaults(c *codec, v *ResourceDefaults) {
	num(c, &v.DefMemPerNode)
	num(c, &v.DefMemPerCPU)
	num(c, &v.DefMemPerGPU)
	num(c, &v.DefCPUPerGPU)
	num(c, &v.MaxMemPerNode)
	num(c, &v.MaxMemPerCPU)
}

func visitSelectParameters(c *codec, v *SelectParameters) {
	c.str(&v.Unit)
	c.bool(&v.NoMemory)
	strs(c, &v.Flags)
	visitResourceDefaults(c, &v.Defaults)
	c.bool(&v.AllowSpecResources)
	c.bool(&v.SpecCoresFirst)
	c.bool(&v.PackSerialAtEnd)
	num(c, &v.MaxSwitchWait)
	c.str(&v.Fragmentation)
	list(c, &v.Workload, visitTaskSpec)
	num(c, &v.WorkloadHalfLife)
	num(c, &v.ReconfigureDelay)
}

func visitTaskSpec(c *codec, v *TaskSpec) {
	num(c, &v.CPUMilli)
	num(c, &v.GPUs)
	num(c, &v.GPUMilli)
	c.str(&v.GPUType)
	num(c, &v.Count)
}

func visitSwitchSpec(c *codec, v *SwitchSpec) {
	c.str(&v.Name)
	c.str(&v.Nodes)
	c.str(&v.Switches)
	num(c, &v.LinkSpeed)
}

func visitTopologySpec(c *codec, v *TopologySpec) {
	c.str(&v.Name)
	c.bool(&v.Flat)
	list(c, &v.Switches, visitSwitchSpec)
	nums(c, &v.BlockSizes)
	list(c, &v.Blocks, visitUnitSpec)
	list(c, &v.Rings, visitUnitSpec)
	list(c, &v.Toruses, visitTorusSpec)
	strs(c, &v.Levels)
	list(c, &v.Domains, visitDomainSpec)
	c.str(&v.Parameters)
}

func visitTorusSpec(c *codec, v *TorusSpec) {
	c.str(&v.Name)
	visitTriple(c, &v.Dims)
	c.str(&v.Nodes)
	list(c, &v.Regions, visitRegionSpec)
	list(c, &v.Placements, visitPlacementSpec)
}

func visitUnitSpec(c *codec, v *UnitSpec) {
	c.str(&v.Name)
	c.str(&v.Nodes)
}
