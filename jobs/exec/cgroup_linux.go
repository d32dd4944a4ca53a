package exec

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is a control group (version 2) that contains the processes of a call and limits their memory.
// The kernel then enforces the limit, and no process can leave the group. A nil cgroup does nothing.
type cgroup struct {
	dir  string
	file *os.File // the folder dir
}

// delegated returns the control group in which this process may make groups that limit memory, or
// an empty string if there is none. A group that contains processes cannot limit the memory of
// groups inside, so only the parent of this process's own group is considered. The option Delegate
// of systemd marks such a group with an attribute, and gives the group to the user of the service.
var delegated = sync.OnceValue(func() string {
	dir := ownCgroup()
	if dir == "" {
		return ""
	}
	dir = filepath.Dir(dir)
	mark := make([]byte, 1)
	n, err := unix.Getxattr(dir, "user.delegate", mark)
	marked := err == nil && string(mark[:n]) == "1"
	owned := os.Geteuid() != 0 && unix.Access(dir, unix.W_OK) == nil
	controllers, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if !marked && !owned || !slices.Contains(strings.Fields(string(controllers)), "memory") {
		return ""
	}
	removeEnded(dir)
	return dir
})

// ownCgroup returns the folder of this process's control group of version 2, or an empty string if
// no folder is mounted.
func ownCgroup() string {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	_, path, found := strings.Cut("\n"+string(groups), "\n0::")
	path, _, _ = strings.Cut(path, "\n")
	if !found {
		return ""
	}
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		words := strings.Fields(before)
		if !strings.HasPrefix(after, "cgroup2 ") || len(words) < 5 {
			continue
		}
		if inside, err := filepath.Rel(words[3], path); err == nil && filepath.IsLocal(inside) {
			return filepath.Join(words[4], inside)
		}
	}
	return ""
}

const cgroupName = "bellwether-%d-%d" // number of the process, and number of the call

// removeEnded removes the groups that processes have left which were killed.
func removeEnded(dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		var pid, call int
		if _, err := fmt.Sscanf(e.Name(), cgroupName, &pid, &call); err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			_ = os.Remove(filepath.Join(dir, e.Name())) // fails if the group still has processes
		}
	}
}

var cgroups atomic.Int64

// newCgroup makes a control group in dir. The limit is in bytes.
func newCgroup(dir string, limit int64) (*cgroup, error) {
	g := &cgroup{dir: filepath.Join(dir, fmt.Sprintf(cgroupName, os.Getpid(), cgroups.Add(1)))}
	err := os.Mkdir(g.dir, 0o755)
	if err != nil {
		return nil, fmt.Errorf("make control group: %w", err)
	}
	for _, s := range []struct{ file, value string }{
		{"memory.max", strconv.FormatInt(limit, 10)},
		{"memory.oom.group", "1"}, // if the kernel kills one process, it kills all
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(g.dir, s.file), []byte(s.value), 0o600))
	}
	swap := filepath.Join(g.dir, "memory.swap.max")
	if _, missing := os.Stat(swap); missing == nil {
		err = errors.Join(err, os.WriteFile(swap, []byte("0"), 0o600))
	}
	if err == nil {
		g.file, err = os.Open(g.dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up control group: %w", err), os.Remove(g.dir))
	}
	return g, nil
}

// contain makes cmd start in the group.
func (g *cgroup) contain(cmd *exec.Cmd) {
	if g != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(g.file.Fd())
	}
}

// exceeded reports whether the kernel has killed a process of the group because of the limit.
func (g *cgroup) exceeded() bool {
	if g == nil {
		return false
	}
	events, _ := os.ReadFile(filepath.Join(g.dir, "memory.events"))
	for line := range strings.Lines(string(events)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			return strings.TrimSpace(count) != "0"
		}
	}
	return false
}

// close kills the processes of the group, and removes the group when they have ended.
func (g *cgroup) close() {
	if g == nil {
		return
	}
	_ = g.file.Close()
	_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0o600)
	for end := time.Now().Add(grace); errors.Is(os.Remove(g.dir), unix.EBUSY) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}
