//go:build unix

package procs

import "syscall"

// ownGroup keeps the terminal's signals from the process.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
