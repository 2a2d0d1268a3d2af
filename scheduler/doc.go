// Package scheduler decides which job runs where and when, and says why the
// others wait. It joins the packages below it behind one interface,
// [Scheduler]: facts go in by Apply, decisions come out of Pass.
package scheduler
