package election

import "errors"

// Errors that lease drivers return, wrapped, whatever their SDK calls them.
var (
	// ErrHeld: somebody else holds the lease, and not the holder the claim names.
	ErrHeld = errors.New("lease is held")
	// ErrLost: the lease is no longer this holder's. It never comes back.
	ErrLost = errors.New("lease is lost")
	// ErrUnavailable: storage cannot be reached or refuses for now. What was asked
	// may have happened all the same.
	ErrUnavailable = errors.New("lease storage unavailable")
)

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
	// Over is the lease ID of a holder believed dead, or one that was transferred
	// to the claimant. A lease that is held changes hands only if it still has that
	// ID. Empty: take the lease only where it is free or has expired.
	Over string
}
