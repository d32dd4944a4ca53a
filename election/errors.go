package election

import "errors"

// Errors that drivers return, wrapped, whatever their SDK calls them.
var (
	// ErrHeld: somebody else holds the lease, and not the holder the claim names.
	ErrHeld = errors.New("lease is held")
	// ErrLost: the lease is no longer this holder's. It never comes back.
	ErrLost = errors.New("lease is lost")
	// ErrUnavailable: storage cannot be reached or refuses for now. What was asked
	// may have happened all the same.
	ErrUnavailable = errors.New("lease storage unavailable")
	// ErrNoResponders: nobody listens where the other side should; its process is
	// gone, or its connection is.
	ErrNoResponders = errors.New("nobody listens")
)
