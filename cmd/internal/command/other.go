//go:build !unix

package command

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var errNeedsUnix = fmt.Errorf("run a command under a lease: %w: it needs Unix", errors.ErrUnsupported)

// Run returns an error, because the package works on Unix only.
func Run(context.Context, Config) (Result, error) { return Result{}, errNeedsUnix }

// Watchdog returns an error, because the package works on Unix only.
func Watchdog([]string, time.Duration) error { return errNeedsUnix }
