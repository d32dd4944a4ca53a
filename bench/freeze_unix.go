//go:build unix

package bench

import (
	"syscall"

	"github.com/bellwether-compute/bellwether/cmd/cli/flock"
)

const canFreeze = true

// freeze makes a process stand still, and thaw makes it go on.
func freeze(p *flock.Process) { p.Signal(syscall.SIGSTOP) }
func thaw(p *flock.Process)   { p.Signal(syscall.SIGCONT) }
