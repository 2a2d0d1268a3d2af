package qos

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-sched/berth/gres"
)

// TestReasonNames: every limit has a name where it can be set and checked, for
// every class of TRES, and none elsewhere.
func TestReasonNames(t *testing.T) {
	for m := GrpTRES; m < numLimits; m++ {
		in := m.Info()
		if in.Name == "" || m.String() != in.Name {
			t.Errorf("limit %d has no name", m)
		}
		speaks := in.Phases&^phW != 0
		for s := range numSides {
			place := in.Where & (OnLeaf | OnGroup)
			if s == sideQOS {
				place = in.Where & OnQOS
			}
			for c := range numClasses {
				if !m.HasTRES() && c > 0 {
					continue
				}
				name := reasonOf(m, s, c).String()
				if want := speaks && place != 0; (name != "Unknown") != want {
					t.Errorf("%v side %d class %d: reason %q", m, s, c, name)
				}
				if r, ok := ParseReason(name); name != "Unknown" && (!ok || r.String() != name) {
					t.Errorf("ParseReason(%q) = %v, %v", name, r, ok)
				}
			}
		}
	}
	if None.String() != "None" || Reason(numReasons).String() != "Unknown" || reasonOf(GrpTRES, sideQOS, classGRES).String() != "QOSGrpGRES" {
		t.Error("wrong names")
	}
	if _, ok := ParseReason("Unknown"); ok {
		t.Error("Unknown is a reason")
	}
}

// TestRecordedReasons: every reason of the recordings that is about accounting
// is known.
func TestRecordedReasons(t *testing.T) {
	files, _ := filepath.Glob("../../shared/vectors/*/*.json")
	if len(files) == 0 {
		t.Skip("no recorded cases beside the repository: ../../shared/vectors")
	}
	seen := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rec struct {
			Cases []struct {
				Expect json.RawMessage
			}
		}
		if json.Unmarshal(data, &rec) != nil {
			continue
		}
		for _, c := range rec.Cases {
			var expect map[string]struct{ Reason string }
			if json.Unmarshal(c.Expect, &expect) != nil {
				continue
			}
			for _, e := range expect {
				if !strings.HasPrefix(e.Reason, "QOS") && !strings.HasPrefix(e.Reason, "Assoc") || e.Reason == "QOSNotAllowed" {
					continue
				}
				seen++
				if _, ok := ParseReason(e.Reason); !ok {
					t.Errorf("%s: unknown reason %q", file, e.Reason)
				}
			}
		}
	}
	t.Logf("%d reasons", seen)
}

func TestClasses(t *testing.T) {
	s, err := gres.NewSchema("gres/gpu", "GRES/gpu:a100", "license/x", "bb/cray", "fs/lustre", "ic/ofed")
	if err != nil {
		t.Fatal(err)
	}
	want := []class{classCPU, classMem, classEnergy, classNode, classBilling, classUnknown, classUnknown, classUnknown,
		classGRES, classGRES, classLicense, classBB, classUnknown, classUnknown}
	for k, c := range want {
		if got := classOf(s, gres.Kind(k)); got != c {
			t.Errorf("class of %s = %d, want %d", s.Name(gres.Kind(k)), got, c)
		}
	}
}
