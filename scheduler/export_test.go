package scheduler

// Checking tells external tests that the books are walked after every call.
const Checking = checking

// AlwaysPropose makes the search for victims begin with a proposal among few
// candidates too.
func AlwaysPropose(s Scheduler) { s.(*engine).pre.cost.always = true }

// SlurmSteps is the number of node tests of the last planning pass in Slurm mode.
func SlurmSteps(s Scheduler) int64 { return s.(*engine).slurm.steps }

// SlurmWork is the number of tries of all planning passes in Slurm mode, and of
// nodes that they took off running jobs to look ahead.
func SlurmWork(s Scheduler) (tries, nodes int64) {
	o := &s.(*engine).slurm.off
	return o.tries, o.taken
}

// StartsLeft lists the jobs that wait though they would fit now beside what runs
// and what is planned for others: each is tried node by node, without calendars.
func StartsLeft(s Scheduler) []JobID {
	if s.(*engine).counts.Pending == 0 {
		return nil
	}
	e := s.(*engine).fork()
	var left []JobID
	for _, rec := range e.records() {
		j := &e.jobs.rows[rec.row]
		if j.qgen != rec.gen || !e.gate(rec) {
			continue
		}
		e.plans.skip = rec.row
		e.freed++ // nothing is remembered
		if e.tryNow(rec, &e.plans) && e.admits(rec) {
			left = append(left, rec.id)
		}
	}
	return left
}

// PlanSteps is the number of looks at nodes of all searches for a start so far in
// profile Best.
func PlanSteps(s Scheduler) int64 { return s.(*engine).plans.find.steps }

// DependSteps is the number of looks at conditions of dependencies so far.
func DependSteps(s Scheduler) int64 { return s.(*engine).depends.steps }

// ReservationLooks is the number of looks so far at nodes, jobs and reservations
// when reservations are made, and at reservations when jobs are tried.
func ReservationLooks(s Scheduler) int64 { return s.(*engine).resv.looks }

// PlansLeft is the number of changes that the last pass had no steps left for to
// compare all plans with.
func PlansLeft(s Scheduler) int { return s.(*engine).plans.put }
