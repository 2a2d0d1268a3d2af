module github.com/berth-sched/berth/examples

go 1.26.0

require (
	github.com/berth-sched/berth v0.0.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/bits-and-blooms/bitset v1.29.0 // indirect
	github.com/cilium/ebpf v0.22.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sys v0.43.0 // indirect
)

replace github.com/berth-sched/berth => ../
