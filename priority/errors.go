package priority

import "strconv"

// A ParseError says which part of a list of weights could not be read.
// [ParseWeights] and [ParseBilling] return it. It unwraps to its cause:
// gres.ErrSyntax, gres.ErrUnknownKind or gres.ErrRange.
type ParseError struct {
	Text   string // the whole input
	Offset int    // byte offset of the first bad byte, 0 <= Offset <= len(Text)
	Err    error
}

// Error returns the input, the offset and the cause on one line.
func (e *ParseError) Error() string {
	return "priority: parse " + strconv.Quote(e.Text) + " at " + strconv.Itoa(e.Offset) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }
