package qos

import "strings"

// Enforce is what of the accounting is enforced: a set of Enforce bits. The
// zero value enforces nothing; counters are kept all the same.
//
// Source: slurm.conf(5), AccountingStorageEnforce.
type Enforce uint16

// The bits of AccountingStorageEnforce.
const (
	EnforceAssocs  Enforce = 1 << iota // a job needs a valid association
	EnforceLimits                      // limits are checked
	EnforceQOS                         // a job needs a valid QOS
	EnforceSafe                        // a job starts only if it can end within the minute limits
	EnforceWCKeys                      // a job needs a valid wckey
	EnforceNoJobs                      // no accounting records of jobs
	EnforceNoSteps                     // no accounting records of steps
)

// enforceTokens lists each word with the bits that it implies.
var enforceTokens = [...]struct {
	name string
	bits Enforce
}{
	{"associations", EnforceAssocs},
	{"limits", EnforceAssocs | EnforceLimits},
	{"qos", EnforceAssocs | EnforceQOS},
	{"safe", EnforceAssocs | EnforceLimits | EnforceSafe},
	{"wckeys", EnforceAssocs | EnforceWCKeys},
	{"nojobs", EnforceNoJobs | EnforceNoSteps},
	{"nosteps", EnforceNoSteps},
	{"all", EnforceAssocs | EnforceLimits | EnforceQOS | EnforceSafe | EnforceWCKeys},
}

// ParseEnforce reads a comma list of the words of AccountingStorageEnforce in
// any case, with what each implies. "" and "none" are zero. Errors are
// *[ParseError].
func ParseEnforce(text string) (Enforce, error) {
	if text == "" || strings.EqualFold(text, "none") {
		return 0, nil
	}
	var e Enforce
	off := 0
next:
	for word := range strings.SplitSeq(text, ",") {
		for _, t := range enforceTokens {
			if strings.EqualFold(word, t.name) {
				e |= t.bits
				off += len(word) + 1
				continue next
			}
		}
		return 0, &ParseError{text, off, ErrUnknownName}
	}
	return e, nil
}
