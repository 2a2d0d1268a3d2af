package bind

// The groups of the table in the order in which they are written.

func (e *envWriter) job(j *JobEnv) {
	e.must("SLURM_JOB_ID", int64(j.ID))
	e.must("SLURM_JOBID", int64(j.ID))
	e.text("SLURM_JOB_SLUID", j.SLUID)
	e.text("SLURM_JOB_NAME", j.Name)
	e.text("SLURM_JOB_ACCOUNT", j.Account)
	e.text("SLURM_JOB_PARTITION", j.Partition)
	e.text("SLURM_JOB_QOS", j.QOS)
	e.text("SLURM_JOB_RESERVATION", j.Reservation)
	e.text("SLURM_JOB_USER", j.User)
	e.must("SLURM_JOB_UID", int64(j.UID))
	e.must("SLURM_JOB_GID", int64(j.GID))
	e.text("SLURM_JOB_GROUP", j.Group)
	e.num("SLURM_JOB_START_TIME", j.Start)
	e.num("SLURM_JOB_END_TIME", j.End)
	e.text("SLURM_CLUSTER_NAME", j.Cluster)
	e.text("SLURM_SUBMIT_DIR", j.SubmitDir)
	e.text("SLURM_SUBMIT_HOST", j.SubmitHost)
	e.text("SLURM_TOPOLOGY_ADDR", j.TopologyAddr)
	e.text("SLURM_TOPOLOGY_ADDR_PATTERN", j.TopologyPattern)
	e.num("SLURM_RESTART_COUNT", int64(j.RestartCount))
}

// layout writes nodes, CPUs and tasks. A task's numbers are its step's.
func (e *envWriter) layout(l *Launch, o *OptionEnv) {
	j := l.Job
	nodes, tasksPer, tasks := j.NodeList, j.TasksPerNode, o.Tasks
	if l.Place == PlaceTask {
		nodes, tasksPer, tasks = l.Step.NodeList, l.Step.TasksPerNode, l.Step.Tasks
	}
	e.text("SLURM_JOB_NODELIST", j.NodeList)
	e.text("SLURM_NODELIST", nodes)
	e.must("SLURM_JOB_NUM_NODES", int64(len(j.CPUsPerNode)))
	if l.Place == PlaceTask {
		e.must("SLURM_NNODES", int64(len(tasksPer)))
	} else {
		e.must("SLURM_NNODES", int64(len(j.CPUsPerNode)))
	}
	e.counts("SLURM_JOB_CPUS_PER_NODE", j.CPUsPerNode)
	e.counts("SLURM_TASKS_PER_NODE", tasksPer)
	e.num("SLURM_NTASKS", int64(tasks))
	e.num("SLURM_NPROCS", int64(tasks))
	e.must("SLURM_CPUS_ON_NODE", int64(l.Node.CPUs))
}

func (e *envWriter) options(o *OptionEnv) {
	e.num("SLURM_NTASKS_PER_NODE", int64(o.TasksPerNode))
	e.num("SLURM_NTASKS_PER_CORE", int64(o.TasksPerCore))
	e.num("SLURM_NTASKS_PER_SOCKET", int64(o.TasksPerSocket))
	e.num("SLURM_NTASKS_PER_GPU", int64(o.TasksPerGPU))
	e.num("SLURM_CPUS_PER_TASK", int64(o.CPUsPerTask))
	e.text("SLURM_TRES_PER_TASK", o.TRESPerTask)
	e.num("SLURM_CPUS_PER_GPU", int64(o.CPUsPerGPU))
	e.num("SLURM_MEM_PER_GPU", o.MemPerGPU)
	e.num("SLURM_MEM_PER_CPU", o.MemPerCPU)
	e.num("SLURM_MEM_PER_NODE", o.MemPerNode)
	e.text("SLURM_GPUS", o.GPUs)
	e.text("SLURM_GPUS_PER_NODE", o.GPUsPerNode)
	e.text("SLURM_GPUS_PER_SOCKET", o.GPUsPerSocket)
	e.text("SLURM_GPU_BIND", o.GPUBind)
	e.text("SLURM_GPU_FREQ", o.GPUFreq)
	e.text("SLURM_TRES_BIND", o.TRESBind)
	e.num("SLURM_JOB_SEGMENT_SIZE", int64(o.SegmentSize))
	e.text("SLURM_JOB_DEPENDENCY", o.Dependency)
	e.text("SLURM_JOB_LICENSES", o.Licenses)
	e.text("SLURM_DISTRIBUTION", o.Distribution)
	e.num("SLURM_DIST_PLANESIZE", int64(o.PlaneSize))
	e.num("SLURM_THREADS_PER_CORE", int64(o.ThreadsPerCore))
	if o.Overcommit {
		e.must("SLURM_OVERCOMMIT", 1)
	}
	e.text("SLURM_EXPORT_ENV", o.ExportEnv)
	e.text("SLURM_NETWORK", o.Network)
	e.text("SLURM_PROFILE", o.Profile)
	e.text("SLURM_CONTAINER", o.Container)
}

