// Package sbatch reads what users write: the options of sbatch, salloc and
// srun, and the #SBATCH lines of batch scripts, and makes the
// [scheduler.JobSpec] of every component of a submission. A line that works
// with Slurm 26.05 works here, and what Slurm's command refuses is refused with
// the same text.
//
// The input is the words of a command line, the text of a script and the
// SBATCH_… variables ([Input]); nothing is read from the machine, and the
// current time is part of the input because of times such as now+1hour.
//
// [Parse] is the entry point. The grammars that have a shape of their own are
// functions of their own, each with an Append twin: [ParseArray],
// [ParseDependency], [ParseFeatures], [ParseSignal], [ParseMemory],
// [ParseWhen]. [Lint] looks at a parsed script beside a configuration and
// reports what works against its writer.
//
// The package is pure and deterministic. It costs a few microseconds a script.
//
// What an option means is left to others: package gres has the grammar of
// devices and topology that of host lists, and whether a cluster can run the
// request is the scheduler's answer. Options of plug-ins (pyxis's
// --container-image and others, more by a list) are kept as given; an option
// that nobody knows is an error of kind [ErrUnknownOption]. In Kubernetes'
// words a submission is a Job, a component of a heterogeneous job one of the
// job templates of a JobSet.
package sbatch
