package cli

import (
	"errors"
	"fmt"
)

// The program exits with one of these statuses.
const (
	statusOK     = 0
	statusFailed = 1 // the job failed or was cancelled, or an unexpected error occurred
	statusUsage  = 2 // a flag, a parameter, a job's name or an ID is wrong
	statusAbsent = 3 // no cluster was found, there was no answer in time, or the job has not ended
	statusStuck  = 4 // a worker has ended because code of jobs does not return; a supervisor should restart it
)

// statusError is an error with the exit status of the program. An error without an exit status
// causes statusFailed.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func usage(err error) error {
	if err == nil {
		return nil
	}
	return &statusError{statusUsage, err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

func absentf(format string, args ...any) error {
	return &statusError{statusAbsent, fmt.Errorf(format, args...)}
}

func statusOf(err error) int {
	var s *statusError
	if errors.As(err, &s) {
		return s.status
	}
	return statusFailed
}
