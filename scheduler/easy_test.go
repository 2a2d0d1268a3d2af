package scheduler_test

import (
	"cmp"
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

const easyFile = "../../shared/data/published/easy-backfill/jobs.csv"

type easyJob struct {
	id            scheduler.JobID
	submit, start scheduler.Time
	nodes         int32
	wall, run     time.Duration
	hosts         []int
}

func seconds(t *testing.T, s string) time.Duration {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(math.Round(x*1e6)) * time.Microsecond
}

func readEasy(t *testing.T) []easyJob {
	t.Helper()
	f, err := os.Open(easyFile)
	if err != nil {
		t.Skipf("published schedule not at hand: %v", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var jobs []easyJob
	for i, r := range rows[1:] {
		nodes, err := strconv.Atoi(r[2])
		if err != nil {
			t.Fatal(err)
		}
		j := easyJob{
			id: scheduler.JobID(i + 1), nodes: int32(nodes), wall: seconds(t, r[3]), run: seconds(t, r[4]),
			submit: scheduler.Time(0).Add(seconds(t, r[1])), start: scheduler.Time(0).Add(seconds(t, r[5])),
		}
		for h := range strings.FieldsSeq(r[7]) {
			lo, hi, ranged := strings.Cut(h, "-")
			a, _ := strconv.Atoi(lo)
			b := a
			if ranged {
				b, _ = strconv.Atoi(hi)
			}
			for ; a <= b; a++ {
				j.hosts = append(j.hosts, a)
			}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// easyEnd is when a job ends.
type easyEnd struct {
	at  scheduler.Time
	job scheduler.JobID
}

func (a easyEnd) compare(b easyEnd) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job))
}

// replayEasy runs the 801 jobs on 32 equal hosts. It calls start for each start
// and pass after each pass.
func replayEasy(t *testing.T, jobs []easyJob, plan scheduler.PlanParameters, start func(now scheduler.Time, j *easyJob, d *scheduler.Decision), pass func(now scheduler.Time, s scheduler.Scheduler)) {
	t.Helper()
	s, err := scheduler.New(scheduler.Config{
		Nodes: []scheduler.NodeSpec{{Names: "h[00-31]", CPUs: 1}},
		Parameters: scheduler.Parameters{
			Plan:   plan,
			Select: scheduler.SelectParameters{NoMemory: true, Flags: []string{"CR_LLN"}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ends []easyEnd
	started, next := 0, 0
	var dec []scheduler.Decision
	for next < len(jobs) || len(ends) > 0 {
		now := scheduler.Never
		if next < len(jobs) {
			now = jobs[next].submit
		}
		if len(ends) > 0 {
			now = min(now, ends[0].at)
		}
		for len(ends) > 0 && ends[0].at == now {
			if err := s.Apply(now, scheduler.Ended(ends[0].job, scheduler.JobEnd{})); err != nil {
				t.Fatal(err)
			}
			ends = ends[1:]
		}
		for next < len(jobs) && jobs[next].submit == now {
			j := &jobs[next]
			spec := scheduler.JobSpec{ID: j.id, MinNodes: j.nodes, Exclusive: scheduler.ExclusiveNode, TimeLimit: j.wall}
			if err := s.Apply(now, scheduler.Submit(&spec)); err != nil {
				t.Fatal(err)
			}
			next++
		}
		dec = s.Pass(now, dec[:0])
		for i := range dec {
			d := &dec[i]
			if d.Op != scheduler.OpStart {
				continue
			}
			j := &jobs[d.Job-1]
			started++
			start(now, j, d)
			e := easyEnd{now.Add(min(j.run, j.wall)), d.Job}
			i, _ := slices.BinarySearchFunc(ends, e, easyEnd.compare)
			ends = slices.Insert(ends, i, e)
		}
		if pass != nil {
			pass(now, s)
		}
	}
	if started != len(jobs) {
		t.Errorf("%d of %d jobs started", started, len(jobs))
	}
}

// TestEasyBackfillAgreesWithPublishedSchedule replays the published EASY
// schedule: 801 jobs on 32 equal hosts, one plan, lowest-numbered free hosts.
func TestEasyBackfillAgreesWithPublishedSchedule(t *testing.T) {
	replayEasy(t, readEasy(t), scheduler.PlanParameters{Depth: 1}, func(now scheduler.Time, j *easyJob, d *scheduler.Decision) {
		var hosts []int
		for _, n := range d.Nodes {
			h, _ := strconv.Atoi(strings.TrimPrefix(n, "h"))
			hosts = append(hosts, h)
		}
		if now != j.start || !slices.Equal(hosts, j.hosts) {
			t.Fatalf("job %d starts at %d on %v, published: %d on %v", d.Job, now, hosts, j.start, j.hosts)
		}
	}, nil)
}

// TestConservativeKeepsFirstPromise plans for all of the same jobs: none starts
// after the first start that it was promised, and no promise moves later.
func TestConservativeKeepsFirstPromise(t *testing.T) {
	jobs := readEasy(t)
	for _, mode := range []scheduler.Promise{scheduler.PromiseBestEffort, scheduler.PromiseKept} {
		promised := make([]scheduler.Time, len(jobs))
		early, wait, makespan := 0, 0.0, scheduler.Time(0)
		replayEasy(t, jobs, scheduler.PlanParameters{Promise: mode}, func(now scheduler.Time, j *easyJob, d *scheduler.Decision) {
			if p := promised[d.Job-1]; p != 0 && now > p {
				t.Fatalf("job %d starts at %d, promised %d", d.Job, now, p)
			} else if p != 0 && now < p {
				early++
			}
			wait += now.Sub(j.submit).Seconds()
			makespan = max(makespan, now.Add(min(j.run, j.wall)))
		}, func(now scheduler.Time, s scheduler.Scheduler) {
			s.View(func(v scheduler.View) {
				for j := range v.Jobs() {
					if j.State != scheduler.StatePending {
						continue
					}
					p := &promised[j.ID-1]
					if j.Start <= now || *p != 0 && j.Start > *p {
						t.Fatalf("at %d job %d is planned for %d, was %d", now, j.ID, j.Start, *p)
					}
					*p = j.Start
				}
			})
		})
		t.Logf("promise %s: mean wait %.0f s, makespan %d s, %d of %d jobs before their last promise", mode, wait/float64(len(jobs)), int64(makespan)/1e6, early, len(jobs))
	}
}
