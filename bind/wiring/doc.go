// Package wiring reads how a machine is wired inside: sockets, cores, NUMA
// nodes, PCIe switches, GPUs and network adapters.
//
// The inputs are files and text: a tree like /sys behind an fs.FS ([Sysfs]),
// the output of nvidia-smi topo -m ([Topo]), -L ([List]) and --query-gpu
// ([Query]), and an XML file of hwloc 2 ([Hwloc]), such as lstopo writes.
//
// Each gives a [topology.Machine], a plain value, or rows of one. What a source
// does not tell is left at "unknown"; the field's comment says which value
// that is.
//
// Reading is deterministic and takes nothing but the given input. Errors are of
// type [*ParseError] and name the file, the line and the word. No input makes it
// panic.
//
// It does not ask the driver (package nvml does: NVLink and MIG are known to it
// alone) and decides nothing (package bind does). Slurm says gres.conf Cores and
// Links; Kubernetes says node topology.
package wiring
