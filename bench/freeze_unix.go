//go:build unix

package bench

import (
	"syscall"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

const canFreeze = true

// freeze makes a process stand still, and thaw makes it go on.
func freeze(p *procs.Process) { p.Signal(syscall.SIGSTOP) }
func thaw(p *procs.Process)   { p.Signal(syscall.SIGCONT) }
