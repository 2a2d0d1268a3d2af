package gres

import (
	"strconv"
	"strings"
)

// CheckGPUBind tests the argument of --gpu-bind.
//
// Source: sbatch(1), spec/gres_oracle.tsv.
func CheckGPUBind(text string) error {
	if !validGPUBind(text) {
		return &RequestError{Rule: RuleGPUBind, Detail: text}
	}
	return nil
}

func validGPUBind(text string) bool {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "verbose,"), "v,")
	word, arg, has := strings.Cut(text, ":")
	switch word {
	case "closest", "none", "verbose", "v":
		return !has
	case "single", "per_task":
		n, err := strconv.ParseUint(arg, 10, 31)
		return has && err == nil && (word == "single" || n > 0)
	case "map", "map_gpu":
		return has && eachBind(arg, 10)
	case "mask", "mask_gpu":
		return has && eachBind(arg, 16)
	}
	return false
}

// eachBind tests a list of numbers with optional repetition: "0,1*2".
func eachBind(arg string, base int) bool {
	for item := range strings.SplitSeq(arg, ",") {
		num, times, has := strings.Cut(item, "*")
		if base == 16 {
			num = strings.TrimPrefix(num, "0x")
		}
		if num == "" && !has && arg == "" {
			return true
		}
		if _, err := strconv.ParseUint(num, base, 64); err != nil {
			return false
		}
		if k, err := strconv.ParseUint(times, 10, 31); has && (err != nil || k == 0) {
			return false
		}
	}
	return true
}

// CheckGPUFreq tests the argument of --gpu-freq: low, medium, high, highm1 or
// MHz, memory= the same, verbose.
func CheckGPUFreq(text string) error {
	for item := range strings.SplitSeq(text, ",") {
		kind, val := "gpu", item
		if k, v, ok := strings.Cut(item, "="); ok {
			kind, val = k, v
		}
		if kind == "gpu" && val == "verbose" {
			continue
		}
		_, err := strconv.ParseUint(val, 10, 31)
		word := val == "low" || val == "medium" || val == "high" || val == "highm1"
		if kind != "gpu" && kind != "memory" || !word && err != nil {
			return &RequestError{Rule: RuleGPUFreq, Detail: kind + ":" + val}
		}
	}
	return nil
}

// CheckTRESBind tests the argument of --tres-bind: gres/NAME:BIND with + in
// between, where only GPUs know their closest cores.
func CheckTRESBind(text string) error {
	for item := range strings.SplitSeq(text, "+") {
		name, arg, ok := strings.Cut(strings.TrimPrefix(item, "gres/"), ":")
		shared := name == "shard" || name == "mps"
		if !ok || !strings.HasPrefix(item, "gres/") || !validGPUBind(arg) || shared && !strings.HasPrefix(arg, "per_task:") && !strings.HasPrefix(arg, "none") {
			return &RequestError{Rule: RuleTRESBind, Detail: text}
		}
	}
	return nil
}
