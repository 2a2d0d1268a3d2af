package qos

import (
	"strings"

	"github.com/berth-sched/berth/gres"
)

// A Reason is why a job is held back or refused, as a small number; its String
// is the name that Slurm prints. Zero is no reason: the job passes.
type Reason uint16

// class is the part of a TRES kind that shows in the name of a reason.
type class uint8

const (
	classCPU class = iota
	classMem
	classEnergy
	classNode
	classBilling
	classGRES
	classLicense
	classBB
	classUnknown
	numClasses
)

// classOf returns the class of kind k of s: fs/…, vmem, pages and ic/… have no
// names of their own.
func classOf(s *gres.Schema, k gres.Kind) class {
	switch k {
	case gres.CPU:
		return classCPU
	case gres.Mem:
		return classMem
	case gres.Energy:
		return classEnergy
	case gres.Node:
		return classNode
	case gres.Billing:
		return classBilling
	}
	switch head, _, _ := strings.Cut(strings.ToLower(s.Name(k)), "/"); head {
	case "gres":
		return classGRES
	case "license":
		return classLicense
	case "bb":
		return classBB
	}
	return classUnknown
}

// side says whose limit it is: the reasons of associations and of QOS have
// different names.
type side uint8

const (
	sideAssoc side = iota
	sideQOS
	numSides
)

