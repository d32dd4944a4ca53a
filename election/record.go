package election

// Record says who holds the lease, or held it last. The zero Record is that of a
// lease never held.
type Record struct {
	Epoch   uint64 // of the holder; grows by one with each
	Holder  string // the worker's ID
	LeaseID string // a UUID, fresh for each holder's attempt
	Held    bool   // false once it is released or known to have expired
}

// Claim is one attempt to become the holder.
type Claim struct {
	Holder  string
	LeaseID string // a UUID, fresh; the same again only to retry the very same attempt
	// Replaces is the lease ID of a holder believed dead, or one that was transferred
	// to the claimant. A lease that is held changes hands only if it still has that
	// ID. Empty: take the lease only where it is free or has expired.
	Replaces string
}
