package election

import (
	"errors"
	"fmt"
)

// Cause is why a term began.
type Cause string

// The causes of a term.
const (
	First    Cause = "first"    // nobody has led before
	Free     Cause = "free"     // the lease was free: released, or expired while nobody looked
	Expired  Cause = "expired"  // the lease was waited out
	Died     Cause = "died"     // the process of the leader before was gone
	Silent   Cause = "silent"   // the leader before gave no sign of life for too long
	Handover Cause = "handover" // the leader before chose this worker
)

// Crashed reports whether the previous leader ended without releasing the lease:
// its process died, or its lease expired.
func (c Cause) Crashed() bool { return c == Died || c == Expired }

// Causes lists all causes.
var Causes = []Cause{First, Free, Expired, Died, Silent, Handover}

// ErrDeposed is, wrapped, the cause of a leadership's end that was not the
// leading function's own wish: see [context.Cause].
var ErrDeposed = errors.New("no longer the leader")

// Why a leadership ended, besides a higher epoch.
var (
	errLost    = fmt.Errorf("%w: the lease is somebody else's", ErrDeposed)
	errExpired = fmt.Errorf("%w: the lease could not be renewed in time", ErrDeposed)
	errStalled = fmt.Errorf("%w: the leading loop stands still", ErrDeposed)
)

func higherEpoch(epoch uint64) error { return fmt.Errorf("%w: epoch %d was seen", ErrDeposed, epoch) }
