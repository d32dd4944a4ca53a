package console

import (
	"errors"
	"fmt"
)

// The program exits with one of these statuses.
const (
	StatusOK     = 0
	StatusFailed = 1 // the job failed or was cancelled, or an unexpected error occurred
	StatusUsage  = 2 // a flag, a parameter, a job's name or an ID is wrong
	StatusAbsent = 3 // no cluster was found, there was no answer in time, or the job has not ended
	StatusStuck  = 4 // a worker has ended because code of jobs does not return; a supervisor should restart it
)

// StatusError is an error with the exit status of the program. An error without an exit status
// causes StatusFailed.
type StatusError struct {
	Status int
	Err    error
}

func (e *StatusError) Error() string { return e.Err.Error() }
func (e *StatusError) Unwrap() error { return e.Err }

// Usage gives err the exit status for wrong usage. It returns nil if err is nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &StatusError{StatusUsage, err}
}

// Usagef returns an error with the exit status for wrong usage.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Absentf returns an error with the exit status for a cluster or an answer that is absent.
func Absentf(format string, args ...any) error {
	return &StatusError{StatusAbsent, fmt.Errorf(format, args...)}
}

// Status is an error of a command that exits with a status and prints no error, such as elect,
// which exits with the status of the user's command.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// StatusOf returns the exit status for an error.
func StatusOf(err error) int {
	var s *StatusError
	if errors.As(err, &s) {
		return s.Status
	}
	return StatusFailed
}
