//go:build unix

package procs

import "syscall"

// ownGroup returns the attribute for starting a process in a new process group, which does not
// receive the signals of a terminal.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