// devices writes what names GPUs, shards and NICs. A task lists the devices
// bound to it, a script or a shell those of the job on its node.
func (e *envWriter) devices(l *Launch) {
	n := l.Node
	e.num("SLURM_GPUS_ON_NODE", int64(n.GPUs))
	e.num("SLURM_SHARDS_ON_NODE", n.Shards)
	e.list("SLURM_JOB_GPUS", n.JobGPUs)
	if d := n.Devices; d != nil && len(d.Index) > 0 {
		if l.Place == PlaceTask {
			if len(l.Task.Visible) > 0 {
				e.name("SLURM_STEP_GPUS")
				for i, p := range l.Task.Visible {
					e.dst = appendInt32(comma(e.dst, i), d.Index[p])
				}
				e.dst = append(e.dst, 0)
			}
		}
		e.visible("CUDA_VISIBLE_DEVICES", EnvNVIDIA, l)
		e.visible("ROCR_VISIBLE_DEVICES", EnvAMD, l)
		e.visible("ZE_AFFINITY_MASK", EnvIntel, l)
		e.visible("GPU_DEVICE_ORDINAL", EnvOpenCL, l)
	}
	e.num("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", int64(n.MPSPercent))
	e.list("SLURM_JOB_NICS", n.JobNICs)
	if l.Place == PlaceTask {
		e.list("SLURM_STEP_NICS", n.NICs)
	}
	if len(n.NICs) > 0 {
		e.name("OMPI_MCA_btl_openib_if_include")
		for i, nic := range n.NICs {
			e.dst = appendInt32(append(comma(e.dst, i), "mlx4_"...), nic)
		}
		e.dst = append(e.dst, 0)
	}
}

// visible writes the devices that the process sees.
func (e *envWriter) visible(name string, flag EnvFlags, l *Launch) {
	n, d := l.Node, l.Node.Devices
	if n.Flags&flag == 0 {
		return
	}
	count := len(d.Index)
	if l.Place == PlaceTask {
		if count = len(l.Task.Visible); count == 0 {
			return
		}
	}
	e.name(name)
	for i := range count {
		p := int32(i)
		if l.Place == PlaceTask {
			p = l.Task.Visible[i]
		}
		e.dst = comma(e.dst, i)
		if n.Flags&EnvUUID != 0 && int(p) < len(n.UUID) {
			e.dst = append(e.dst, n.UUID[p]...)
		} else {
			e.dst = appendInt32(e.dst, d.visible(i, p, l.Place == PlaceTask))
		}
	}
	e.dst = append(e.dst, 0)
}

func (e *envWriter) ranks(l *Launch) {
	rank, local, node := int32(0), int32(0), int32(0)
	if l.Place == PlaceTask {
		rank, local, node = l.Task.Rank, l.Task.Local, l.Node.ID
	}
	e.must("SLURM_PROCID", int64(rank))
	e.must("SLURM_LOCALID", int64(local))
	e.must("SLURM_NODEID", int64(node))
	if l.Place == PlaceTask {
		e.list("SLURM_GTIDS", l.Node.Ranks)
	} else {
		e.must("SLURM_GTIDS", 0)
	}
}

// Step ids of what is no srun step.
const (
	batchStep       = -5
	interactiveStep = -6
)

