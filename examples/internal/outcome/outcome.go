package outcome

// Second is one second in the unit of all times here, the microsecond.
const Second = 1_000_000

// A Node is one machine.
type Node struct {
	Name     string
	MilliCPU int64
	GPUs     int64
	Type     string // of its GPUs
}

// A Device is what a job holds of one GPU.
type Device struct {
	Index int32 // -1: the node counts devices only
	Milli int64 // 1000 for a whole one; with index -1 the sum of several
}

// A Place is what a job holds on one node.
type Place struct {
	Node     int32 // row of Run.Nodes
	MilliCPU int64
	Devices  []Device
}

// A Stay is one run of a job, from start to end.
type Stay struct {
	Start, End int64
	Backfill   bool // it passed a waiting job of higher rank
	Places     []Place
	// Evicted says that the stay ended to make room for the job For: what it had
	// done is lost.
	Evicted bool
	For     uint64
}

// A Wait says how long a job waited for one reason.
type Wait struct {
	Reason string
	Time   int64
}

// A Job is what became of one job.
type Job struct {
	ID                            uint64
	Name                          string // as its log names it
	User, Account, Partition, QOS string
	State                         string // final state by Slurm's name
	Submit                        int64
	Limit                         int64 // 0: none
	Stays                         []Stay
	Waits                         []Wait // in order of first appearance
	// Promised says that the job had a plan before it started: first for Promise,
	// as seen at PromisedAt.
	Promised            bool
	Promise, PromisedAt int64
	Pauses              []Pause
}

// Start is when the job first started; Submit if it never did.
func (j *Job) Start() int64 {
	if len(j.Stays) == 0 {
		return j.Submit
	}
	return j.Stays[0].Start
}

// End is when the job ended; Submit if it never started.
func (j *Job) End() int64 {
	if len(j.Stays) == 0 {
		return j.Submit
	}
	return j.Stays[len(j.Stays)-1].End
}

// Ran is how long the job ran in all.
func (j *Job) Ran() int64 {
	var t int64
	for i := range j.Stays {
		t += j.Stays[i].End - j.Stays[i].Start
	}
	return t
}

// GPUMilli is what the job held of GPUs in its last run, in thousandths.
func (j *Job) GPUMilli() int64 {
	if len(j.Stays) == 0 {
		return 0
	}
	n, _ := j.Stays[len(j.Stays)-1].held()
	return n
}

// Nodes is the number of nodes that the job held in its last run.
func (j *Job) Nodes() int {
	if len(j.Stays) == 0 {
		return 0
	}
	return len(j.Stays[len(j.Stays)-1].Places)
}

// held sums what a stay holds of GPUs and CPUs, in thousandths.
func (s *Stay) held() (gpuMilli, milliCPU int64) {
	for i := range s.Places {
		gpu, cpu := s.Places[i].held()
		gpuMilli += gpu
		milliCPU += cpu
	}
	return gpuMilli, milliCPU
}

func (p *Place) held() (gpuMilli, milliCPU int64) {
	for _, d := range p.Devices {
		gpuMilli += d.Milli
	}
	return gpuMilli, p.MilliCPU
}

// A Sample is the state of the cluster from At until the next sample.
type Sample struct {
	At                 int64
	GPUMilli, MilliCPU int64 // in use, as the scheduler counts
	Nodes              int   // with a job
	Pending, Running   int   // jobs
}

// A Unit is a rack, a switch or a block: nodes that lie together.
type Unit struct {
	Name  string
	Nodes []int32 // rows of Run.Nodes
}

// A Pause is a time in which a job was suspended to make room for the job For.
type Pause struct {
	Start, End int64
	For        uint64
}

// A Reservation kept nodes for some jobs, or for none.
type Reservation struct {
	Name       string
	Start, End int64
	Nodes      []int32 // rows of Run.Nodes
}

// A Share is what an account, or a user in it, had used and was due over time.
type Share struct {
	Account, User string // User is empty for an account
	Depth         int    // below the root
	Points        []SharePoint
}

// A SharePoint is one look at a share; parts are of one.
type SharePoint struct {
	At     int64
	Due    float64 // part of the parent's that it should have
	Used   float64 // part of the parent's decayed usage that is its own
	Factor float64 // fair-share factor; 0 for accounts
}

// A Run is a whole replay.
type Run struct {
	Title   string   // what was run, for headings
	Notes   []string // what a reader should know, a sentence each
	Nodes   []Node
	Units   []Unit   // the topology's lowest units; nil if it has none
	Jobs    []Job    // in order of submission
	Samples []Sample // in order of time; the last one is at the end of the last job or later
	Passes  int

	Reservations []Reservation // in order of start
	Shares       []Share       // the root first; nil if the cluster has no accounts
}

// Span returns the first submission and the last end.
func (r *Run) Span() (first, last int64) {
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if i == 0 || j.Submit < first {
			first = j.Submit
		}
		last = max(last, j.End())
	}
	return first, max(last, first)
}

// Capacity returns the cluster's GPUs and CPUs, in thousandths.
func (r *Run) Capacity() (gpuMilli, milliCPU int64) {
	for _, n := range r.Nodes {
		gpuMilli += n.GPUs * 1000
		milliCPU += n.MilliCPU
	}
	return gpuMilli, milliCPU
}

// Most is the greatest part of its parent's usage that the share ever was.
func (s *Share) Most() float64 {
	most := 0.0
	for i := range s.Points {
		most = max(most, s.Points[i].Used)
	}
	return most
}
