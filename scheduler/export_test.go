package scheduler

// Checking tells external tests that the books are walked after every call.
const Checking = checking

// AlwaysPropose makes the search for victims begin with a proposal among few
// candidates too.
func AlwaysPropose(s Scheduler) { s.(*engine).pre.cost.always = true }

// SlurmSteps is the number of node tests of the last planning pass in Slurm mode.
func SlurmSteps(s Scheduler) int64 { return s.(*engine).slurm.steps }
