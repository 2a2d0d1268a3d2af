package scheduler

// Checking tells external tests that the books are walked after every call.
const Checking = checking
