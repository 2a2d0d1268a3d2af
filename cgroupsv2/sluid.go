package cgroupsv2

import "strconv"

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// A SLUID is Slurm's 64-bit name of one run of a job: 12 bits of cluster id,
// 42 bits of milliseconds, 10 bits of sequence. A requeued job gets a new one,
// so its directories never meet those of its previous run.
//
// Source: specification cgroupsv2.md 2; Slurm 26.05.
type SLUID uint64

// NewSLUID joins the parts; each is cut to its bits.
func NewSLUID(cluster uint16, milliseconds uint64, sequence uint16) SLUID {
	return SLUID(uint64(cluster&0xfff)<<52 | milliseconds&(1<<42-1)<<10 | uint64(sequence&0x3ff))
}

// Append appends the text: s and 13 digits of Crockford's base 32. The order
// of texts is the order of numbers.
func (s SLUID) Append(dst []byte) []byte {
	dst = append(dst, 's')
	for shift := 60; shift >= 0; shift -= 5 {
		dst = append(dst, crockford[s>>shift&31])
	}
	return dst
}

// String returns the text of [SLUID.Append].
func (s SLUID) String() string { return string(s.Append(nil)) }

// ParseSLUID reads the text of a SLUID; only what Append writes is taken.
func ParseSLUID(text string) (SLUID, error) {
	fail := func(at int) (SLUID, error) {
		return 0, &ParseError{What: "SLUID", Text: text, Offset: at, Err: ErrSyntax}
	}
	if len(text) != 14 || text[0] != 's' {
		return fail(0)
	}
	var n uint64
	for i := 1; i < len(text); i++ {
		d := digit(text[i])
		if d < 0 || i == 1 && d > 15 {
			return fail(i)
		}
		n = n<<5 | uint64(d)
	}
	return SLUID(n), nil
}

func digit(c byte) int {
	for i := range len(crockford) {
		if crockford[i] == c {
			return i
		}
	}
	return -1
}

// A StepID names a step: 0, 1, …, or one of the constants.
type StepID int32

// The steps without a number, with the numbers of SLURM_STEP_ID where Slurm
// has such a number.
const (
	StepExtern      StepID = -4
	StepBatch       StepID = -5
	StepInteractive StepID = -6
)

// Append appends the step's directory name: step_0, step_batch, ….
func (s StepID) Append(dst []byte) []byte {
	dst = append(dst, "step_"...)
	switch s {
	case StepExtern:
		return append(dst, "extern"...)
	case StepBatch:
		return append(dst, "batch"...)
	case StepInteractive:
		return append(dst, "interactive"...)
	}
	return strconv.AppendInt(dst, int64(s), 10)
}

// String returns the step's directory name.
func (s StepID) String() string { return string(s.Append(nil)) }

// ParseStepName reads a step's directory name; other names give [ErrName].
func ParseStepName(name string) (StepID, error) {
	for _, s := range [...]StepID{StepExtern, StepBatch, StepInteractive} {
		if name == s.String() {
			return s, nil
		}
	}
	n, err := strconv.ParseInt(cut(name, "step_"), 10, 32)
	if id := StepID(n); err == nil && n >= 0 && id.String() == name {
		return id, nil
	}
	return 0, ErrName
}

// JobName is what the name of a job's directory says: one of the two is set.
type JobName struct {
	SLUID SLUID
	ID    uint64 // CgroupJobIdPaths=yes and releases up to 25.11
}

// ParseJobName reads a job's directory name: a SLUID or job_N. Other names
// give [ErrName].
func ParseJobName(name string) (JobName, error) {
	if s, err := ParseSLUID(name); err == nil {
		return JobName{SLUID: s}, nil
	}
	n, err := strconv.ParseUint(cut(name, "job_"), 10, 64)
	if err == nil && "job_"+strconv.FormatUint(n, 10) == name {
		return JobName{ID: n}, nil
	}
	return JobName{}, ErrName
}

// cut returns what follows prefix, or nothing.
func cut(s, prefix string) string {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return ""
}
