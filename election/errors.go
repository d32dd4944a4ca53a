package election

import (
	"errors"

	"github.com/bellwether-compute/bellwether/election/machine"
)

// Drivers wrap these errors, and do not return errors of their SDK.
var (
	// ErrHeld means that another process holds the lease, and that the claim does not replace this
	// process.
	ErrHeld = machine.ErrHeld
	// ErrLost means that the lease no longer belongs to the caller, so a retry cannot succeed.
	ErrLost = machine.ErrLost
	// ErrUnavailable means that storage cannot be reached or refuses calls at the moment. A call
	// that returned ErrUnavailable may have taken effect nevertheless.
	ErrUnavailable = errors.New("lease storage unavailable")
	// ErrNoResponders means that no process listens on the subject. After ErrNoResponders, the
	// receiver's process has died or lost its connection.
	ErrNoResponders = machine.ErrNoResponders
)

// ErrDeposed is wrapped by the cause of a leadership's context (see [context.Cause]) if the
// leadership ends before the leading function returns.
var ErrDeposed = machine.ErrDeposed
