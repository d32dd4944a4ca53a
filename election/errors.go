package election

import "errors"

// Drivers wrap these errors, and do not return errors of their SDK.
var (
	// ErrHeld means that another process holds the lease, and that the claim does not replace this
	// process.
	ErrHeld = errors.New("lease is held")
	// ErrLost means that the lease no longer belongs to the caller, so a retry cannot succeed.
	ErrLost = errors.New("lease is lost")
	// ErrUnavailable means that storage cannot be reached or refuses calls at the moment. A call
	// that returned ErrUnavailable may have taken effect nevertheless.
	ErrUnavailable = errors.New("lease storage unavailable")
	// ErrNoResponders means that no process listens on the subject. After ErrNoResponders, the
	// receiver's process has died or lost its connection.
	ErrNoResponders = errors.New("no responders")
)
