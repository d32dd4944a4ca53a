package command

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"time"
)

// Config is the configuration of [Run].
type Config struct {
	Args  []string      // the command and its arguments
	Env   []string      // environment variables (name=value) that are added to those of this process
	Grace time.Duration // time from SIGTERM to SIGKILL

	// Watchdog is the command line that starts the watchdog: a program and its first arguments, to
	// which Run appends Args. The watchdog program must call [Watchdog] with Args and Grace.
	Watchdog []string

	Logger *slog.Logger
}

// Result describes how a command ended.
type Result struct {
	Status  int  // status as in a Unix shell: the exit status, or 128 + the signal's number
	Stopped bool // the command was told to stop
}

// The statuses are the same as in a Unix shell for a command that cannot be started.
const (
	StatusNotExecutable = 126
	StatusNotFound      = 127
)

// StartError is the error for a command that could not be started.
type StartError struct {
	Status int // exit status of the command: StatusNotExecutable or StatusNotFound
	Reason string
}

func (e *StartError) Error() string { return e.Reason }

// Find returns a *StartError if a command does not exist or may not be executed.
func Find(name string) error {
	_, err := exec.LookPath(name)
	return startError(name, err)
}

// startError converts err to a *StartError, or returns nil if err is nil.
func startError(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return &StartError{StatusNotFound, fmt.Sprintf("%s: command not found", name)}
	}
	return &StartError{StatusNotExecutable, fmt.Sprintf("%s: cannot be executed: %v", name, err)}
}