// tresReasons has the name of each reason of a TRES limit by side and class;
// rows without names are limits that the side does not have. Where Slurm has no
// name for a class it prints that of the unknown one.
//
// Source: job_reason_codes.html.
var tresReasons = [families][numSides][numClasses]string{
	GrpTRES - 1: {
		{"AssocGrpCpuLimit", "AssocGrpMemLimit", "AssocGrpEnergy", "AssocGrpNodeLimit", "AssocGrpBilling", "AssocGrpGRES", "AssocGrpLicense", "AssocGrpBB", "AssocGrpUnknown"},
		{"QOSGrpCpuLimit", "QOSGrpMemLimit", "QOSGrpEnergy", "QOSGrpNodeLimit", "QOSGrpBilling", "QOSGrpGRES", "QOSGrpLicense", "QOSGrpBB", "QOSGrpUnknown"},
	},
	GrpTRESMins - 1: {
		{"AssocGrpCPUMinutesLimit", "AssocGrpMemMinutes", "AssocGrpEnergyMinutes", "AssocGrpNodeMinutes", "AssocGrpBillingMinutes", "AssocGrpGRESMinutes", "AssocGrpLicenseMinutes", "AssocGrpBBMinutes", "AssocGrpUnknownMinutes"},
		{"QOSGrpCPUMinutesLimit", "QOSGrpMemoryMinutes", "QOSGrpEnergyMinutes", "QOSGrpNodeMinutes", "QOSGrpBillingMinutes", "QOSGrpGRESMinutes", "QOSGrpLicenseMinutes", "QOSGrpBBMinutes", "QOSGrpUnknownMinutes"},
	},
	GrpTRESRunMins - 1: {
		{"AssocGrpCPURunMinutesLimit", "AssocGrpMemRunMinutes", "AssocGrpEnergyRunMinutes", "AssocGrpNodeRunMinutes", "AssocGrpBillingRunMinutes", "AssocGrpGRESRunMinutes", "AssocGrpLicenseRunMinutes", "AssocGrpBBRunMinutes", "AssocGrpUnknownRunMinutes"},
		{"QOSGrpCPURunMinutesLimit", "QOSGrpMemoryRunMinutes", "QOSGrpEnergyRunMinutes", "QOSGrpNodeRunMinutes", "QOSGrpBillingRunMinutes", "QOSGrpGRESRunMinutes", "QOSGrpLicenseRunMinutes", "QOSGrpBBRunMinutes", "QOSGrpUnknownRunMinutes"},
	},
	MaxTRESPerJob - 1: {
		{"AssocMaxCpuPerJobLimit", "AssocMaxMemPerJob", "AssocMaxEnergyPerJob", "AssocMaxNodePerJobLimit", "AssocMaxBillingPerJob", "AssocMaxGRESPerJob", "AssocMaxLicensePerJob", "AssocMaxBBPerJob", "AssocMaxUnknownPerJob"},
		{"QOSMaxCpuPerJobLimit", "QOSMaxMemoryPerJob", "QOSMaxEnergyPerJob", "QOSMaxNodePerJobLimit", "QOSMaxBillingPerJob", "QOSMaxGRESPerJob", "QOSMaxLicensePerJob", "QOSMaxBBPerJob", "QOSMaxUnknownPerJob"},
	},
	MaxTRESPerNode - 1: {
		{"AssocMaxCpuPerNode", "AssocMaxMemPerNode", "AssocMaxEnergyPerNode", "AssocMaxUnknownPerNode", "AssocMaxBillingPerNode", "AssocMaxGRESPerNode", "AssocMaxUnknownPerNode", "AssocMaxBBPerNode", "AssocMaxUnknownPerNode"},
		{"QOSMaxCpuPerNode", "QOSMaxMemoryPerNode", "QOSMaxEnergyPerNode", "QOSMaxUnknownPerNode", "QOSMaxBillingPerNode", "QOSMaxGRESPerNode", "QOSMaxUnknownPerNode", "QOSMaxBBPerNode", "QOSMaxUnknownPerNode"},
	},
	MaxTRESMinsPerJob - 1: {
		{"AssocMaxCpuMinutesPerJobLimit", "AssocMaxMemMinutesPerJob", "AssocMaxEnergyMinutesPerJob", "AssocMaxNodeMinutesPerJob", "AssocMaxBillingMinutesPerJob", "AssocMaxGRESMinutesPerJob", "AssocMaxLicenseMinutesPerJob", "AssocMaxBBMinutesPerJob", "AssocMaxUnknownMinutesPerJob"},
		// A QOS prints the association's name for burst buffers.
		{"QOSMaxCpuMinutesPerJobLimit", "QOSMaxMemoryMinutesPerJob", "QOSMaxEnergyMinutesPerJob", "QOSMaxNodeMinutesPerJob", "QOSMaxBillingMinutesPerJob", "QOSMaxGRESMinutesPerJob", "QOSMaxLicenseMinutesPerJob", "AssocMaxBBMinutesPerJob", "QOSMaxUnknownMinutesPerJob"},
	},
	MaxTRESPerUser - 1: {sideQOS: {
		"QOSMaxCpuPerUserLimit", "QOSMaxMemoryPerUser", "QOSMaxEnergyPerUser", "QOSMaxNodePerUserLimit", "QOSMaxBillingPerUser", "QOSMaxGRESPerUser", "QOSMaxLicensePerUser", "QOSMaxBBPerUser", "QOSMaxUnknownPerUser",
	}},
	MaxTRESPerAccount - 1: {sideQOS: {
		"MaxCpuPerAccount", "MaxMemoryPerAccount", "MaxEnergyPerAccount", "MaxNodePerAccount", "MaxBillingPerAccount", "MaxGRESPerAccount", "MaxLicensePerAccount", "MaxBBPerAccount", "MaxUnknownPerAccount",
	}},
	MaxTRESRunMinsPerUser - 1: {sideQOS: {
		"MaxCpuRunMinsPerUser", "MaxMemoryRunMinsPerUser", "MaxEnergyRunMinsPerUser", "MaxNodeRunMinsPerUser", "MaxBillingRunMinsPerUser", "MaxGRESRunMinsPerUser", "MaxLicenseRunMinsPerUser", "MaxBBRunMinsPerUser", "MaxUnknownRunMinsPerUser",
	}},
	MaxTRESRunMinsPerAccount - 1: {sideQOS: {
		"MaxCpuRunMinsPerAccount", "MaxMemoryRunMinsPerAccount", "MaxEnergyRunMinsPerAccount", "MaxNodeRunMinsPerAccount", "MaxBillingRunMinsPerAccount", "MaxGRESRunMinsPerAccount", "MaxLicenseRunMinsPerAccount", "MaxBBRunMinsPerAccount", "MaxUnknownRunMinsPerAccount",
	}},
	MinTRESPerJob - 1: {sideQOS: {
		"QOSMinCpuNotSatisfied", "QOSMinMemory", "QOSMinEnergy", "QOSMinNode", "QOSMinBilling", "QOSMinGRES", "QOSMinLicense", "QOSMinBB", "QOSMinUnknown",
	}},
}

