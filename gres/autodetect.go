package gres

import "strings"

// AutoDetect says which ways of finding GPUs a node daemon tries.
type AutoDetect uint8

const (
	DetectNVML AutoDetect = 1 << iota
	DetectNVIDIA
	DetectRSMI
	DetectOneAPI
	DetectNRT
	// DetectFull tries all of the above in this order until one finds a
	// device.
	DetectFull
	// DetectOff looks for nothing.
	DetectOff
)

// detectWords are the keywords; "nvml" and "nvidia" do not contain each other.
var detectWords = [...]struct {
	word string
	flag AutoDetect
}{
	{"full", DetectFull}, {"nvml", DetectNVML}, {"nvidia", DetectNVIDIA}, {"rsmi", DetectRSMI},
	{"oneapi", DetectOneAPI}, {"nrt", DetectNRT},
}

// ParseAutoDetect reads an AutoDetect value of gres.conf: keywords wherever
// they stand, any case, or exactly "off". Unknown text is nothing.
//
// Source: spec/nvml.md 1.
func ParseAutoDetect(text string) AutoDetect {
	low := strings.ToLower(text)
	if low == "off" {
		return DetectOff
	}
	var a AutoDetect
	for _, w := range detectWords {
		if strings.Contains(low, w.word) {
			a |= w.flag
		}
	}
	return a
}

// AppendMethods appends to dst the methods to try one after the other, each a
// single bit; the first that finds a device is the last.
func (a AutoDetect) AppendMethods(dst []AutoDetect) []AutoDetect {
	if a&DetectOff != 0 {
		return dst
	}
	for _, m := range [...]AutoDetect{DetectNVML, DetectNVIDIA, DetectRSMI, DetectOneAPI, DetectNRT} {
		if a&(m|DetectFull) != 0 {
			dst = append(dst, m)
		}
	}
	return dst
}

// ChooseAutoDetect returns what holds for a node, given the global value and
// those of its own NodeName lines in order: a node's own value replaces the
// global one. Two different own values stop Slurm's node daemon; the problem
// is then returned.
func ChooseAutoDetect(global AutoDetect, own []AutoDetect) (AutoDetect, *MergeProblem) {
	var set AutoDetect
	for _, a := range own {
		if a == 0 {
			continue
		}
		if set != 0 && a != set {
			return set, &MergeProblem{Kind: DetectTwice, Name: "AutoDetect"}
		}
		set = a
	}
	if set == 0 {
		set = global
	}
	return set, nil
}
