package exec

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// adopt makes the kernel choose this process as the new parent of processes whose parent has ended,
// if a call has started these processes. Otherwise process 1 would become their parent.
var adopt = sync.OnceValue(func() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
})

// killLeft kills the processes that a call has left, even if they have left the call's process
// group. The program of the call must have ended, so this process is the parent of those processes.
// The folder is the working folder of the call.
func killLeft(program int, folder string) {
	for found := true; found; {
		found = false
		for _, pid := range children() {
			if pid == program {
				continue
			}
			if group, err := unix.Getpgid(pid); err == nil && group == program || inFolder(pid, folder) {
				found = true
				_ = unix.Kill(pid, unix.SIGKILL)
				_, _ = unix.Wait4(pid, nil, 0, nil)
			} else if session, err := unix.Getsid(pid); err == nil && session != ownSession() {
				// A process of an unknown call has left the session. If the process has ended, no other code waits for the process.
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
	}
}

var ownSession = sync.OnceValue(func() int {
	session, _ := unix.Getsid(0)
	return session
})

// children returns the processes that the kernel has given to this process, and children that the
// first thread has started.
func children() (list []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	for word := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// inFolder reports whether a process was started with a folder, or a folder inside, as the value of
// TMPDIR or as its working folder.
func inFolder(pid int, folder string) bool {
	environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if value, found := strings.CutPrefix(string(variable), "TMPDIR="); found && isInside(value, folder) {
			return true
		}
	}
	current, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && isInside(strings.TrimSuffix(current, " (deleted)"), folder)
}

func isInside(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+string(filepath.Separator))
}

// killInside kills the processes of all calls whose working folders are inside a folder. The
// function reports whether there were such processes.
func killInside(folder string) (found bool) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && inFolder(pid, folder) {
			found = true
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return found
}
