package qos_test

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/qos"
)

// must stands for the error handling of a real program.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A ladder of QOS: short debugging first, long work later, whole machines by
// reservation, and free cycles for those who can be preempted.
func Example_ladder() {
	schema := must(gres.NewSchema("gres/gpu"))
	l := must(qos.New(qos.Config{
		Schema:  schema,
		Enforce: must(qos.ParseEnforce("associations,limits,qos")),
	}))
	lab := must(l.AddAccount("lab", qos.Root))
	ann := must(l.AddUser("ann", lab, ""))

	for _, step := range []struct {
		name     string
		priority uint32
		usage    float64
		flags    string
		limits   []qos.Setting
	}{
		{"debug", 1000, 1, "DenyOnLimit", []qos.Setting{{qos.MaxWall, "30"}, {qos.MaxTRESPerUser, "gres/gpu=4"}, {qos.MaxSubmitJobsPerUser, "2"}}},
		{"long", 50, 1, "DenyOnLimit", []qos.Setting{{qos.MaxWall, "7-0"}, {qos.GrpTRES, "gres/gpu=64"}}},
		{"hero", 100, 1, "RequiresReservation", []qos.Setting{{qos.MaxTRESPerJob, "gres/gpu=256"}}},
		{"scavenger", 0, 0, "NoReserve", nil},
	} {
		id := must(l.AddQOS(step.name))
		a := l.QOS(id)
		a.Priority, a.UsageFactor, a.Flags = step.priority, step.usage, must(qos.ParseFlags(0, step.flags))
		if err := l.SetQOS(id, a); err != nil {
			panic(err)
		}
		if err := l.SetQOSLimits(id, step.limits...); err != nil {
			panic(err)
		}
		l.Allow(lab, id)
	}
	// "normal" is there from the beginning; here it gets its limits.
	normal := l.FindQOS("normal")
	if err := l.SetQOSLimits(normal, qos.Setting{Limit: qos.MaxTRESPerUser, Value: "gres/gpu=16"},
		qos.Setting{Limit: qos.MaxWall, Value: "2-00:00:00"}); err != nil {
		panic(err)
	}

	job := func(q string, gpus int64, limit time.Duration) *qos.Job {
		j := &qos.Job{Assoc: ann, QOS: l.FindQOS(q), Limit: limit, TRES: schema.NewVector()}
		gpu, _ := schema.Kind("gres/gpu")
		j.TRES[gres.CPU], j.TRES[gres.Node], j.TRES[gpu] = 8, 1, gpus
		return j
	}
	// Jobs of 8, 6, 4 and 2 GPUs: the 4 waits, with its numbers.
	for _, gpus := range []int64{8, 6, 4, 2} {
		j := job("normal", gpus, 0)
		limit, v := l.CheckSubmit(j) // no limit asked for: the longest allowed
		j.Limit = limit
		l.ChargeSubmit(j, nil)
		if v = l.Admit(j); v.OK() {
			l.Charge(j)
		}
		fmt.Printf("%d GPUs, %s: %s\n", gpus, qos.AppendTimeLimit(nil, limit), l.AppendVerdict(nil, v))
	}
	// Too long for debug: refused at once, as sbatch says it.
	_, v := l.CheckSubmit(job("debug", 1, time.Hour))
	fmt.Printf("%s\n", v.AppendRejection(nil))
	fmt.Println("hero without a reservation:", l.CheckQOS(ann, l.FindQOS("hero"), false).Reason)

	// Output:
	// 8 GPUs, 2-00:00:00: None
	// 6 GPUs, 2-00:00:00: None
	// 4 GPUs, 2-00:00:00: QOSMaxGRESPerUser: QOS normal, user ann: MaxTRESPerUser gres/gpu=16, used 14, asked 4, short by 2
	// 2 GPUs, 2-00:00:00: None
	// error: QOSMaxWallDurationPerJobLimit
	// error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)
	// hero without a reservation: InvalidQOS
}

// A floating partition: a partition over all nodes whose QOS caps what it may
// hold at once, without tying the capacity to nodes.
func Example_floatingPartition() {
	schema := must(gres.NewSchema())
	l := must(qos.New(qos.Config{Schema: schema, Enforce: qos.EnforceLimits}))
	user := must(l.AddUser("ann", qos.Root, ""))
	float := must(l.AddQOS("float"))
	if err := l.SetQOSLimits(float, qos.Setting{Limit: qos.GrpTRES, Value: "node=2"}); err != nil {
		panic(err)
	}
	start := func(part qos.QOSID, node int32) {
		j := &qos.Job{Assoc: user, QOS: l.FindQOS("normal"), PartQOS: part, TRES: schema.NewVector(), Nodes: []int32{node}}
		j.TRES[gres.CPU], j.TRES[gres.Node] = 1, 1
		v := l.Admit(j)
		if v.OK() {
			l.Charge(j)
		}
		fmt.Printf("node %d: %s\n", node, l.AppendVerdict(nil, v))
	}
	start(float, 0)
	start(float, 7)
	start(float, 3)
	start(float, 7) // a node that is in use already costs nothing
	start(0, 3)     // another partition, without QOS

	// Output:
	// node 0: None
	// node 7: None
	// node 3: QOSGrpNodeLimit: QOS float: GrpTRES node=2, used 2, asked 1, short by 1
	// node 7: None
	// node 3: None
}

// A scheduling pass tries and takes back.
func ExampleLedger_Rollback() {
	schema := must(gres.NewSchema())
	l := must(qos.New(qos.Config{Schema: schema, Enforce: qos.EnforceLimits}))
	user := must(l.AddUser("ann", qos.Root, ""))
	if err := l.SetLimits(qos.Root, qos.Setting{Limit: qos.GrpTRES, Value: "cpu=8"}); err != nil {
		panic(err)
	}
	j := &qos.Job{Assoc: user, TRES: schema.NewVector()}
	j.TRES[gres.CPU] = 6
	mark := l.Mark()
	l.Charge(j)
	fmt.Println("with it:", l.Admit(j).Reason)
	l.Rollback(mark)
	fmt.Println("without:", l.Admit(j).Reason)
	// Output:
	// with it: AssocGrpCpuLimit
	// without: None
}

func ExampleLedger_ColumnsTo() {
	l := must(qos.New(qos.Config{Schema: must(gres.NewSchema())}))
	lab := must(l.AddAccount("lab", qos.Root))
	ann := must(l.AddUser("ann", lab, ""))
	l.SetShares(lab, 40)
	l.AddUsage(ann, 3600, 3600, nil)
	l.Decay(0.5) // one half-life later
	var c qos.Columns
	l.ColumnsTo(&c)
	for i := range c.Assoc {
		fmt.Printf("%s: parent %d, shares %d, usage %.0f\n", l.AppendAssoc(nil, c.Assoc[i]), c.Parent[i], c.Shares[i], c.Usage[i])
	}
	// Output:
	// account root: parent -1, shares 1, usage 1800
	// account lab: parent 0, shares 40, usage 1800
	// account lab, user ann: parent 1, shares 1, usage 1800
}

func ExampleParseTimeLimit() {
	for _, text := range []string{"90", "10:30", "1-12:00:00", "UNLIMITED"} {
		d, err := qos.ParseTimeLimit(text)
		fmt.Printf("%s = %s %v\n", text, qos.AppendTimeLimit(nil, d), err)
	}
	// Output:
	// 90 = 01:30:00 <nil>
	// 10:30 = 00:10:30 <nil>
	// 1-12:00:00 = 1-12:00:00 <nil>
	// UNLIMITED = UNLIMITED <nil>
}
