//go:build unix

package procs

import "syscall"

// ownGroup starts the process in a new process group, which a terminal's signals do
// not reach.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
