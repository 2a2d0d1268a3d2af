// Package cgroupsv2 turns an allocation into a fence: a process of a job can
// touch its own cores, memory and devices, and nothing else.
//
// It takes what the job, the step and each task hold on this node ([Job],
// [Step], [Task]: CPU numbers, MiB, device records) and the site's cgroup.conf
// ([Conf]), and gives a list of operations ([Op]) that builds the tree with
// Slurm's names and Slurm's formulas: slurmstepd.scope, a directory for each
// job (its SLUID), step_N, user, task_N.
//
// The planning half is a pure function of its arguments, as are the memory
// formulas, the lists of CPUs and the device filter ([Filter], compiled to an
// eBPF program, decided in Go by [Filter.Decide]). The other half, for Linux,
// carries the operations out below a directory that is delegated to the caller
// ([Open], [Tree.Apply]), and works on what is there ([Group]: start a process
// inside, adopt one, freeze, kill, wait, resize, events, remove).
//
// [Tree.Apply] does all of its list or none of it. Every condition that a
// caller may want to tell apart has its own error (errors.go). What the kernel
// would quietly ignore, such as CPUs that the parent does not have, is read
// back and refused. Nothing here runs in the background, and there is no
// global state: several nodes may live in one process.
//
// It leaves the choice of CPUs and devices to gres and bind, and the creation
// of the delegated directory to systemd (Delegate=yes) or the administrator.
// Slurm says cgroup/v2, task/cgroup, proctrack/cgroup, ConstrainDevices; the
// Kubernetes world says cgroup manager, cpuset, memory.max, device cgroup.
package cgroupsv2
