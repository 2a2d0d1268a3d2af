package main

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A row is a line of a CSV file; err is the first number that could not be
// read.
type row struct {
	cells []string
	where string
	err   error
}

func (r *row) text(i int) string {
	if i >= len(r.cells) {
		return ""
	}
	return r.cells[i]
}

func (r *row) num(i int) int64 {
	n, err := strconv.ParseInt(r.text(i), 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%s: column %d: %w", r.where, i+1, err)
	}
	return n
}

// readCSV returns the rows of a file, gzipped if its name says so, without the
// heading.
func readCSV(path string) ([]*row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		in = z
	}
	all, err := csv.NewReader(in).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var rows []*row
	for i, cells := range all[min(1, len(all)):] {
		rows = append(rows, &row{cells: cells, where: fmt.Sprintf("%s:%d", path, i+2)})
	}
	return rows, nil
}

// published holds the study's tables.
type published struct {
	curves map[string]map[string][]float64 // by metric, then list/policy/seed
	mean   map[string]float64              // of FGD's allocation at 100 %, by list
}

func loadPublished(data string) (*published, error) {
	p := &published{curves: map[string]map[string][]float64{}, mean: map[string]float64{}}
	for _, metric := range []string{"alloc", "frag_amount", "frag_ratio"} {
		rows, err := readCSV(filepath.Join(data, "published/fgd", metric+"_curves.csv.gz"))
		if err != nil {
			return nil, err
		}
		p.curves[metric] = map[string][]float64{}
		for _, r := range rows {
			var v []float64
			for _, c := range r.cells[3:] {
				f, err := strconv.ParseFloat(c, 64)
				if err != nil {
					f = math.NaN()
				}
				v = append(v, f)
			}
			p.curves[metric][strings.Join(r.cells[:3], "/")] = v
		}
	}
	rows, err := readCSV(filepath.Join(data, "published/fgd/summary.csv"))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.text(0) == "alloc" && r.text(2) == "FGD" && r.text(3) == "mean" {
			if p.mean[r.text(1)], err = strconv.ParseFloat(r.text(9), 64); err != nil {
				return nil, fmt.Errorf("%s: %w", r.where, err)
			}
		}
	}
	return p, nil
}

// distance returns the largest difference between a run and the published
// curves; ok is false if there are none.
func (p *published) distance(list, policy string, seed int64, r *result) (worst float64, ok bool) {
	key := fmt.Sprintf("%s/%s/%d", list, policy, seed)
	for metric, got := range map[string]*[131]float64{"alloc": &r.alloc, "frag_amount": &r.amount, "frag_ratio": &r.ratio} {
		want := p.curves[metric][key]
		if len(want) != len(got) {
			return 0, false
		}
		for a := range want {
			if d := math.Abs(got[a] - want[a]); d > worst {
				worst = d
			}
		}
	}
	return worst, true
}
