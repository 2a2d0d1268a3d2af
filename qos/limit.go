package qos

import "github.com/berth-sched/berth/gres"

// A Limit names a row of the catalogue of limits: what is counted, over whom,
// and when it is looked at.
type Limit uint8

// The limits. Those up to MinTRESPerJob have a slot per TRES kind, the others
// have one number. Where each may be set and when it is checked is in
// [Limit.Info].
const (
	NoLimit                  Limit = iota
	GrpTRES                        // in use by all below the owner
	GrpTRESMins                    // decayed history, TRES minutes
	GrpTRESRunMins                 // TRES minutes committed to running jobs
	MaxTRESPerJob                  // one job; of an association also called MaxTRES
	MaxTRESPerNode                 // one job, over its nodes
	MaxTRESMinsPerJob              // one job, times its time limit
	MaxTRESPerUser                 // in use by one user in the QOS
	MaxTRESPerAccount              // in use by one account in the QOS
	MaxTRESRunMinsPerUser          // committed, one user in the QOS
	MaxTRESRunMinsPerAccount       // committed, one account in the QOS
	MinTRESPerJob                  // one job must ask at least this
	GrpJobs                        // running jobs
	GrpSubmitJobs                  // submitted jobs, pending and running
	GrpJobsAccrue                  // pending jobs that earn age
	GrpWall                        // decayed wall minutes
	MaxJobs                        // running jobs of the association
	MaxSubmitJobs                  // submitted jobs of the association
	MaxJobsAccrue                  // of the association
	MaxWall                        // minutes, one job's time limit
	MaxJobsPerUser                 // running, one user in the QOS
	MaxJobsPerAccount              // running, one account in the QOS
	MaxSubmitJobsPerUser           // submitted, one user in the QOS
	MaxSubmitJobsPerAccount        // submitted, one account in the QOS
	MaxJobsAccruePerUser           // accruing, one user in the QOS
	MaxJobsAccruePerAccount        // accruing, one account in the QOS
	MinPrioThreshold               // job priority below which nothing is reserved
	UsageThreshold                 // fair-share factor, in millionths
	numLimits
)

// families is the number of limits with a slot per TRES kind.
const families = int(MinTRESPerJob)

// family returns the index of a TRES limit among the families.
func (m Limit) family() int { return int(m) - 1 }

// A Phase is a point of a job's life at which limits are looked at.
type Phase uint8

// The phases, in order. A set of them is the OR of 1<<phase.
const (
	AtSubmit    Phase = iota // submission and modification: spec letter A
	BeforeNodes              // before nodes are searched: B
	AfterNodes               // when the allocation is known: C
	WhileRuns                // while the job runs; the answer is to end it: K
	WhileWaits               // when a start in the future is planned
)

// String returns the name of p in lower case.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "phase?"
}

var phaseNames = [...]string{"submit", "before-nodes", "after-nodes", "while-runs", "while-waits"}

// A Place is where a limit may be set.
type Place uint8

// The places; Info.Where is the OR of those that apply.
const (
	OnLeaf  Place = 1 << iota // the job's own association; accounts hand it down
	OnGroup                   // the association and every ancestor
	OnQOS                     // job QOS and partition QOS
)

// A Unit is what the number of a limit counts.
type Unit uint8

// The units.
const (
	UnitAmount   Unit = iota // the TRES kind's own unit
	UnitMinutes              // that times minutes
	UnitJobs                 // jobs; array tasks count singly
	UnitWall                 // minutes of wall time
	UnitPriority             // priority points
	UnitMillions             // millionths of a factor
)

// Info is a row of the catalogue.
type Info struct {
	Name   string   // Slurm's option name, as [Limit.String] gives it
	Short  []string // other option names that mean the same
	Where  Place    // where it may be set
	Unit   Unit     // what its number counts
	Phases uint8    // OR of 1<<Phase
}

// HasTRES reports whether m has a slot per TRES kind.
func (m Limit) HasTRES() bool { return m >= GrpTRES && m <= MinTRESPerJob }

// Info returns the catalogue's row for m; the row is zero if m is no limit.
// Its Short slice must not be changed.
func (m Limit) Info() Info {
	if m >= numLimits {
		return Info{}
	}
	return catalogue[m]
}

// String returns Slurm's option name.
func (m Limit) String() string {
	if m >= numLimits || m == NoLimit {
		return "NoLimit"
	}
	return catalogue[m].Name
}

const (
	phA = 1 << AtSubmit
	phB = 1 << BeforeNodes
	phC = 1 << AfterNodes
	phK = 1 << WhileRuns
	phW = 1 << WhileWaits
)

