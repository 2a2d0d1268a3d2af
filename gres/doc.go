// Package gres answers what a cluster has, what a job asks, and which cores
// and devices of which node it gets. It owns the words for countable things:
// TRES kinds and vectors (Slurm), extended resources and device claims
// (Kubernetes), and the pool of what is free on every node.
//
// The inputs are a [Schema] of the kinds that are counted, the [Shape] of each
// kind of node (sockets, cores, memory, devices, or counts alone), and
// requests. Amounts are int64 with a unit: CPUs, MiB, pieces, milli-GPUs.
// There is no float in an amount, so 0.1 and 0.2 of a GPU are 0.3 of it.
//
// The entry points are [ParseTRES] and [AppendTRES] for text, the arithmetic
// on [Vector], and the pool of nodes with its index.
//
// Everything here is pure and deterministic: no clock, no goroutine, no
// global that changes, no dependence on map order or on floats. Equal calls
// in equal order give equal results, ties end at the lowest index.
//
// It does not know jobs, users, time, or where nodes stand to each other:
// who may run is the business of qos and priority, which nodes go together
// that of topology.
package gres
