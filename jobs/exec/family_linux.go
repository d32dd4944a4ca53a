package exec

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// adopt makes the kernel choose this process as the new parent of processes whose parent has ended,
// if a call has started these processes. Otherwise process 1 would become their parent.
var adopt = sync.OnceValue(func() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
})

// family is the processes of a call: the program, the other processes of its process group, and all
// processes that these have started, even if they have left the group like daemons. If the parent of
// such a process has ended, this process is the new parent. The process is then recognized if an earlier
// search has found it, or by the folder of the call.
type family struct {
	program int    // number of the program's process and of its process group
	folder  string // working folder of the call

	mu    sync.Mutex
	known map[int]relative // processes that were found, by number
}

// relative is a process that a search has found.
type relative struct {
	started uint64 // time of the start, because another process may get the number later
	member  bool   // false if the process belongs to another call
}

func newFamily(program int, folder string) *family {
	return &family{program: program, folder: folder, known: map[int]relative{}}
}

// find returns the processes of the family.
func (f *family) find() (members []procfs.ProcStat) {
	processes, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	all := make(map[int]procfs.ProcStat, len(processes))
	for _, p := range processes {
		if s, err := p.Stat(); err == nil {
			all[s.PID] = s
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.known, func(pid int, r relative) bool { return all[pid].Starttime != r.started })
	for _, p := range processes {
		if s, found := all[p.PID]; found && f.descends(s, all) {
			f.known[s.PID] = relative{s.Starttime, true}
			members = append(members, s)
		}
	}
	return members
}

// descends reports whether a process or one of its ancestors is a member. The steps are limited because
// a number may have been given to another process while all processes were listed.
func (f *family) descends(s procfs.ProcStat, all map[int]procfs.ProcStat) bool {
	for range len(all) {
		if f.isMember(s) {
			return true
		}
		parent, found := all[s.PPID]
		if !found || s.PPID == os.Getpid() {
			return false
		}
		s = parent
	}
	return false
}

// isMember reports whether a process is a member, whatever its ancestors are. The caller must have
// locked f.mu.
func (f *family) isMember(s procfs.ProcStat) bool {
	if r, found := f.known[s.PID]; found && r.started == s.Starttime {
		return r.member
	}
	member := s.PGRP == f.program
	if !member && s.PPID == os.Getpid() {
		member = inFolder(s.PID, f.folder)
		f.known[s.PID] = relative{s.Starttime, member} // reading its environment again would take time
	}
	return member
}

// memory returns the resident memory of all processes of the family in bytes, or 0 if the memory cannot
// be measured.
func (f *family) memory() (sum int64) {
	for _, s := range f.find() {
		sum += int64(s.ResidentMemory())
	}
	return sum
}

// terminate sends SIGTERM to the program's process group. The processes that have left the group are
// found now, while their parents are alive.
func (f *family) terminate() {
	f.find()
	_ = syscall.Kill(-f.program, syscall.SIGTERM)
}

// kill kills all processes of the family. The processes are stopped first, so that none of them starts
// a process while they are searched. The caller must not have waited for the program.
func (f *family) kill() {
	var stopped []int
	_ = syscall.Kill(-f.program, syscall.SIGSTOP)
	for more := true; more; {
		more = false
		for _, s := range f.find() {
			if !isZombie(s) && !slices.Contains(stopped, s.PID) {
				more, stopped = true, append(stopped, s.PID)
				_ = syscall.Kill(s.PID, syscall.SIGSTOP)
			}
		}
	}
	for _, pid := range stopped {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	killGroup(f.program)
}

func isZombie(s procfs.ProcStat) bool { return s.State == "Z" || s.State == "X" }

// end kills the processes that the program has left. The program must have ended, so this process is
// the parent of these processes or of an ancestor.
func (f *family) end() {
	for left := f.left(); len(left) > 0; left = f.left() {
		if slices.ContainsFunc(left, func(s procfs.ProcStat) bool { return !isZombie(s) }) {
			f.kill()
		}
		for _, s := range left {
			_ = syscall.Kill(s.PID, syscall.SIGKILL)
			_, _ = unix.Wait4(s.PID, nil, 0, nil)
		}
	}
	killGroup(f.program)
}

// left returns the children of this process that belong to the family, except the program.
func (f *family) left() (members []procfs.ProcStat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pid := range children() {
		s, err := statOf(pid)
		switch {
		case err != nil || pid == f.program:
		case f.isMember(s):
			members = append(members, s)
		case s.Session != ownSession():
			// A process of an unknown call has left the session. If the process has ended, no other code waits for the process.
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
	return members
}

func statOf(pid int) (procfs.ProcStat, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
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
