package sbatch

import "strconv"

// A Severity says how bad a finding is.
type Severity uint8

// The severities.
const (
	// Info: worth knowing.
	Info Severity = iota
	// Warn: works against what the writer wants.
	Warn
	// Bad: Slurm refuses it, or nothing works.
	Bad
)

var severityNames = [...]string{"info", "warning", "error"}

// String returns "info", "warning" or "error".
func (s Severity) String() string { return severityNames[s] }

// A Finding is one trap in a configuration or a script.
type Finding struct {
	// Rule is the trap's code, such as "gpu-defmem".
	Rule     string
	Severity Severity
	// File and Line are the place; Line 0 if the trap is something missing
	// from the whole file.
	File string
	Line int
	// Text names the values in conflict and what to write instead.
	Text string
	// Cost says what happens if it stays.
	Cost string
}

// String returns "file:line: severity rule: text (cost)".
func (f Finding) String() string {
	s := f.File
	if f.Line > 0 {
		s += ":" + strconv.Itoa(f.Line)
	}
	return s + ": " + f.Severity.String() + " " + f.Rule + ": " + f.Text + " (" + f.Cost + ")"
}
