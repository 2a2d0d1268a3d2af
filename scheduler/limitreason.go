package scheduler

// limitReasonName returns the name of a limit reason of package qos.
func limitReasonName(Reason) string { return "None" }

// limitReasonByName is the inverse of limitReasonName.
func limitReasonByName(string) (Reason, bool) { return 0, false }
