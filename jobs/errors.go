package jobs

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Permanent marks err as an error that a retry cannot cure: the job fails at once, regardless of
// its limit of attempts. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// IsPermanent reports whether err, or an error it wraps, was marked by
// [Permanent].
func IsPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// PanicError is the error for a panic in a job's code. If the panic's value is an error, PanicError
// wraps it.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func newPanicError(value any) *PanicError { return &PanicError{value, debug.Stack()} }

// recoverTo turns a panic into an error. Functions that call a job's code defer
// recoverTo.
func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = newPanicError(v)
	}
}

// ErrGoexit is the error for job code that called [runtime.Goexit], which ends the goroutine.
var ErrGoexit = errors.New("the code called runtime.Goexit, which ends its goroutine; t.FailNow and t.Fatal of package testing call it")

// PartitionError is an error of one partition.
type PartitionError struct {
	Partition uint64
	Err       error
}

func (e *PartitionError) Error() string { return fmt.Sprintf("partition %d: %v", e.Partition, e.Err) }
func (e *PartitionError) Unwrap() error { return e.Err }
