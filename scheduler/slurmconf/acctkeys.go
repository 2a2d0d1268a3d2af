package slurmconf

import (
	"fmt"
	"slices"
	"strings"
)

// A valueKind is what the value of a sacctmgr key must be.
type valueKind uint8

const (
	kindText valueKind = iota
	kindList
	kindTRES
	kindCount   // a number, or -1 to clear
	kindShares  // a number or parent
	kindMinutes // a time limit
	kindSeconds // a plain number of seconds, or a time
	kindFloat
	kindQOSFlags
	kindMode
	kindAdmin
)

// qosFlags are the words of a QOS's Flags that have a meaning today.
var qosFlags = []string{"DenyOnLimit", "EnforceUsageThreshold", "NoReserve", "NoDecay", "OverPartQOS", "PartitionMaxNodes",
	"PartitionMinNodes", "PartitionTimeLimit", "Relative", "RequiresReservation", "UsageFactorSafe"}

// check reports a value that no configuration can hold. TRES names are checked
// later: which exist depends on slurm.conf.
func (k valueKind) check(v string) error {
	if v == "" || v == "-1" && k != kindMode && k != kindAdmin {
		return nil
	}
	var err error
	switch k {
	case kindTRES:
		for f := range strings.SplitSeq(v, ",") {
			if n, _, ok := strings.Cut(f, "="); !ok || n == "" {
				return valueErr("a list of tres=count is wanted")
			}
		}
	case kindCount:
		_, err = parseCount(0, 1<<32-1, false)(v)
	case kindShares:
		if !strings.EqualFold(v, "parent") {
			_, err = parseCount(0, 1<<31-1, false)(v)
		}
	case kindMinutes:
		_, err = parseMinutes(v)
	case kindSeconds:
		_, err = parseDuration60(v)
	case kindFloat:
		_, err = parseFloat(v)
	case kindQOSFlags:
		for _, f := range splitList(v) {
			if !hasFold(qosFlags, f) {
				return valueErr("no such QOS flag: %q", f)
			}
		}
	case kindMode:
		_, err = parsePreemptMode(v)
	case kindAdmin:
		_, err = parseWord("none", "notset", "operator", "admin", "administrator")(v)
	}
	return err
}

func splitList(s string) []string {
	list, _ := parseList(s)
	return list
}

// An acctKey is a key of sacctmgr.
type acctKey struct {
	name string // sacctmgr's full name
	kind valueKind
	tres string // for the older keys: the resource that the number counts
}

// limitKeys are the limits that associations and QOS share.
var limitKeys = []acctKey{
	{"GrpTRES", kindTRES, ""}, {"GrpTRESMins", kindTRES, ""}, {"GrpTRESRunMins", kindTRES, ""},
	{"GrpJobs", kindCount, ""}, {"GrpJobsAccrue", kindCount, ""}, {"GrpSubmitJobs", kindCount, ""}, {"GrpWall", kindMinutes, ""},
	{"MinPrioThreshold", kindCount, ""}, {"RawUsage", kindCount, ""}, {"Priority", kindCount, ""},
	{"Description", kindText, ""}, {"Name", kindList, ""}, {"NewName", kindText, ""}, {"Cluster", kindList, ""}, {"Comment", kindText, ""},
}

var assocKeys = append(slices.Clone(limitKeys),
	acctKey{"Fairshare", kindShares, ""}, acctKey{"Parent", kindText, ""}, acctKey{"Organization", kindText, ""},
	acctKey{"MaxTRES", kindTRES, ""}, acctKey{"MaxTRESPerNode", kindTRES, ""}, acctKey{"MaxTRESMins", kindTRES, ""},
	acctKey{"MaxTRESRunMins", kindTRES, ""}, acctKey{"MaxJobs", kindCount, ""}, acctKey{"MaxJobsAccrue", kindCount, ""},
	acctKey{"MaxSubmitJobs", kindCount, ""}, acctKey{"MaxWall", kindMinutes, ""}, acctKey{"QOS", kindList, ""},
	acctKey{"DefaultQOS", kindText, ""}, acctKey{"Account", kindList, ""}, acctKey{"User", kindList, ""}, acctKey{"Partition", kindList, ""},
	acctKey{"DefaultAccount", kindText, ""}, acctKey{"AdminLevel", kindAdmin, ""}, acctKey{"DefaultWCKey", kindText, ""},
	acctKey{"WCKeys", kindList, ""}, acctKey{"Coordinator", kindList, ""}, acctKey{"Flags", kindList, ""}, acctKey{"Classification", kindText, ""},
)

