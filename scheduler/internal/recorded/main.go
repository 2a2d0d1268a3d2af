// Command recorded runs cases that were recorded from a real Slurm 26.05.3
// through the engine and says where it disagrees:
//
//	recorded DIR AREA...
//
// It reads DIR/AREA/*.json and *.json.gz and writes one JSON object a line and
// case, in order of areas, file names and cases: the area, the file, the case's
// id, what disagrees (a line each, empty if nothing does) and whether the
// record itself is suspect. A file that cannot be read is one such object without
// a case; keys that it does not know are passed over.
//
// TestRecorded of package scheduler builds and runs it. It is a program because
// it reads configurations with scheduler/slurmconf: tests that imported that
// would put the YAML reader into the go.sum of everyone who imports scheduler
// alone, since go mod tidy keeps the sums of what tests of imported packages
// need.
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: recorded DIR AREA...")
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	for _, area := range os.Args[2:] {
		if err := runArea(out, os.Args[1], area); err != nil {
			fmt.Fprintln(os.Stderr, "recorded:", err)
			os.Exit(1)
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "recorded:", err)
		os.Exit(1)
	}
}

// A verdict is what became of a case.
type verdict struct {
	Area, File, ID string
	Diff           string
	Suspect        bool
}

// runArea runs the files of an area, in order of names.
func runArea(w io.Writer, dir, area string) error {
	paths, err := filepath.Glob(filepath.Join(dir, area, "*.json*"))
	if err != nil {
		return err
	}
	slices.Sort(paths)
	enc := json.NewEncoder(w)
	for _, p := range paths {
		var verdicts []verdict
		if area == "gpu-bind" {
			verdicts, err = runBindFile(p)
		} else {
			verdicts, err = runFile(p)
		}
		if err != nil {
			verdicts = append(verdicts[:0], verdict{Diff: fmt.Sprintf("%s: %v", p, err)})
		}
		for _, v := range verdicts {
			if v.Area = area; v.File == "" {
				v.File, _, _ = strings.Cut(filepath.Base(p), ".")
			}
			if err := enc.Encode(v); err != nil {
				return err
			}
		}
	}
	return nil
}

func runFile(path string) ([]verdict, error) {
	var f recordedFile
	if err := readFile(path, &f); err != nil {
		return nil, err
	}
	if f.Area == "" {
		f.Area = filepath.Base(filepath.Dir(path))
	}
	var out []verdict
	for i := range f.Cases {
		c := &f.Cases[i]
		out = append(out, verdict{File: f.Name, ID: c.ID, Diff: runCase(&f, c, asRecorded), Suspect: len(c.Suspect) > 0})
	}
	return out, nil
}

func readFile(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	return json.NewDecoder(r).Decode(into)
}
