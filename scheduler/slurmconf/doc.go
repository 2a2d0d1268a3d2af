// Package slurmconf makes a scheduler out of a Slurm site's own files:
// slurm.conf with what it includes, gres.conf, topology.conf or topology.yaml,
// dumps and command lines of sacctmgr, and the arguments of scontrol create
// reservation. cgroup.conf is read for the linter alone.
//
// The input is a file system ([io/fs.FS]) or a directory. Keys are those of
// Slurm 26.05 in any case; DEFAULT lines, continuations, comments and nested
// includes mean what they mean there. In Kubernetes' words the files hold the
// nodes, the node pools (partitions), the topology and the queues with their
// quotas (accounts and QOS).
//
// [Load] and [LoadDir] return a [scheduler.Config] of profile Slurm and the
// events that follow New. [Read] returns the values with the place where each
// was written ([Files]), and [Lint] looks for traps in them. [ParseReservation]
// and [ParseCommand] read single command lines, [Files.AddNodes] what a dynamic
// node says of itself.
//
// Reading is deterministic and keeps nothing. An unknown key becomes a
// [Warning]; a bad value becomes an [*Error] that names file, line and word,
// and all of them are reported at once; on any error nothing is returned:
// nothing is half loaded. It costs O(bytes + nodes): a cluster of 100,000 nodes
// with a line a rack takes a quarter of a second.
//
// What is left to others: the scheduler decides what a combination means and
// refuses what it cannot build; cgroupsv2 reads cgroup.conf for use; what nodes
// really have comes from them (nvml) as events.
//
// # Wall clock
//
// Slurm bounds some of its work in seconds. A decision here never depends on
// the speed of the machine, so those parameters become budgets of steps:
//
//	bf_max_time        Plan.MaxSteps = seconds · StepsPerSecond · share
//	bf_yield_interval  the share of bf_max_time in which the lock is held:
//	bf_yield_sleep     interval / (interval + sleep), 0.8 by default
//	max_sched_time     Queue.MaxSteps = seconds · StepsPerSecond
//
// Without bf_max_time a planning pass has no budget; Slurm's default is its
// interval. Without max_sched_time a start phase has none; Slurm's is 2 s.
//
// # What has no effect
//
// A word of SchedulerParameters, or a parameter, that concerns decisions and is
// not followed is named by [scheduler.Unenforced]: bf_topopt_enable,
// bf_ignore_newly_avail_nodes, time_min_as_soft_limit, extra_constraints,
// delay_boot, default_gbytes and those of heterogeneous jobs and arrays;
// SuspendTime and its kin, MCSPlugin and others.
// These words concern no decision of a library:
//
//	batch_sched_delay build_queue_timeout defer defer_batch sched_min_interval
//	      a pass happens when the program calls Pass, a submission starts nothing
//	enable_job_state_cache max_rpc_cnt no_backup_scheduling
//	      remote calls and the controller's twin
//	disable_job_shrink enable_user_top
//	      who may ask for what: the program decides whose events it applies
//	disable_hetjob_steps enable_hetjob_steps max_script_size max_submit_line_size
//	no_env_cache salloc_wait_nodes sbatch_wait_nodes step_retry_count
//	step_retry_time requeue_setup_env_fail
//	      commands, scripts, launching and the wait of commands for it
//	ignore_numa
//	      what nodes are is what their lines say
//
// # Differences from Slurm
//
// A node in two blocks or two rings, or twice in a ring, is refused; Slurm counts
// it twice. TopologyPlugin without its topology.conf is a warning and the nodes
// are flat. A node line with CPUs alone and more than 64 of them is one socket of
// so many cores. A node set by feature holds the nodes that have the feature in
// the files, unless MaxNodeCount lets nodes join. Names of accounts, users and QOS keep their case.
package slurmconf
