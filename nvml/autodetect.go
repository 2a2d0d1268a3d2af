package nvml

import (
	"errors"
	"strings"
)

// AutoDetect is a parsed AutoDetect of gres.conf.
type AutoDetect uint8

// The values, which may be combined; DetectFull stands for all in turn.
const (
	DetectNVML AutoDetect = 1 << iota
	DetectNVIDIA
	DetectRSMI
	DetectOneAPI
	DetectNRT
	DetectFull
	DetectOff
)

// ErrAutoDetect is returned by ParseAutoDetect for text without any known word.
var ErrAutoDetect = errors.New("nvml: unknown AutoDetect value")

// sourceOrder is the order in which DetectFull asks.
var sourceOrder = [...]struct {
	flag AutoDetect
	word string
}{{DetectNVML, "nvml"}, {DetectNVIDIA, "nvidia"}, {DetectRSMI, "rsmi"}, {DetectOneAPI, "oneapi"}, {DetectNRT, "nrt"}}

// ParseAutoDetect reads the value of AutoDetect: words that may stand anywhere
// in it, in any case, or off alone.
//
// Source: gres.conf(5); specification nvml.md 1.
func ParseAutoDetect(text string) (AutoDetect, error) {
	low := strings.ToLower(text)
	if low == "off" {
		return DetectOff, nil
	}
	var a AutoDetect
	if strings.Contains(low, "full") {
		a |= DetectFull
	}
	for _, s := range sourceOrder {
		if strings.Contains(low, s.word) {
			a |= s.flag
		}
	}
	if a == 0 {
		return 0, ErrAutoDetect
	}
	return a, nil
}

// ErrAutoDetectConflict is returned by NodeAutoDetect for two different values.
var ErrAutoDetectConflict = errors.New("nvml: lines of one node have different AutoDetect values")

// NodeAutoDetect returns the value that holds for a node: that of the lines of
// gres.conf with its NodeName, which must agree, or else the global one. Values
// on lines without NodeName are no part of local; Slurm ignores them with an
// error.
//
// Source: gres.conf(5); specification nvml.md 1.
func NodeAutoDetect(global AutoDetect, local []AutoDetect) (AutoDetect, error) {
	if len(local) == 0 {
		return global, nil
	}
	for _, a := range local[1:] {
		if a != local[0] {
			return 0, ErrAutoDetectConflict
		}
	}
	return local[0], nil
}

// String returns the words joined by commas.
func (a AutoDetect) String() string {
	var words []string
	if a&DetectFull != 0 {
		words = append(words, "full")
	}
	for _, s := range sourceOrder {
		if a&s.flag != 0 {
			words = append(words, s.word)
		}
	}
	if a&DetectOff != 0 {
		words = append(words, "off")
	}
	return strings.Join(words, ",")
}

// absent reports whether an error of a source means that it has no devices.
func absent(err error) bool {
	return errors.Is(err, ErrNoLibrary) || errors.Is(err, ErrNoDriver) || errors.Is(err, ErrUnsupported)
}

// Detect asks the sources that a names, in Slurm's order nvml, nvidia, rsmi,
// oneapi, nrt, and returns the first snapshot with a device; used is the name
// of its source. Sources may come in any order; a makers' library without a
// source of ours (oneapi, nrt, or rsmi for more than /sys knows) is one that
// the program brings. Without any device the snapshot is empty, used is empty,
// and err has what went wrong, if it was more than an absent driver.
func Detect(a AutoDetect, sources ...Source) (s *Snapshot, used string, err error) {
	var errs []error
	for _, want := range sourceOrder {
		if a&(want.flag|DetectFull) == 0 || a&DetectOff != 0 {
			continue
		}
		for _, src := range sources {
			if src.Name() != want.word {
				continue
			}
			got, err := src.Snapshot()
			if err != nil {
				if !absent(err) {
					errs = append(errs, err)
				}
				continue
			}
			if len(got.Devices) > 0 {
				return got, want.word, nil
			}
		}
	}
	return &Snapshot{}, "", errors.Join(errs...)
}
