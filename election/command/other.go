//go:build !unix

package command

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var errNeedsUnix = fmt.Errorf("run a command under a lease: %w: it needs Unix", errors.ErrUnsupported)

// Run fails: the package needs Unix.
func Run(context.Context, Config) (Result, error) { return Result{}, errNeedsUnix }

// Watchdog fails: the package needs Unix.
func Watchdog([]string, time.Duration) error { return errNeedsUnix }