// catalogue is spec/qos.md section 2 as a table.
var catalogue = [numLimits]Info{
	GrpTRES:                  {"GrpTRES", nil, OnLeaf | OnGroup | OnQOS, UnitAmount, phA | phC},
	GrpTRESMins:              {"GrpTRESMins", nil, OnLeaf | OnGroup | OnQOS, UnitMinutes, phA | phC | phK},
	GrpTRESRunMins:           {"GrpTRESRunMins", nil, OnLeaf | OnGroup | OnQOS, UnitMinutes, phA | phC},
	MaxTRESPerJob:            {"MaxTRES", []string{"MaxTRESPerJob", "MaxTRESPJ"}, OnLeaf | OnQOS, UnitAmount, phA | phC},
	MaxTRESPerNode:           {"MaxTRESPerNode", []string{"MaxTRESPN"}, OnLeaf | OnQOS, UnitAmount, phA | phC},
	MaxTRESMinsPerJob:        {"MaxTRESMins", []string{"MaxTRESMinsPerJob", "MaxTRESMinsPJ"}, OnLeaf | OnQOS, UnitMinutes, phA | phC | phK},
	MaxTRESPerUser:           {"MaxTRESPerUser", []string{"MaxTRESPU"}, OnQOS, UnitAmount, phA | phC},
	MaxTRESPerAccount:        {"MaxTRESPerAccount", []string{"MaxTRESPA"}, OnQOS, UnitAmount, phA | phC},
	MaxTRESRunMinsPerUser:    {"MaxTRESRunMinsPerUser", []string{"MaxTRESRunMinsPU"}, OnQOS, UnitMinutes, phA | phC},
	MaxTRESRunMinsPerAccount: {"MaxTRESRunMinsPerAccount", []string{"MaxTRESRunMinsPA"}, OnQOS, UnitMinutes, phA | phC},
	MinTRESPerJob:            {"MinTRES", []string{"MinTRESPerJob", "MinTRESPJ"}, OnQOS, UnitAmount, phA | phC},
	GrpJobs:                  {"GrpJobs", nil, OnLeaf | OnGroup | OnQOS, UnitJobs, phB},
	GrpSubmitJobs:            {"GrpSubmitJobs", []string{"GrpSubmit"}, OnLeaf | OnGroup | OnQOS, UnitJobs, phA},
	GrpJobsAccrue:            {"GrpJobsAccrue", nil, OnLeaf | OnGroup | OnQOS, UnitJobs, phW},
	GrpWall:                  {"GrpWall", nil, OnLeaf | OnGroup | OnQOS, UnitWall, phA | phB | phK},
	MaxJobs:                  {"MaxJobs", nil, OnLeaf, UnitJobs, phB},
	MaxSubmitJobs:            {"MaxSubmitJobs", []string{"MaxSubmit"}, OnLeaf, UnitJobs, phA},
	MaxJobsAccrue:            {"MaxJobsAccrue", nil, OnLeaf, UnitJobs, phW},
	MaxWall:                  {"MaxWall", []string{"MaxWallDurationPerJob"}, OnLeaf | OnQOS, UnitWall, phA | phB},
	MaxJobsPerUser:           {"MaxJobsPerUser", []string{"MaxJobsPU"}, OnQOS, UnitJobs, phB},
	MaxJobsPerAccount:        {"MaxJobsPerAccount", []string{"MaxJobsPA"}, OnQOS, UnitJobs, phB},
	MaxSubmitJobsPerUser:     {"MaxSubmitJobsPerUser", []string{"MaxSubmitJobsPU", "MaxSubmitPU"}, OnQOS, UnitJobs, phA},
	MaxSubmitJobsPerAccount:  {"MaxSubmitJobsPerAccount", []string{"MaxSubmitJobsPA", "MaxSubmitPA"}, OnQOS, UnitJobs, phA},
	MaxJobsAccruePerUser:     {"MaxJobsAccruePerUser", []string{"MaxJobsAccruePU"}, OnQOS, UnitJobs, phW},
	MaxJobsAccruePerAccount:  {"MaxJobsAccruePerAccount", []string{"MaxJobsAccruePA"}, OnQOS, UnitJobs, phW},
	MinPrioThreshold:         {"MinPrioThreshold", nil, OnLeaf | OnGroup | OnQOS, UnitPriority, phW},
	UsageThreshold:           {"UsageThreshold", nil, OnQOS, UnitMillions, phB},
}

// A family is one TRES limit with its set slots. Slots that are not set hold
// gres.Unlimited.
type family struct {
	mask []uint64 // bit k: slot k is set
	val  gres.Vector
}

// limits is what is set on one owner. A zero limits sets nothing.
type limits struct {
	fam    [families]*family // nil: no slot set
	num    [numLimits]int64  // numbers of the limits without TRES
	set    uint32            // bit m: number m is set
	famSet uint32            // bit f: fam[f] is not nil
}

func (s *limits) has(m Limit) bool { return s.set>>m&1 != 0 }

// groupOnly are the limits that an association does not hand down.
const groupOnly = 1<<GrpTRES | 1<<GrpTRESMins | 1<<GrpTRESRunMins | 1<<GrpJobs | 1<<GrpSubmitJobs |
	1<<GrpJobsAccrue | 1<<GrpWall

// setVector stores v, Unlimited meaning not set, as the slots of TRES limit m.
func (s *limits) setVector(m Limit, v gres.Vector) {
	f := m.family()
	fam := &family{mask: make([]uint64, (len(v)+63)/64), val: append(gres.Vector(nil), v...)}
	some := false
	for k, a := range v {
		if a != gres.Unlimited {
			fam.mask[k>>6] |= 1 << (k & 63)
			some = true
		}
	}
	s.fam[f], s.famSet = fam, s.famSet|1<<f
	if !some {
		s.fam[f], s.famSet = nil, s.famSet&^(1<<f)
	}
}

// setNumber stores n; Unlimited clears the limit.
func (s *limits) setNumber(m Limit, n int64) {
	s.num[m], s.set = n, s.set|1<<m
	if n == gres.Unlimited {
		s.num[m], s.set = 0, s.set&^(1<<m)
	}
}

func (s *limits) empty() bool { return s.set == 0 && s.famSet == 0 }

// slot returns the value of slot k of TRES limit m; ok is false if it is not set.
func (s *limits) slot(m Limit, k gres.Kind) (int64, bool) {
	f := s.fam[m.family()]
	if f == nil || f.mask[k>>6]>>(k&63)&1 == 0 {
		return gres.Unlimited, false
	}
	return f.val[k], true
}
