package exec

import (
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bellwether-compute/bellwether/jobs/exec/account"
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

// confine starts a program that cannot gain privileges and does not inherit open files of this process,
// except its standard streams. The channel ended is closed when the program has ended. The program then
// stays a zombie, so that the system does not give its number, or the number of its group, to another
// process.
//
// A separate thread starts the program and ends with it: the attribute no_new_privs belongs
// to a thread, and the kernel kills the program when the thread that has started it ends. The thread
// costs about 0.1 ms of the 1.5 ms that a short program takes.
func confine(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	started, over := make(chan error), make(chan struct{})
	go func() {
		defer close(over)
		runtime.LockOSThread() // until the end, so the thread is not used again
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = closeOnExec()
		}
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err != nil {
			return
		}
		for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()
	return over, <-started
}

// closeOnExec makes the kernel close all open files of this process, except the standard streams, in
// the programs that it starts. Go does so for the files that it opens itself, but not for files that
// this process has inherited.
func closeOnExec() error {
	if unix.CloseRange(firstFile, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= firstFile {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

const firstFile = 3 // after the standard streams

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

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// owns reports whether a user owns a file.
func owns(user *account.Account, info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == user.UID
}
