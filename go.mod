module github.com/berth-sched/berth

go 1.26.0

require (
	github.com/bits-and-blooms/bitset v1.29.0
	github.com/cilium/ebpf v0.22.0
	github.com/cockroachdb/datadriven v1.0.3
	github.com/google/go-cmp v0.7.0
	go.yaml.in/yaml/v3 v3.0.6
	pgregory.net/rapid v1.3.0
)

require (
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.43.0 // indirect
)