func (e *envWriter) step(l *Launch) {
	id := int64(batchStep)
	switch l.Place {
	case PlaceInteractive:
		id = interactiveStep
	case PlaceTask:
		id = int64(l.Step.ID)
	}
	e.must("SLURM_STEP_ID", id)
	e.must("SLURM_STEPID", id)
	s := l.Step
	if l.Place == PlaceBatch && l.Options != nil {
		e.memBind(&l.Options.MemBind, "SBATCH_MEM_BIND_TYPE", "SBATCH_MEM_BIND_LIST", "SBATCH_MEM_BIND_VERBOSE")
	}
	if l.Place == PlaceBatch || s == nil {
		return
	}
	e.text("SLURM_STEP_NODELIST", s.NodeList)
	e.must("SLURM_STEP_NUM_NODES", int64(len(s.TasksPerNode)))
	e.must("SLURM_STEP_NUM_TASKS", int64(s.Tasks))
	e.counts("SLURM_STEP_TASKS_PER_NODE", s.TasksPerNode)
	if l.Place != PlaceTask {
		return
	}
	if b := s.CPUBind; b != nil {
		e.text("SLURM_CPU_BIND_VERBOSE", loudness(b.Verbose))
		e.text("SLURM_CPU_BIND_TYPE", b.Type.String())
		if len(b.Map)+len(b.Masks) > 0 {
			e.name("SLURM_CPU_BIND_LIST")
			e.dst = append(b.AppendList(e.dst), 0)
		}
	}
	e.memBind(&s.MemBind, "SLURM_MEM_BIND_TYPE", "SLURM_MEM_BIND_LIST", "SLURM_MEM_BIND_VERBOSE")
	e.text("SLURM_LAUNCH_NODE_IPADDR", s.LaunchIP)
	e.text("SLURM_SRUN_COMM_HOST", s.CommHost)
	e.num("SLURM_SRUN_COMM_PORT", int64(s.CommPort))
	e.num("SLURM_STEP_LAUNCHER_PORT", int64(s.Port))
}

func loudness(verbose bool) string {
	if verbose {
		return "verbose"
	}
	return "quiet"
}

func (e *envWriter) memBind(m *MemBinding, typ, list, verbose string) {
	if m.Type == "" {
		return
	}
	e.text(typ, m.Type)
	e.text(list, m.List)
	e.text(verbose, loudness(m.Verbose))
}

func (e *envWriter) array(l *Launch) {
	a := l.Job.Array
	if a == nil || l.Place == PlaceInteractive {
		return
	}
	e.must("SLURM_ARRAY_JOB_ID", int64(a.JobID))
	e.must("SLURM_ARRAY_TASK_ID", a.Task)
	e.must("SLURM_ARRAY_TASK_COUNT", a.Count)
	e.must("SLURM_ARRAY_TASK_MIN", a.Min)
	e.must("SLURM_ARRAY_TASK_MAX", a.Max)
	e.must("SLURM_ARRAY_TASK_STEP", a.Step)
}

// het writes the variables of every component, under the older names too.
func (e *envWriter) het(j *JobEnv) {
	if len(j.Het) == 0 {
		return
	}
	e.must("SLURM_HET_SIZE", int64(len(j.Het)))
	e.must("SLURM_PACK_SIZE", int64(len(j.Het)))
	for i := range j.Het {
		for _, suffix := range [2]string{"_HET_GROUP_", "_PACK_GROUP_"} {
			e.suffix, e.group = suffix, int32(i)
			e.component(&j.Het[i])
		}
	}
	e.suffix = ""
}

func (e *envWriter) component(h *HetEnv) {
	j, o := h.Job, h.Options
	if o == nil {
		o = &OptionEnv{}
	}
	e.must("SLURM_JOB_ID", int64(j.ID))
	e.text("SLURM_JOB_NAME", j.Name)
	e.text("SLURM_JOB_NODELIST", j.NodeList)
	e.must("SLURM_JOB_NUM_NODES", int64(len(j.CPUsPerNode)))
	e.counts("SLURM_JOB_CPUS_PER_NODE", j.CPUsPerNode)
	e.text("SLURM_JOB_PARTITION", j.Partition)
	e.text("SLURM_JOB_QOS", j.QOS)
	e.text("SLURM_JOB_ACCOUNT", j.Account)
	e.counts("SLURM_TASKS_PER_NODE", j.TasksPerNode)
	e.num("SLURM_NTASKS", int64(o.Tasks))
	e.num("SLURM_NPROCS", int64(o.Tasks))
	e.num("SLURM_NTASKS_PER_NODE", int64(o.TasksPerNode))
	e.text("SLURM_GPUS", o.GPUs)
	e.num("SLURM_CPUS_PER_GPU", int64(o.CPUsPerGPU))
	e.num("SLURM_MEM_PER_NODE", o.MemPerNode)
}

func (e *envWriter) rest(l *Launch) {
	j := l.Job
	e.text("SLURMD_NODENAME", l.Node.Name)
	if l.Place != PlaceInteractive {
		e.text("SLURM_JOB_EXCLUSIVE", j.Exclusive)
		e.text("SLURM_JOB_OVERSUBSCRIBE", j.Oversubscribe)
	}
	e.flag("SLURM_OOM_KILL_STEP", j.OOMKillStep)
	e.must("SLURM_PRIO_PROCESS", int64(j.PrioProcess))
	e.text("SLURM_UMASK", j.Umask)
	if t := l.Task; t != nil && l.Place == PlaceTask {
		e.num("SLURM_TASK_PID", int64(t.PID))
	}
}
