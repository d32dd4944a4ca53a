//go:build !unix

package procs

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
