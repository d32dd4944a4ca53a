package election

import "errors"

// Errors that drivers return, wrapped, in place of their SDK's errors.
var (
	// ErrHeld: another process holds the lease, and it is not the holder that the
	// claim replaces.
	ErrHeld = errors.New("lease is held")
	// ErrLost: the lease no longer belongs to this holder, and never will again.
	ErrLost = errors.New("lease is lost")
	// ErrUnavailable: storage cannot be reached or refuses at the moment. The call
	// may have taken effect all the same.
	ErrUnavailable = errors.New("lease storage unavailable")
	// ErrNoResponders: no process listens on the subject. The receiver's process has
	// died or lost its connection.
	ErrNoResponders = errors.New("no responders")
)
