// Command fgd repeats the GPU fragmentation study (FGD, USENIX ATC'23) on the
// lists of Alibaba's openb cluster and compares with the tables that the study
// published: allocation and fragmentation by arrived load, placement policies
// side by side. See README.md beside this file.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/gres"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program; it returns the exit status: 1 if a policy of the study
// departs from the published curves by more than 0.01 points.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	bad := 0
	if err == nil {
		bad, err = compare(o, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "fgd: "+strings.ReplaceAll(err.Error(), "\n", "; "))
		return 1
	}
	if bad > 0 {
		fmt.Fprintf(stderr, "fgd: %d of the runs depart from the published curves\n", bad)
		return 1
	}
	return 0
}

type options struct {
	data     string
	lists    []string
	policies []gres.Policy
	seeds    []int64
}

var allLists = []string{"default", "cpu050", "cpu250", "gpushare40", "gpushare100", "gpuspec10", "gpuspec33", "multigpu20", "multigpu50"}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("fgd", flag.ContinueOnError)
	fs.SetOutput(stdout)
	fs.StringVar(&o.data, "data", "../../shared/data", "folder with traces/openb and published/fgd")
	lists := fs.String("lists", "default,gpuspec33", "task lists, or all")
	policies := fs.String("policies", "all", "BestFit, DotProd, GpuPacking, GpuClustering, FGD (the study's, deterministic), FillUp (berth's), or all")
	seeds := fs.String("seeds", "42", "seeds of the study, 42 to 51, or all")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	o.lists = allLists
	if *lists != "all" {
		o.lists = strings.Split(*lists, ",")
	}
	known := map[string]gres.Policy{"FGD": gres.FGDExact}
	for _, p := range []gres.Policy{gres.BestFit, gres.DotProduct, gres.GPUPacking, gres.GPUClustering, gres.FillUp} {
		known[p.String()] = p
	}
	names := []string{"BestFit", "DotProd", "GpuPacking", "GpuClustering", "FGD", "FillUp"}
	if *policies != "all" {
		names = strings.Split(*policies, ",")
	}
	for _, n := range names {
		p, ok := known[n]
		if !ok {
			return nil, fmt.Errorf("unknown policy %q", n)
		}
		o.policies = append(o.policies, p)
	}
	if *seeds == "all" {
		*seeds = "42,43,44,45,46,47,48,49,50,51"
	}
	for s := range strings.SplitSeq(*seeds, ",") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("seed %q: %w", s, err)
		}
		o.seeds = append(o.seeds, n)
	}
	return o, nil
}

// compare runs everything that o asks for, prints one line a run and the means,
// and returns how many runs of the study's policies depart.
func compare(o *options, stdout io.Writer) (bad int, err error) {
	truth, err := loadPublished(o.data)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(stdout, "%-12s %-14s %4s %9s %9s %9s %9s %9s\n", "list", "policy", "seed", "alloc@100", "alloc@130", "frag@100", "dropped", "departs")
	for _, list := range o.lists {
		s, err := loadStudy(o.data, list)
		if err != nil {
			return bad, err
		}
		for _, p := range o.policies {
			name, cut := p.String(), 95
			switch p {
			case gres.FGDExact:
				name = "FGD"
			case gres.FillUp:
				cut = 100
			}
			var mean float64
			for _, seed := range o.seeds {
				r, err := s.run(p, cut, seed)
				if err != nil {
					return bad, err
				}
				mean += r.alloc[100] / float64(len(o.seeds))
				departs := "-"
				if p != gres.FillUp {
					d, ok := truth.distance(list, name, seed, r)
					departs = "not published"
					if ok {
						departs = fmt.Sprintf("%.3f", d)
						if d > 0.0101 {
							bad++
							departs += " !"
						}
					}
				}
				fmt.Fprintf(stdout, "%-12s %-14s %4d %9.2f %9.2f %9.2f %9d %9s\n", list, name, seed, r.alloc[100], r.alloc[130], r.amount[100], r.dropped, departs)
			}
			if len(o.seeds) > 1 {
				fmt.Fprintf(stdout, "%-12s %-14s mean %9.3f   published FGD %.3f\n", list, name, mean, truth.mean[list])
			}
		}
	}
	return bad, nil
}
