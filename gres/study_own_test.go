package gres

import (
	"os"
	"strconv"
	"testing"
)

// TestFillUpAgainstFGD compares the allocation at 100 % arrived load with the
// ten-seed mean that the study publishes for FGD. The rule is three seeds of
// the default list; BERTH_DEEP=1 measures all lists with ten.
func TestFillUpAgainstFGD(t *testing.T) {
	lists, seeds := []string{"default"}, int64(3)
	if os.Getenv("BERTH_DEEP") != "" {
		lists, seeds = studyLists, 10
	}
	mean := map[string]float64{}
	for _, r := range readShared(t, "published/fgd/summary.csv") {
		if r[0] == "alloc" && r[2] == "FGD" && r[3] == "mean" {
			v, err := strconv.ParseFloat(r[9], 64)
			if err != nil {
				t.Fatal(err)
			}
			mean[r[1]] = v
		}
	}
	for _, list := range lists {
		s := loadStudy(t, list)
		var own float64
		for seed := int64(42); seed < 42+seeds; seed++ {
			own += s.run(t, FillUp, seed).alloc[100] / float64(seeds)
		}
		t.Logf("%-12s FillUp %.3f  FGD %.3f  gain %+.3f (%d seeds)", list, own, mean[list], own-mean[list], seeds)
		if list == "default" && own < mean[list]+0.2 {
			t.Errorf("FillUp allocates %.3f, FGD %.3f", own, mean[list])
		}
	}
}
