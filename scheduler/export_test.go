package scheduler

// Checking tells external tests that the books are walked after every call.
const Checking = checking

// AddUsage gives the association of a user in an account decayed usage, as
// billing seconds.
func AddUsage(s Scheduler, account, user string, seconds float64) bool {
	l := s.(*engine).acct.l
	id := l.Find(account, user, "")
	if id == 0 {
		return false
	}
	l.AddUsage(id, seconds, 0, nil)
	return true
}
