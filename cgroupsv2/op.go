package cgroupsv2

// An OpKind says what an operation does.
type OpKind uint8

// The operations.
const (
	// OpMkdir makes the directory, unless it is there.
	OpMkdir OpKind = iota
	// OpEnable gives Controllers to the children of Path.
	OpEnable
	// OpWrite writes Value to File of Path.
	OpWrite
	// OpFilter puts Filter on Path, in the place of the one before.
	OpFilter
	// OpMove moves the process PID into Path; one that is gone is no error.
	OpMove
	// OpRemove removes Path and what is below it.
	OpRemove
	// OpRemoveEmpty removes Path unless something is below or inside.
	OpRemoveEmpty
)

// A Verify says what is read back after a write.
type Verify uint8

// The checks.
const (
	VerifyNone Verify = iota
	// VerifyEffective compares with the file's .effective twin: the kernel
	// takes sets that the parent does not have and quietly uses the parent's.
	VerifyEffective
)

// An Op is one operation on a tree; Path is below its root, "." the root
// itself. Fields that a kind does not need are zero.
type Op struct {
	Kind        OpKind
	Path        string
	Controllers []string
	File, Value string
	Verify      Verify
	Filter      *Filter
	PID         int
}

// Append appends the operation as text, without a line end; a filter takes a
// line for each rule.
func (o *Op) Append(dst []byte) []byte {
	switch o.Kind {
	case OpMkdir:
		return append(append(dst, "mkdir "...), o.Path...)
	case OpEnable:
		dst = append(append(dst, "enable "...), o.Path...)
		for _, name := range o.Controllers {
			dst = append(append(dst, " +"...), name...)
		}
		return dst
	case OpWrite:
		dst = append(append(append(append(dst, "write "...), o.Path...), '/'), o.File...)
		dst = append(append(dst, ' '), o.Value...)
		if o.Verify == VerifyEffective {
			dst = append(dst, " (effective)"...)
		}
		return dst
	case OpFilter:
		dst = append(append(dst, "filter "...), o.Path...)
		for i := range o.Filter.Rules {
			dst = o.Filter.Rules[i].Append(append(dst, "\n  "...))
		}
		return append(verdict(append(dst, "\n  "...), o.Filter.Allow), " rest"...)
	case OpMove:
		dst = append(append(dst, "move "...), o.Path...)
		return appendNumber(append(dst, ' '), uint32(o.PID))
	case OpRemove:
		return append(append(dst, "remove "...), o.Path...)
	}
	return append(append(dst, "remove-empty "...), o.Path...)
}
