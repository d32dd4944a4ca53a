//go:build unix

package bench

import (
	"syscall"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

const canFreeze = true

func freeze(p *procs.Process) { p.Signal(syscall.SIGSTOP) }
func thaw(p *procs.Process)   { p.Signal(syscall.SIGCONT) }
