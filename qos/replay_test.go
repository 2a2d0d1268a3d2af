package qos_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/qos"
)

// recording is a file of recorded limits cases.
type recording struct {
	Files struct {
		Conf     string   `json:"slurm.conf"`
		Sacctmgr []string `json:"sacctmgr"`
	} `json:"files"`
	Cases []struct {
		ID    string `json:"id"`
		State struct {
			Limits []struct{ Entity, Limit, Value string }
		}
		Submit []struct {
			Name, User string
			Args       []string
		}
		Expect map[string]expectation
	}
}

type expectation struct {
	State, Reason, Error string
	ReasonAlso           []string `json:"reason_also"`
	TRES                 string   `json:"tres"`
}

func TestRecordedLimits(t *testing.T) {
	files, err := filepath.Glob("../../shared/vectors/limits/*.json")
	if err != nil || len(files) == 0 {
		t.Skip("no recorded limits cases beside the repository: ../../shared/vectors/limits")
	}
	cases, agree := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rec recording
		if err := json.Unmarshal(data, &rec); err != nil {
			t.Fatal(err)
		}
		for i := range rec.Cases {
			c := &rec.Cases[i]
			r := newRecorded(t, &rec)
			for _, s := range c.State.Limits {
				if err := r.set(s.Entity, s.Limit, s.Value); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range c.Submit {
				q, err := r.parse(s.Args)
				if err != nil {
					t.Fatal(err)
				}
				q.user = s.User
				if q.user == "" {
					q.user = "root"
				}
				r.submit(s.Name, q)
				r.pass()
			}
			for len(r.pass()) > 0 { // until nothing changes
			}
			ok := true
			for _, j := range r.jobs {
				if want := c.Expect[j.name]; !agrees(j, want) {
					ok = false
					t.Errorf("%s %s %s: got %s %s %q %s, want %+v", filepath.Base(file), c.ID, j.name,
						j.state, j.reason, j.error, j.tres, want)
				}
			}
			cases++
			if ok {
				agree++
			}
		}
	}
	t.Logf("%d of %d recorded limits cases agree in every state, reason, refusal and allocation", agree, cases)
}

func agrees(j *simJob, want expectation) bool {
	switch {
	case j.state != want.State:
		return false
	case j.state == "PENDING":
		return j.reason == want.Reason || slices.Contains(want.ReasonAlso, j.reason) || soft(j.reason) && soft(want.Reason)
	case j.state == "REJECTED":
		return j.error == want.Error
	}
	return j.tres == want.TRES
}

// soft reports whether a reason is about room and order, which the tiny cluster
// does not decide.
func soft(reason string) bool { return reason == "Resources" || reason == "Priority" }

func newRecorded(t *testing.T, rec *recording) *sim {
	r := &sim{parts: make(map[string]*partition)}
	cfg := qos.Config{}
	var partitions []map[string]string
	for line := range strings.SplitSeq(rec.Files.Conf, "\n") {
		kv := fields(line)
		switch {
		case kv["AccountingStorageEnforce"] != "":
			cfg.Enforce, _ = qos.ParseEnforce(kv["AccountingStorageEnforce"])
		case kv["AccountingStorageTRES"] != "":
			r.schema, _ = gres.NewSchema(strings.Split(kv["AccountingStorageTRES"], ",")...)
		case kv["Licenses"] != "":
			_, n, _ := strings.Cut(kv["Licenses"], ":")
			r.licences = number(n)
		case kv["DefMemPerCPU"] != "":
			r.memPerCPU = number(kv["DefMemPerCPU"])
		case kv["NodeName"] != "":
			r.full = room{number(kv["CPUs"]), number(kv["RealMemory"]), number(kv["Gres"][strings.LastIndex(kv["Gres"], ":")+1:])}
			r.node = slices.Repeat([]room{r.full}, span(kv["NodeName"]))
		case kv["PartitionName"] != "":
			partitions = append(partitions, kv)
		}
	}
	var err error
	cfg.Schema = r.schema
	if r.l, err = qos.New(cfg); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range rec.Files.Sacctmgr {
		if err := r.sacctmgr(cmd); err != nil {
			t.Fatal(err)
		}
	}
	for _, kv := range partitions {
		r.addPartition(kv)
	}
	return r
}
