package command

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sharedClock returns the time of a clock that all processes of the machine share. The shared clock
// also advances while the machine is suspended.
func sharedClock() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic(fmt.Errorf("read CLOCK_BOOTTIME: %w", err)) // unreachable: every supported kernel has this clock
	}
	return time.Duration(now.Nano())
}

// dieWithParent makes the kernel kill the command when the watchdog ends.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