// plainReasons has the names of the limits without TRES by side.
var plainReasons = [numLimits - Limit(families) - 1][numSides]string{
	0:                                 {"AssocGrpJobsLimit", "QOSGrpJobsLimit"},
	GrpSubmitJobs - GrpJobs:           {"AssocGrpSubmitJobsLimit", "QOSGrpSubmitJobsLimit"},
	GrpWall - GrpJobs:                 {"AssocGrpWallLimit", "QOSGrpWallLimit"},
	MaxJobs - GrpJobs:                 {sideAssoc: "AssocMaxJobsLimit"},
	MaxSubmitJobs - GrpJobs:           {sideAssoc: "AssocMaxSubmitJobLimit"},
	MaxWall - GrpJobs:                 {"AssocMaxWallDurationPerJobLimit", "QOSMaxWallDurationPerJobLimit"},
	MaxJobsPerUser - GrpJobs:          {sideQOS: "QOSMaxJobsPerUserLimit"},
	MaxJobsPerAccount - GrpJobs:       {sideQOS: "MaxJobsPerAccount"},
	MaxSubmitJobsPerUser - GrpJobs:    {sideQOS: "QOSMaxSubmitJobPerUserLimit"},
	MaxSubmitJobsPerAccount - GrpJobs: {sideQOS: "MaxSubmitJobsPerAccount"},
	UsageThreshold - GrpJobs:          {sideQOS: "QOSUsageThreshold"},
}

// otherReasons are the reasons that belong to no limit; the first is none.
// Those of package cohort follow those of an invalid QOS or account.
var otherReasons = [...]string{"None", "InvalidQOS", "InvalidAccount"}

// Reasons that callers branch on.
const (
	None           Reason = iota
	InvalidQOS            // no such QOS, not allowed, or it requires a reservation
	InvalidAccount        // no association of that user in that account
	firstLimitReason
)

// numReasons bounds the numbers of reasons. Package cohort numbers its own from
// here on.
const numReasons = firstLimitReason + Reason(int(numLimits)*int(numSides)*int(numClasses))

// FirstForeign is the first number that no reason of this package has: other
// kinds of quota that speak in a [Verdict] number theirs from here.
const FirstForeign = numReasons

// reasonOf returns the number of the reason of limit m; c counts for TRES
// limits alone.
func reasonOf(m Limit, s side, c class) Reason {
	return firstLimitReason + (Reason(m)*Reason(numSides)+Reason(s))*Reason(numClasses) + Reason(c)
}

// String returns the name that Slurm prints, "None" for zero, and
// "Unknown" for a number that is no reason of this package.
func (r Reason) String() string {
	if int(r) < len(otherReasons) {
		return otherReasons[r]
	}
	if r < numReasons {
		i := int(r - firstLimitReason)
		c, s, m := i%int(numClasses), i/int(numClasses)%int(numSides), Limit(i/int(numClasses)/int(numSides))
		name := ""
		switch {
		case m.HasTRES():
			name = tresReasons[m.family()][s][c]
		case m >= GrpJobs && c == 0:
			name = plainReasons[m-GrpJobs][s]
		}
		if name != "" {
			return name
		}
	}
	return "Unknown"
}

// ParseReason returns the lowest reason of the given name.
func ParseReason(name string) (_ Reason, ok bool) {
	for r := range numReasons {
		if r.String() == name && name != "Unknown" {
			return r, true
		}
	}
	return None, false
}
