package client

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

var (
	ErrNoLeader  = errors.New("no leader")
	ErrUnused    = errors.New("no worker has used the storage")
	ErrUnknown   = errors.New("no worker runs the job")
	ErrAmbiguous = errors.New("ambiguous job ID")
	ErrInvalid   = errors.New("invalid submission")
	ErrNotEnded  = errors.New("job has not ended")
	ErrEnded     = errors.New("job has ended")
	ErrFailed    = errors.New("job failed")
	ErrCancelled = errors.New("job cancelled")

	ErrOtherStorage = wire.ErrOtherStorage

	ErrNotFound    = store.ErrNotFound
	ErrUnavailable = cluster.ErrUnavailable
	ErrDenied      = cluster.ErrDenied
	ErrDamaged     = store.ErrCorrupt
	ErrNewer       = store.ErrNewer
)

// JobError is the error for a job in the wrong state. A JobError wraps [ErrNotEnded], [ErrEnded],
// [ErrFailed] or [ErrCancelled] and names the job.
type JobError struct {
	ID      string
	State   State
	Message string // reason why the job failed; the stack of a panic follows the first line
	Err     error  // ErrNotEnded, ErrEnded, ErrFailed or ErrCancelled
}

func (e *JobError) Error() string {
	switch e.Err {
	case ErrNotEnded:
		return fmt.Sprintf("job %s has not ended, it is %s", e.ID, e.State)
	case ErrEnded:
		return fmt.Sprintf("job %s has ended already: it is %s", e.ID, e.State)
	case ErrCancelled:
		return fmt.Sprintf("job %s was cancelled", e.ID)
	}
	line, _, _ := strings.Cut(e.Message, "\n")
	return fmt.Sprintf("job %s %s: %s", e.ID, e.State, line)
}

func (e *JobError) Unwrap() error { return e.Err }

// markedError is an error that wraps a sentinel error without its text.
type markedError struct{ err, sentinel error }

func (e *markedError) Error() string   { return e.err.Error() }
func (e *markedError) Unwrap() []error { return []error{e.err, e.sentinel} }

func errorf(sentinel error, format string, args ...any) error {
	return &markedError{fmt.Errorf(format, args...), sentinel}
}
