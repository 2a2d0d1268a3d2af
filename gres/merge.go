package gres

import (
	"slices"
	"strings"
)

// A ConfGRES is one entry of a node's Gres line in slurm.conf.
type ConfGRES struct {
	Name, Type string
	Count      int64
	NoConsume  bool
}

// ParseNodeGRES reads the Gres value of a NodeName line:
// name[:type][:no_consume][:count[suffix]],…. Entries of one name and type
// add up. Errors are *[ParseError]; typed and untyped entries of one name are
// a *[MergeProblem].
//
// Source: spec/gres.md 2.
func ParseNodeGRES(text string) ([]ConfGRES, error) {
	var out []ConfGRES
	for off := 0; off < len(text); {
		item, _, _ := strings.Cut(text[off:], ",")
		e, err := parseConfGRES(item)
		if err != nil {
			return nil, &ParseError{text, off + len(item), err}
		}
		off += len(item) + 1
		if e.Name == "" {
			continue
		}
		k := slices.IndexFunc(out, func(o ConfGRES) bool { return o.Name == e.Name && o.Type == e.Type })
		if k >= 0 {
			out[k].Count = SatAdd(out[k].Count, e.Count)
			out[k].NoConsume = out[k].NoConsume || e.NoConsume
			continue
		}
		if slices.ContainsFunc(out, func(o ConfGRES) bool { return o.Name == e.Name }) &&
			slices.ContainsFunc(append(out, e), func(o ConfGRES) bool { return o.Name == e.Name && o.Type == "" }) {
			return nil, &MergeProblem{Kind: MixedTypes, Name: e.Name}
		}
		out = append(out, e)
	}
	return out, nil
}

func parseConfGRES(item string) (ConfGRES, error) {
	parts := strings.Split(item, ":")
	e := ConfGRES{Name: parts[0], Count: 1}
	parts = parts[1:]
	if n := len(parts); n > 0 {
		if k, err := ParseCount(parts[n-1]); err == nil {
			e.Count = k
			parts = parts[:n-1]
		}
	}
	for _, p := range parts {
		switch {
		case strings.EqualFold(p, "no_consume"):
			e.NoConsume = true
		case e.Type == "" && p != "":
			e.Type = p
		default:
			return e, ErrSyntax
		}
	}
	return e, nil
}

// RecordFlags are the Flags of a gres.conf line.
type RecordFlags uint16

const (
	RecordCountOnly RecordFlags = 1 << iota
	RecordExplicit
	RecordOneSharing
	RecordAllSharing
	RecordEnvUUID
	RecordEnvNVIDIA
	RecordEnvAMD
	RecordEnvIntel
	RecordEnvOpenCL
	RecordEnvNone
)

// recordEnv are the flags that say which variables a device sets.
const recordEnv = RecordEnvNVIDIA | RecordEnvAMD | RecordEnvIntel | RecordEnvOpenCL

// ParseRecordFlags reads a Flags value; words count wherever they stand, as in
// Slurm. RecordEnvNone together with another env flag is an error.
func ParseRecordFlags(text string) (RecordFlags, error) {
	low := strings.ToLower(text)
	var f RecordFlags
	for _, w := range [...]struct {
		word string
		flag RecordFlags
	}{
		{"countonly", RecordCountOnly}, {"explicit", RecordExplicit},
		{"one_sharing", RecordOneSharing}, {"all_sharing", RecordAllSharing}, {"env_uuid", RecordEnvUUID},
		{"nvidia_gpu_env", RecordEnvNVIDIA}, {"amd_gpu_env", RecordEnvAMD}, {"intel_gpu_env", RecordEnvIntel},
		{"opencl_env", RecordEnvOpenCL}, {"no_gpu_env", RecordEnvNone},
	} {
		if strings.Contains(low, w.word) {
			f |= w.flag
		}
	}
	if f&RecordEnvNone != 0 && f&recordEnv != 0 {
		return 0, &MergeProblem{Kind: EnvConflict, Name: text}
	}
	return f, nil
}

// A Record is one gres.conf line, and after [MergeNode] one device, or a count
// without files.
type Record struct {
	Name, Type string
	Count      int64 // 0: not given
	Files      []string
	// Multiple says that all files belong to one device (MultipleFiles).
	Multiple bool
	// Cores near the device, bit = core index; nil is none given.
	Cores []uint64
	Links []int32
	Flags RecordFlags
	// Detected says that the driver reported it; UUID is the driver's.
	Detected bool
	UUID     string
}

