package gres

import (
	"errors"
	"strconv"
	"strings"
)

// Per is what an [Ask] counts over.
type Per uint8

const (
	PerJob    Per = iota // --gpus
	PerNode              // --gres, --gpus-per-node
	PerSocket            // --gpus-per-socket
	PerTask              // --gpus-per-task, --tres-per-task
)

// An Ask is one device request as a user writes it: names, not numbers.
type Ask struct {
	Per   Per
	Name  string // gpu, shard, nic, …
	Type  string // "" for any
	Count int64
	// Option is the option it came by: "gres", "gpus", "gpus-per-node",
	// "gpus-per-socket", "gpus-per-task" or "tres-per-task".
	Option string
}

// ErrTRES is the cause in a *[ParseError] for text that Slurm refuses as
// "Invalid Trackable RESource (TRES) specification".
var ErrTRES = errors.New("no count after colon")

// ParseAsks appends to dst the devices of a --gres list:
// name[[:type]:count[suffix]],…. What is not a count is a type, so bad numbers
// become types that no node has. Entries with count 0 and "none" add nothing;
// of entries with one name and type the last wins. Errors are *[ParseError].
//
// Source: spec/gres.md 7.1.
func ParseAsks(dst []Ask, per Per, option, text string) ([]Ask, error) {
	return parseAsks(dst, per, option, "", text)
}

// ParseGPUs appends to dst the GPUs of --gpus and its kin: [type:]count,….
func ParseGPUs(dst []Ask, per Per, option, text string) ([]Ask, error) {
	return parseAsks(dst, per, option, "gpu", text)
}

func parseAsks(dst []Ask, per Per, option, name, text string) ([]Ask, error) {
	n := len(dst)
	for off := 0; off < len(text); {
		item, _, _ := strings.Cut(text[off:], ",")
		if item != "none" || name != "" {
			a, err := parseAsk(name, item)
			if err != nil {
				return dst[:n], &ParseError{text, off + len(item), err}
			}
			a.Per, a.Option = per, option
			dst = addAsk(dst, n, a)
		}
		off += len(item) + 1
	}
	return dst, nil
}

// addAsk appends a, or overwrites an earlier one for the same thing after
// position n.
func addAsk(dst []Ask, n int, a Ask) []Ask {
	for i := n; i < len(dst); i++ {
		if b := &dst[i]; b.Name == a.Name && b.Type == a.Type && b.Per == a.Per {
			if a.Count == 0 {
				return append(dst[:i], dst[i+1:]...)
			}
			*b = a
			return dst
		}
	}
	if a.Count == 0 {
		return dst
	}
	return append(dst, a)
}

// parseAsk reads NAME[:TYPE][:COUNT], or [TYPE:]COUNT if name is given.
func parseAsk(name, item string) (Ask, error) {
	a := Ask{Name: name, Count: 1}
	rest := item
	if name == "" {
		// One prefix: "gres/gres:2" asks for two of a kind called gres.
		if r, ok := strings.CutPrefix(rest, "gres/"); ok {
			rest = r
		} else {
			rest = strings.TrimPrefix(rest, "gres:")
		}
		var more bool
		a.Name, rest, more = strings.Cut(rest, ":")
		if eq, cnt, ok := strings.Cut(a.Name, "="); ok && !more {
			a.Name, rest, more = eq, cnt, true
		}
		if !more {
			return a, nil
		}
	}
	if rest == "" {
		return a, ErrTRES
	}
	typ, cnt := "", rest
	if i := strings.LastIndexAny(rest, ":="); i >= 0 {
		typ, cnt = rest[:i], rest[i+1:]
		if typ == "" {
			typ = rest // an empty type is none that a node has
		}
	}
	if n, err := ParseCount(cnt); err == nil {
		a.Type, a.Count = typ, n
		return a, nil
	}
	if cnt == "" {
		return a, ErrTRES
	}
	a.Type = rest
	return a, nil
}

// ParseTRESPerTask appends to dst the devices of --tres-per-task and returns
// the CPUs it names, 0 if none. Licences and others that are not devices are
// left to the caller, which sees them as asks named like "license/foo".
// TRES that cannot be asked per task are a *[RequestError].
func ParseTRESPerTask(dst []Ask, text string) (_ []Ask, cpus int32, err error) {
	n := len(dst)
	for off := 0; off < len(text); {
		item, _, _ := strings.Cut(text[off:], ",")
		end := strings.IndexAny(item, "=:/")
		if end < 0 {
			end = len(item)
		}
		switch class := item[:end]; class {
		case "cpu":
			k, err := strconv.ParseUint(strings.TrimLeft(item[end:], "=:"), 10, 31)
			if err != nil {
				return dst[:n], 0, &ParseError{text, off + end, ErrSyntax}
			}
			cpus = int32(k)
		case "mem", "energy", "node", "billing", "fs", "vmem", "pages", "bb":
			return dst[:n], 0, &RequestError{Rule: RulePerTaskTRES, Detail: class}
		case "license":
			dst = append(dst, Ask{Per: PerTask, Name: item, Count: 1, Option: "tres-per-task"})
		default:
			dst, err = parseAsks(dst, PerTask, "tres-per-task", "", item)
			if err != nil {
				return dst[:n], 0, &ParseError{text, off, ErrTRES}
			}
		}
		off += len(item) + 1
	}
	return dst, cpus, nil
}

// ParseGRESFlags reads a --gres-flags list.
func ParseGRESFlags(text string) (RequestFlags, error) {
	var f RequestFlags
	for item := range strings.SplitSeq(text, ",") {
		switch strings.ToLower(item) {
		case "enforce-binding":
			f |= EnforceBinding
		case "disable-binding":
			f |= DisableBinding
		case "one-task-per-sharing":
			f |= OneTaskPerSharing
		case "multiple-tasks-per-sharing":
			f |= ManyTasksPerSharing
		case "allow-task-sharing":
			return 0, &RequestError{Rule: RuleTaskSharing}
		default:
			return 0, &RequestError{Rule: RuleGRESFlag, Detail: text}
		}
	}
	switch {
	case f&EnforceBinding != 0 && f&DisableBinding != 0:
		return 0, &RequestError{Rule: RuleBindingBoth}
	case f&OneTaskPerSharing != 0 && f&ManyTasksPerSharing != 0:
		return 0, &RequestError{Rule: RuleSharingBoth}
	}
	return f, nil
}
