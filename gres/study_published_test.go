package gres

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var studyLists = []string{"default", "cpu050", "cpu250", "gpushare40", "gpushare100", "gpuspec10", "gpuspec33", "multigpu20", "multigpu50"}

// published returns a table of shared/data/published/fgd by list, policy and
// seed.
func published(t testing.TB, metric string) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for _, r := range readShared(t, "published/fgd/"+metric+"_curves.csv.gz") {
		var v []float64
		for _, s := range r[3:] {
			f, err := strconv.ParseFloat(s, 64)
			if err != nil {
				f = math.NaN()
			}
			v = append(v, f)
		}
		out[strings.Join(r[:3], "/")] = v
	}
	return out
}

// TestPublishedCurves replays the study. Two lists with one seed are the rule;
// BERTH_DEEP=1 takes all lists with three seeds.
func TestPublishedCurves(t *testing.T) {
	lists, seeds := []string{"default", "gpuspec33"}, []int64{42}
	if os.Getenv("BERTH_DEEP") != "" {
		lists, seeds = studyLists, []int64{42, 46, 51}
	}
	alloc, amount, ratio := published(t, "alloc"), published(t, "frag_amount"), published(t, "frag_ratio")
	for _, list := range lists {
		s := loadStudy(t, list)
		for _, policy := range []Policy{BestFit, DotProduct, GPUPacking, GPUClustering, FGDExact} {
			for _, seed := range seeds {
				name := policy.String()
				if policy == FGDExact {
					name = FGD.String()
				}
				key := fmt.Sprintf("%s/%s/%d", list, name, seed)
				t.Run(key, func(t *testing.T) {
					run := s.run(t, policy, seed)
					for what, c := range map[string][2][]float64{"alloc": {run.alloc[:], alloc[key]}, "frag_amount": {run.amount[:], amount[key]}, "frag_ratio": {run.ratio[:], ratio[key]}} {
						if len(c[1]) != 131 {
							t.Fatalf("no published %s for %s", what, key)
						}
						for a, want := range c[1] {
							if d := math.Abs(c[0][a] - want); d > 0.0101 && !math.IsNaN(want) {
								t.Errorf("%s at %d %%: %v, published %v", what, a, c[0][a], want)
								break
							}
						}
					}
				})
			}
		}
	}
}

// checkpoint is a run of checkpoints.json.
type checkpoint struct {
	Workload, Policy string
	Seed             int64
	NotPlaced        int      `json:"not_placed"`
	UsedGPU          int64    `json:"used_milli_gpu"`
	UsedCPU          int64    `json:"used_milli_cpu"`
	Frag             float64  `json:"frag_milli_gpu"`
	First            [][3]any `json:"first_placements"`
}

func TestStudyCheckpoints(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(sharedData, "published/fgd/checkpoints.json"))
	if err != nil {
		t.Skipf("no data at %s", sharedData)
	}
	var all struct{ Runs []checkpoint }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Runs {
		if os.Getenv("BERTH_DEEP") == "" && c.Workload != "default" && c.Workload != "gpuspec33" {
			continue
		}
		policy := FGDExact
		for p := range numPolicies {
			if p.String() == c.Policy && p != FGD {
				policy = p
			}
		}
		t.Run(fmt.Sprintf("%s/%s/%d", c.Workload, c.Policy, c.Seed), func(t *testing.T) {
			run := loadStudy(t, c.Workload).run(t, policy, c.Seed)
			for i, f := range c.First {
				d := strings.ReplaceAll(fmt.Sprint(f[2]), ",", "")
				if want := fmt.Sprint(f[0], f[1], d); i < len(run.first) && run.first[i] != want {
					t.Fatalf("placement %d is %s, want %s", i, run.first[i], want)
				}
			}
			if run.dropped != c.NotPlaced || run.usedGPU != c.UsedGPU || run.usedCPU != c.UsedCPU || math.Abs(run.fragmented-c.Frag) > 0.01 {
				t.Errorf("dropped %d, used %d GPU, %d CPU, fragment %.2f; want %d, %d, %d, %.2f", run.dropped, run.usedGPU, run.usedCPU, run.fragmented, c.NotPlaced, c.UsedGPU, c.UsedCPU, c.Frag)
			}
		})
	}
}
