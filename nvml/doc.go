// Package nvml finds the GPUs of a machine: model, unique id, device files,
// near CPUs, links, MIG instances, and how they do.
//
// Its input is a [Source]: NVIDIA's management library, opened at run time
// ([Open]); the kernel's files without the library ([Kernel]); AMD's through
// /sys ([AMD]); Slurm's text for emulated devices ([ParseEmulation]); or one of
// the embedding program, for any other maker's library ([Detect]).
//
// A source gives a [Snapshot], a plain value; [Discover] makes of it the
// records that gres merges with a configuration, by Slurm's rules, and
// [Library.AppendHealth] and [Watch] tell what became of each device. [Machine] adds what
// the driver knows to the wiring that bind/wiring read.
//
// Only the file that calls the library needs cgo: without it [Open] returns
// [ErrUnsupported], and everything else works. Nothing is linked against: a
// program starts where there is no driver. A device that is lost does not fail
// a snapshot, it is a device with an error. Everything but Open, Close and the
// reading of a source is a pure function.
//
// It sets no limits and starts nothing by itself. Slurm says AutoDetect,
// gres.conf, Links, Cores; Kubernetes says device plugin, DRA driver.
package nvml
