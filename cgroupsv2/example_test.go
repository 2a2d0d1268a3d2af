package cgroupsv2_test

import (
	"fmt"

	"github.com/berth-sched/berth/cgroupsv2"
)

// The fence of a step with one task, one GPU of two, and two cores, as a list
// that Tree.Apply carries out.
func ExampleConf_AppendStart() {
	conf, _, err := cgroupsv2.ParseConf("ConstrainCores=yes ConstrainDevices=yes")
	if err != nil {
		panic(err)
	}
	gpu := func(minor uint32) []cgroupsv2.Device {
		return []cgroupsv2.Device{{Type: cgroupsv2.CharDevice, Major: 195, Minor: minor}}
	}
	node := cgroupsv2.Node{Records: [][]cgroupsv2.Device{gpu(0), gpu(1)}}
	job := cgroupsv2.Job{SLUID: cgroupsv2.NewSLUID(2, 0, 1), CPUs: []uint64{0b11}, Held: []uint64{0b10}}
	step := cgroupsv2.Step{CPUs: job.CPUs, Held: job.Held, Tasks: []cgroupsv2.Task{{Rank: 0}}}
	ops := conf.AppendStart(nil, &node, &job, &step)
	for i := range ops[:4] {
		fmt.Println(string(ops[i].Append(nil)))
	}
	fmt.Println("…", len(ops), "operations; tasks start in", conf.TaskPath(&job, step.ID, 0))
	// Output:
	// enable . +cpuset
	// mkdir s0080000000001
	// write s0080000000001/cpuset.cpus 0-1 (effective)
	// filter s0080000000001
	//   allow char 195:1 mrw
	//   deny char 195:0 mrw
	//   allow rest
	// … 14 operations; tasks start in s0080000000001/step_0/user/task_0
}
