// Package slurmconf reads a Slurm site's own files: slurm.conf with everything
// it includes, gres.conf, topology.conf or topology.yaml, cgroup.conf (for the
// linter), dumps and command lines of sacctmgr, and the arguments of scontrol
// create reservation.
package slurmconf
