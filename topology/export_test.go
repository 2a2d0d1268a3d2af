package topology

// Checking is on in builds that check invariants, where allocations do not count.
const Checking = checking
