//go:build !unix

package flock

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
