package exec

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/bellwether-compute/bellwether/jobs/exec/account"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// ownGroup makes cmd start in a new process group, so that signals to the group of this process do
// not reach cmd.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// setAttributes makes cmd start in a new process group, as the user if the user is not nil. The
// kernel kills the program when this process dies.
func setAttributes(cmd *exec.Cmd, user *account.Account) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if user != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
}

// awaitExit waits until a child process has ended. The child stays a zombie, so that the system
// does not give its number, or the number of its group, to another process.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// unread returns the number of bytes that can be read from a pipe without waiting.
func unread(pipe *os.File) (n int) {
	if c, err := pipe.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return n
}

// enlarge gives a pipe room for large calls, so that this process and the reader wait for each other less
// often. An error is ignored: a user may have only a limited number of large pipes.
func enlarge(pipe io.Writer) {
	if f, ok := pipe.(syscall.Conn); ok {
		if c, err := f.SyscallConn(); err == nil {
			_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, largePipe) })
		}
	}
}

const largePipe = 1 << 20

// memoryOf returns the resident memory of all processes of a process group in bytes, or 0 if the
// memory cannot be measured.
func memoryOf(group int) (sum int64) {
	processes, err := procfs.AllProcs()
	if err != nil {
		return 0
	}
	for _, p := range processes {
		if stat, err := p.Stat(); err == nil && stat.PGRP == group {
			sum += int64(stat.ResidentMemory())
		}
	}
	return sum
}

func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