var qosKeys = append(slices.Clone(limitKeys),
	acctKey{"Flags", kindQOSFlags, ""}, acctKey{"GraceTime", kindSeconds, ""}, acctKey{"Preempt", kindList, ""},
	acctKey{"PreemptMode", kindMode, ""}, acctKey{"PreemptExemptTime", kindMinutes, ""}, acctKey{"UsageFactor", kindFloat, ""},
	acctKey{"UsageThreshold", kindFloat, ""}, acctKey{"LimitFactor", kindFloat, ""},
	acctKey{"MaxTRESPerJob", kindTRES, ""}, acctKey{"MaxTRESPerNode", kindTRES, ""}, acctKey{"MaxTRESPerUser", kindTRES, ""},
	acctKey{"MaxTRESPerAccount", kindTRES, ""}, acctKey{"MaxTRESMinsPerJob", kindTRES, ""}, acctKey{"MaxTRESRunMinsPerUser", kindTRES, ""},
	acctKey{"MaxTRESRunMinsPerAccount", kindTRES, ""}, acctKey{"MinTRESPerJob", kindTRES, ""}, acctKey{"MaxWall", kindMinutes, ""},
	acctKey{"MaxJobsPerUser", kindCount, ""}, acctKey{"MaxJobsPerAccount", kindCount, ""}, acctKey{"MaxJobsAccruePerUser", kindCount, ""},
	acctKey{"MaxJobsAccruePerAccount", kindCount, ""}, acctKey{"MaxSubmitJobsPerUser", kindCount, ""}, acctKey{"MaxSubmitJobsPerAccount", kindCount, ""},
)

// An alias is another spelling of a key.
type alias struct{ spelling, name, tres string }

var assocAliases = []alias{
	{"Shares", "Fairshare", ""}, {"FS", "Fairshare", ""}, {"QOSLevel", "QOS", ""}, {"MaxTRESPerJob", "MaxTRES", ""}, {"MaxTRESPJ", "MaxTRES", ""},
	{"MaxTRESPN", "MaxTRESPerNode", ""}, {"MaxTRESMinsPerJob", "MaxTRESMins", ""}, {"MaxTRESMinsPJ", "MaxTRESMins", ""},
	{"MaxWallDurationPerJob", "MaxWall", ""}, {"GrpSubmit", "GrpSubmitJobs", ""}, {"MaxSubmit", "MaxSubmitJobs", ""},
	{"MaxCPUs", "MaxTRES", "cpu"}, {"MaxNodes", "MaxTRES", "node"}, {"MaxCPUMins", "MaxTRESMins", "cpu"},
	{"Names", "Name", ""}, {"Accounts", "Account", ""}, {"Acct", "Account", ""}, {"Users", "User", ""}, {"Partitions", "Partition", ""},
	{"Clusters", "Cluster", ""}, {"DefaultAcct", "DefaultAccount", ""}, {"Admin", "AdminLevel", ""}, {"Desc", "Description", ""}, {"Org", "Organization", ""},
}

