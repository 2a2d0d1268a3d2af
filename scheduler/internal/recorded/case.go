package main

import "encoding/json"

// A recordedFile is a file of cases recorded from a real Slurm 26.05.3.
type recordedFile struct {
	Area, Name string
	Files      map[string]json.RawMessage
	Cases      []recordedCase
}

type recordedCase struct {
	ID    string
	State struct {
		Drained      string
		Running      []recordedJob
		Limits       []recordedLimit
		Reservations []recordedReservation
	}
	Submit  []recordedJob
	Expect  map[string]json.RawMessage
	Suspect []string
}

type recordedJob struct {
	Name, User string
	Args       []string
	Result     *recordedAnswer
}

type recordedLimit struct{ Entity, Limit, Value string }

type recordedReservation struct {
	Name   string
	Args   []string
	Result *struct {
		Nodes      string
		Start, End int64
	}
	Error string
}

// A recordedAnswer is what became of a job.
type recordedAnswer struct {
	State, Reason string
	ReasonAlso    []string `json:"reason_also"`
	Nodelist      string
	NumNodes      int32  `json:"num_nodes"`
	NumCPUs       int64  `json:"num_cpus"`
	NumTasks      int32  `json:"num_tasks"`
	BatchHost     string `json:"batch_host"`
	TRES          string
	Alloc         []recordedAlloc
	Start, End    *int64
	TimeLimit     string `json:"time_limit"`
	SchedNodelist string `json:"sched_nodelist"`
	Error         string
}

type recordedAlloc struct {
	Nodes  string
	CPUIDs string `json:"cpu_ids"`
	Mem    int64
	GRES   string
}
