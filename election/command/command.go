package command

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"time"
)

// Config says which command to run.
type Config struct {
	Args  []string      // the command and its arguments
	Env   []string      // name=value, added to this process's environment
	Grace time.Duration // time from SIGTERM to SIGKILL

	// Watchdog is the watchdog's program and that program's first arguments. Run appends
	// Args to them. The program must call [Watchdog] with Args and Grace.
	Watchdog []string

	Logger *slog.Logger
}

// Result says how a command ended.
type Result struct {
	Status  int  // as in a Unix shell: the exit status, or 128 + the signal's number
	Stopped bool // the command was told to stop
}

// Exit statuses of a command that cannot be started, as in a Unix shell.
const (
	StatusNotExecutable = 126
	StatusNotFound      = 127
)

// StartError says that a command could not be started.
type StartError struct {
	Status int // StatusNotExecutable or StatusNotFound
	Reason string
}

func (e *StartError) Error() string { return e.Reason }

// Find checks that a command exists and may be executed. Find's error is a *StartError.
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
