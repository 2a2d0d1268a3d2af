package qos

import (
	"strconv"
	"time"

	"github.com/berth-sched/berth/gres"
)

// A Scope says what kind of object a limit belongs to or counts over.
type Scope uint8

// The scopes. ScopeCohort is for package cohort, whose quotas speak in the same
// [Verdict].
const (
	ScopeNone       Scope = iota
	ScopeAssoc            // an association: ID is an AssocID
	ScopeQOS              // a whole QOS: ID is a QOSID
	ScopeQOSUser          // one user in a QOS: ID is a QOSID, Of a UserID
	ScopeQOSAccount       // one account in a QOS: ID is a QOSID, Of an AccountID
	ScopeCohort           // a node of a quota tree: ID is its index, Of the flavour's
)

// An Object is the owner of a limit or a quota.
type Object struct {
	Scope Scope
	ID    int32 // see Scope
	Of    int32 // see Scope
}

// A Verdict says whether a job passes and, if not, which limit stops it and by
// how much. The zero Verdict is a pass. Numbers are in the unit of the limit
// ([Limit.Info]); minutes are rounded down for what is used and up for what is
// asked.
type Verdict struct {
	Reason Reason
	Phase  Phase
	Reject bool      // at submission: refuse the job instead of letting it wait
	Limit  Limit     // the catalogue's row; NoLimit for a reason without limit
	Kind   gres.Kind // the TRES slot, if the limit has slots
	Object Object    // whose limit, and over whom it counts
	Max    int64     // the limit, LimitFactor and percentages applied; the least for MinTRESPerJob
	Used   int64     // the counter before this job; 0 for limits of one job
	Asked  int64     // what this job adds
	Short  int64     // how much is missing for the job to pass; at least 1 if it does not
}

// OK reports whether the job passes.
func (v Verdict) OK() bool { return v.Reason == None }

// Texts that Slurm's commands print when a submission is refused.
const (
	TextPolicy     = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
	TextInvalidQOS = "Invalid qos specification"
	TextAccount    = "Invalid account or account/partition combination specified"
)

// AppendRejection appends what sbatch prints for v, a refusal at submission:
// for a limit the reason and the policy text on two lines, otherwise one line.
// It does not allocate if dst has room.
func (v Verdict) AppendRejection(dst []byte) []byte {
	text := TextPolicy
	switch v.Reason {
	case InvalidQOS:
		text = TextInvalidQOS
	case InvalidAccount:
		text = TextAccount
	default:
		dst = append(dst, "error: "...)
		dst = append(dst, v.Reason.String()...)
		dst = append(dst, '\n')
	}
	dst = append(dst, "error: Batch job submission failed: "...)
	return append(dst, text...)
}

// AppendVerdict appends v for people: "QOSMaxGRESPerUser: QOS gpu-normal, user
// ann: MaxTRESPerUser gres/gpu=16, used 14, asked 4, short by 2". It allocates
// only if dst has no room. v must come from a check of l.
func (l *Ledger) AppendVerdict(dst []byte, v Verdict) []byte {
	dst = append(dst, v.Reason.String()...)
	if v.OK() || v.Limit == NoLimit {
		return dst
	}
	dst = append(dst, ": "...)
	dst = l.appendObject(dst, v.Object)
	dst = append(dst, ": "...)
	dst = append(dst, v.Limit.String()...)
	dst = append(dst, ' ')
	if v.Limit.HasTRES() {
		dst = append(dst, l.schema.Name(v.Kind)...)
		dst = append(dst, '=')
	}
	unit := v.Limit.Info().Unit
	dst = appendNumber(dst, v.Max, unit)
	dst = append(dst, ", used "...)
	dst = appendNumber(dst, v.Used, unit)
	dst = append(dst, ", asked "...)
	dst = appendNumber(dst, v.Asked, unit)
	dst = append(dst, ", short by "...)
	return appendNumber(dst, v.Short, unit)
}

func appendNumber(dst []byte, n int64, u Unit) []byte {
	if n == gres.Unlimited || u == UnitWall && n >= int64(Unlimited/time.Minute) {
		return append(dst, "UNLIMITED"...)
	}
	if u == UnitWall && n >= 0 {
		return AppendTimeLimit(dst, time.Duration(n)*time.Minute)
	}
	if u == UnitMillions {
		return strconv.AppendFloat(dst, float64(n)/1e6, 'f', -1, 64)
	}
	return strconv.AppendInt(dst, n, 10)
}

func (l *Ledger) appendObject(dst []byte, o Object) []byte {
	switch o.Scope {
	case ScopeAssoc:
		return l.AppendAssoc(dst, AssocID(o.ID))
	case ScopeQOS, ScopeQOSUser, ScopeQOSAccount:
		dst = append(dst, "QOS "...)
		dst = append(dst, l.QOSName(QOSID(o.ID))...)
		switch o.Scope {
		case ScopeQOSUser:
			dst = append(dst, ", user "...)
			dst = append(dst, l.UserName(UserID(o.Of))...)
		case ScopeQOSAccount:
			dst = append(dst, ", account "...)
			dst = append(dst, l.AccountName(AccountID(o.Of))...)
		}
	}
	return dst
}
