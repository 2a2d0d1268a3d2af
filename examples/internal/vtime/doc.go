// Package vtime drives a scheduler in virtual time: the time between two
// events takes no time.
//
// Input is a [scheduler.Scheduler] and a list of [Job] values: what each asks
// for, when it arrives and how long it really runs. [Drive] tells the
// scheduler of arrivals and ends, makes a pass after each instant and at each
// instant that the scheduler wants to be woken at, carries out what it decides
// without delay, and returns what became of each job as an [outcome.Run].
//
// It is an example of the embedding loop, with a heap of events in place of a
// clock. All events of one instant are told before one pass, ends first.
//
// Equal input gives equal output. What the jobs held is taken from the
// scheduler's books at their start; what is in use in all, from its metrics:
// two sources for one sum.
//
// Judging the result is left to package outcome.
package vtime
