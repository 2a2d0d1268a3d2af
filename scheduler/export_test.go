package scheduler

// Checking tells external tests that the books are walked after every call.
const Checking = checking

// AlwaysPropose makes the search for victims begin with a proposal among few
// candidates too.
func AlwaysPropose(s Scheduler) { s.(*engine).pre.cost.always = true }
