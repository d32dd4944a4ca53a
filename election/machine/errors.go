package machine

import (
	"errors"
	"fmt"
)

// The errors of answers. Package election documents them.
var (
	ErrHeld         = errors.New("lease is held")
	ErrLost         = errors.New("lease is lost")
	ErrNoResponders = errors.New("no responders")
)

// ErrDeposed is wrapped by each cause of [EndTerm], [SetDeadline] and [Deposed].
var ErrDeposed = errors.New("no longer the leader")

// ErrExpired is the reason for the end of a term whose deadline passes, unless SetDeadline names
// another reason.
var ErrExpired = fmt.Errorf("%w: the lease could not be renewed in time", ErrDeposed)

var (
	errLost    = fmt.Errorf("%w: another process holds the lease", ErrDeposed)
	errStalled = fmt.Errorf("%w: the leading loop hangs", ErrDeposed)
)

// HigherEpoch returns the reason for the end of a term if a higher epoch was seen.
func HigherEpoch(epoch uint64) error { return fmt.Errorf("%w: epoch %d was seen", ErrDeposed, epoch) }
