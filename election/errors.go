package election

import "errors"

// Drivers wrap the following errors, and do not return errors of their SDK.
var (
	// ErrHeld: another process holds the lease, and the claim does not replace that
	// process.
	ErrHeld = errors.New("lease is held")
	// ErrLost: the lease no longer belongs to the caller. A retry cannot succeed.
	ErrLost = errors.New("lease is lost")
	// ErrUnavailable: storage cannot be reached or refuses calls at the moment. The call may have
	// taken effect nevertheless.
	ErrUnavailable = errors.New("lease storage unavailable")
	// ErrNoResponders: no process listens on the subject. The receiver's process has
	// died or lost its connection.
	ErrNoResponders = errors.New("no responders")
)