var qosAliases = []alias{
	{"MaxTRES", "MaxTRESPerJob", ""}, {"MaxTRESPJ", "MaxTRESPerJob", ""}, {"MaxTRESPN", "MaxTRESPerNode", ""}, {"MaxTRESPU", "MaxTRESPerUser", ""},
	{"MaxTRESPA", "MaxTRESPerAccount", ""}, {"MaxTRESMins", "MaxTRESMinsPerJob", ""}, {"MaxTRESMinsPJ", "MaxTRESMinsPerJob", ""},
	{"MaxTRESRunMinsPU", "MaxTRESRunMinsPerUser", ""}, {"MaxTRESRunMinsPA", "MaxTRESRunMinsPerAccount", ""},
	{"MinTRES", "MinTRESPerJob", ""}, {"MinTRESPJ", "MinTRESPerJob", ""}, {"MaxJobs", "MaxJobsPerUser", ""}, {"MaxJobsPU", "MaxJobsPerUser", ""},
	{"MaxJobsPA", "MaxJobsPerAccount", ""}, {"MaxJobsAccruePU", "MaxJobsAccruePerUser", ""}, {"MaxJobsAccruePA", "MaxJobsAccruePerAccount", ""},
	{"MaxSubmitJobs", "MaxSubmitJobsPerUser", ""}, {"MaxSubmitJobsPU", "MaxSubmitJobsPerUser", ""}, {"MaxSubmitPU", "MaxSubmitJobsPerUser", ""},
	{"MaxSubmitJobsPA", "MaxSubmitJobsPerAccount", ""}, {"MaxSubmitPA", "MaxSubmitJobsPerAccount", ""}, {"GrpSubmit", "GrpSubmitJobs", ""},
	{"MaxWallDurationPerJob", "MaxWall", ""}, {"UsageThres", "UsageThreshold", ""}, {"Names", "Name", ""},
	{"MaxCPUs", "MaxTRESPerJob", "cpu"}, {"MaxCPUsPerJob", "MaxTRESPerJob", "cpu"}, {"MaxNodes", "MaxTRESPerJob", "node"},
	{"MaxNodesPerJob", "MaxTRESPerJob", "node"}, {"MaxCPUsPerUser", "MaxTRESPerUser", "cpu"}, {"MaxNodesPerUser", "MaxTRESPerUser", "node"},
	{"MaxCPUMins", "MaxTRESMinsPerJob", "cpu"}, {"MinCPUs", "MinTRESPerJob", "cpu"}, {"MinNodes", "MinTRESPerJob", "node"},
	{"Desc", "Description", ""},
}

var grpAliases = []alias{
	{"GrpCPUs", "GrpTRES", "cpu"}, {"GrpNodes", "GrpTRES", "node"}, {"GrpMem", "GrpTRES", "mem"},
	{"GrpCPUMins", "GrpTRESMins", "cpu"}, {"GrpCPURunMins", "GrpTRESRunMins", "cpu"},
}

// lookupKey finds a key by its name, an alias, or a beginning of its name of at
// least three letters that no other key shares, in any case.
func lookupKey(e Entity, spelling string) (acctKey, error) {
	keys, aliases := assocKeys, assocAliases
	if e == QOSEntity {
		keys, aliases = qosKeys, qosAliases
	}
	byName := func(name string) (acctKey, bool) {
		i := slices.IndexFunc(keys, func(k acctKey) bool { return strings.EqualFold(k.name, name) })
		if i < 0 {
			return acctKey{}, false
		}
		return keys[i], true
	}
	k, ok := byName(spelling)
	if !ok {
		for _, list := range [][]alias{aliases, grpAliases} {
			for _, a := range list {
				if strings.EqualFold(a.spelling, spelling) {
					k, ok = byName(a.name)
					k.tres = a.tres
				}
			}
		}
	}
	// The entity's own word names it: account=x of an account, user=x of a user.
	named := func(k acctKey) acctKey {
		if e == AccountEntity && k.name == "Account" || e == UserEntity && k.name == "User" || e == ClusterEntity && k.name == "Cluster" {
			k, _ = byName("Name")
		}
		return k
	}
	if ok {
		return named(k), nil
	}
	found := 0
	if len(spelling) >= 3 {
		for _, c := range keys {
			if len(c.name) > len(spelling) && strings.EqualFold(c.name[:len(spelling)], spelling) {
				k = c
				found++
			}
		}
	}
	if found == 1 {
		return named(k), nil
	}
	return acctKey{}, fmt.Errorf("%w: no such key of a %s: %q", ErrSyntax, e, spelling)
}
