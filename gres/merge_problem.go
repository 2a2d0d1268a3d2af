package gres

import "strconv"

// A MergeKind says what is wrong between slurm.conf, gres.conf and the
// devices of a node.
type MergeKind uint8

// The kinds. Those up to EnvConflict stop Slurm's node daemon; those from
// CountLow drain the node; the others are warnings.
const (
	MergeOK          MergeKind = iota
	MultipleFewFiles           // MultipleFiles with fewer than two files
	CountNotFiles              // Count differs from the number of files
	MixedFiles                 // some lines of a name have files
	MixedTypes                 // some entries of a name have types
	DuplicateLine              // two lines of a name without file and type
	DuplicateFile              // a file in two lines of a name
	SharedMixed                // shared lines with and without files, or two without
	DetectTwice                // two AutoDetect values for one node
	EnvConflict                // environment flags that differ
	TooManyFiles               // more than 1024 devices in a line
	BadLinks                   // Links dropped
	Surplus                    // more devices than configured; the last are ignored
	UnknownDevice              // a detected device that nothing configures
	DetectConflict             // configured and detected cores or links differ; both dropped
	NoFile                     // a GPU without file, dropped
	SharedNoGPU                // a shared line for a file that is no GPU
	CountLow                   // drain: fewer than configured
	TypeLow                    // drain: fewer of a type than configured
	SocketBoundary             // drain: cores are not whole sockets
	CountChanged               // drain: count changed while in use
)

// A MergeProblem is one finding of the configuration merge.
type MergeProblem struct {
	Kind       MergeKind
	Name, Type string
	Have, Want int64
	// Node and Cores belong to SocketBoundary: the cores of the device and of
	// the socket Have.
	Node, Cores, SocketCores string
}

// Fatal reports whether Slurm's node daemon does not start with it.
func (p *MergeProblem) Fatal() bool { return p.Kind > MergeOK && p.Kind <= EnvConflict }

// Drains reports whether the controller drains the node.
func (p *MergeProblem) Drains() bool { return p.Kind >= CountLow }

var mergeTexts = [...]string{
	MergeOK: "no problem", MultipleFewFiles: "MultipleFiles needs two files or more",
	CountNotFiles: "count differs from the number of files", MixedFiles: "some lines have files and some not",
	MixedTypes: "some entries have types and some not", DuplicateLine: "duplicate line",
	DuplicateFile: "file in two lines", SharedMixed: "shared lines mix styles", DetectTwice: "two values for one node", EnvConflict: "environment flags conflict",
	TooManyFiles: "too many devices in a line", BadLinks: "bad links dropped", Surplus: "more found than configured",
	UnknownDevice: "detected device is not configured", DetectConflict: "configuration differs from the device",
	NoFile: "gpu without file dropped", SharedNoGPU: "shared line for a file that is no gpu",
}

// Error returns the finding as one line.
func (p *MergeProblem) Error() string {
	if p.Drains() {
		return "gres: merge configuration: " + p.Reason()
	}
	name := p.Name
	if p.Type != "" {
		name += ":" + p.Type
	}
	s := "gres: merge configuration: " + name + ": " + mergeTexts[p.Kind]
	if p.Have != 0 || p.Want != 0 {
		s += " (" + strconv.FormatInt(p.Have, 10) + ", want " + strconv.FormatInt(p.Want, 10) + ")"
	}
	return s
}

// Reason returns the drain reason that Slurm shows for the node, "" if the
// problem does not drain it.
//
// Source: spec/gres.md 5.
func (p *MergeProblem) Reason() string {
	nums := " (" + strconv.FormatInt(p.Have, 10) + " < " + strconv.FormatInt(p.Want, 10) + ")"
	switch p.Kind {
	case CountLow:
		return "gres/" + p.Name + " count reported lower than configured" + nums
	case TypeLow:
		return "gres/" + p.Name + ":" + p.Type + " count too low" + nums
	case SocketBoundary:
		return "gres/" + p.Name + " GRES core specification " + p.Cores + " for node " + p.Node +
			" doesn't match socket boundaries. (Socket " + strconv.FormatInt(p.Have, 10) + " is cores " + p.SocketCores + ")"
	case CountChanged:
		return "gres/" + p.Name + " count changed and jobs are using them"
	}
	return ""
}
