//go:build unix && !linux

package command

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sharedClock returns the time of a clock that all processes of the machine share.
func sharedClock() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(fmt.Errorf("read CLOCK_MONOTONIC: %w", err)) // unreachable: POSIX requires this clock
	}
	return time.Duration(now.Nano())
}

// dieWithParent does nothing: only Linux can kill a process when its parent ends.
func dieWithParent(*syscall.SysProcAttr) {}
