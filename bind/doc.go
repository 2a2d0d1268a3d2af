// Package bind answers the last question of a placement: which task sees
// which GPUs, CPUs and network adapters of a machine whose part the job
// already holds, and what its environment says about it.
//
// It takes what the job and the step hold on each node ([StepNode], device
// positions and CPU sets), what was asked ([StepRequest], [Binding],
// [CPUBinding]), or the machine as it is wired ([topology.Machine]).
//
// The Slurm half is [Layer.Plan] (a step's tasks over the nodes of its job),
// [Binder.Bind] (--gpu-bind, --tres-bind), [CPULayer.Lay] (-m and --cpu-bind)
// and [AppendEnv]. The other half is [Solver], which finds the best GPUs,
// cores and adapters for a number of tasks, and [MergeHints], which answers
// as Kubernetes' topology manager does. [ChooseClocks] picks GPU clocks.
//
// Everything here is a pure function of its arguments, deterministic to the
// byte, and allocates nothing once the caller's slices have grown.
//
// It leaves the choice of nodes, of the job's cores and of its devices to the
// packages above and beside it, reading a machine to bind/wiring and nvml,
// and the fence around a task to cgroupsv2. Slurm says gpu-bind, cpu-bind,
// distribution; Kubernetes says topology manager, CPU manager, device plugin.
package bind
