package machine

// Record says which process holds the lease, or held it last. The zero Record means that the lease
// was never held.
type Record struct {
	Epoch   uint64 // epoch of the holder; one more than the epoch of the previous holder
	Holder  string // ID of the worker that holds the lease
	LeaseID string // random UUID of the claim with which the holder acquired the lease
	Held    bool   // false if the lease was released or is known to have expired
}

// Claim is one attempt to become the holder.
type Claim struct {
	Holder  string
	LeaseID string // random UUID of the claim; a retry of the claim uses the same UUID
	// Replaces is the lease ID of a holder that is believed dead, or an ID that was transferred to
	// the claimant. The claim of a held lease succeeds only if the lease still has the ID in
	// Replaces. If Replaces is empty, the claim succeeds only if the lease is free or has expired.
	Replaces string
	// Above is the highest epoch that the claimant has seen in a refused write. It is below the
	// record's epoch, unless storage has lost the record or replaced it by an older one.
	Above uint64
}