// shared reports whether name is one that shares GPUs.
func sharedName(name string) bool { return name == "shard" || name == "mps" }

// maxRecordFiles bounds the devices of one line.
const maxRecordFiles = 1024

// CheckRecords tests the gres.conf lines of one node against each other and
// fills in what a line leaves out: the count, inherited env flags. It returns
// changed copies and all problems in line order; those with Fatal set stop
// Slurm's node daemon.
//
// Source: spec/gres.md 3.
func CheckRecords(lines []Record) ([]Record, []MergeProblem) {
	out := slices.Clone(lines)
	var probs []MergeProblem
	add := func(k MergeKind, r *Record, have, want int64) {
		probs = append(probs, MergeProblem{Kind: k, Name: r.Name, Type: r.Type, Have: have, Want: want})
	}
	for i := range out {
		r := &out[i]
		n := int64(len(r.Files))
		switch {
		case r.Multiple && n < 2:
			add(MultipleFewFiles, r, n, 2)
		case r.Multiple:
			r.Count = 1
		case r.Count == 0:
			r.Count = max(n, 1)
		case n > 0 && r.Count > maxRecordFiles && !sharedName(r.Name):
			add(TooManyFiles, r, r.Count, maxRecordFiles)
			r.Count = maxRecordFiles
		case n > 0 && r.Count != n && !sharedName(r.Name):
			add(CountNotFiles, r, r.Count, n)
		}
		if r.Links != nil && !validLinks(r.Links) {
			add(BadLinks, r, 0, 0)
			r.Links = nil
		}
		for j := range out[:i] {
			checkPair(&out[j], r, add)
		}
		inheritEnv(out[:i], r, add)
	}
	return out, probs
}

// checkPair tests two lines of one name.
func checkPair(a, b *Record, add func(MergeKind, *Record, int64, int64)) {
	if a.Name != b.Name {
		return
	}
	switch files := len(a.Files) > 0; {
	case sharedName(a.Name) && (files != (len(b.Files) > 0) || !files):
		add(SharedMixed, b, 0, 0)
	case files != (len(b.Files) > 0):
		add(MixedFiles, b, 0, 0)
	case (a.Type != "") != (b.Type != ""):
		add(MixedTypes, b, 0, 0)
	case !files && a.Type == "":
		add(DuplicateLine, b, 0, 0)
	}
	for _, f := range b.Files {
		if slices.Contains(a.Files, f) {
			add(DuplicateFile, b, 0, 0)
			return
		}
	}
}

// inheritEnv gives r the env flags of the line of its name before it.
func inheritEnv(before []Record, r *Record, add func(MergeKind, *Record, int64, int64)) {
	const env = recordEnv | RecordEnvNone
	for i := len(before) - 1; i >= 0; i-- {
		p := &before[i]
		if p.Name != r.Name {
			continue
		}
		switch {
		case r.Flags&env == 0:
			r.Flags |= p.Flags & env
		case p.Flags&env != 0 && p.Flags&env != r.Flags&env:
			add(EnvConflict, r, 0, 0)
		}
		return
	}
}

// validLinks reports whether l has one −1 and otherwise values from −2 to
// 1023.
func validLinks(l []int32) bool {
	own := 0
	for _, x := range l {
		if x == -1 {
			own++
		}
		if x < -2 || x > 1023 {
			return false
		}
	}
	return own == 1
}

// SpreadFlags returns by name the flags that hold for a name on the whole
// cluster, given the records that the nodes report: Explicit and CountOnly of
// any node, OneSharing if no node that reports the name lacks it; mps has it
// unless AllSharing is set.
//
// Source: spec/gres.md 3.
func SpreadFlags(nodes ...[]Record) map[string]RecordFlags {
	out, not := map[string]RecordFlags{}, map[string]bool{}
	for _, recs := range nodes {
		for i := range recs {
			r := &recs[i]
			f := r.Flags & (RecordExplicit | RecordCountOnly | RecordOneSharing)
			if r.Name == "mps" && r.Flags&RecordAllSharing == 0 {
				f |= RecordOneSharing
			}
			not[r.Name] = not[r.Name] || f&RecordOneSharing == 0
			if out[r.Name] |= f; not[r.Name] {
				out[r.Name] &^= RecordOneSharing
			}
		}
	}
	return out
}
