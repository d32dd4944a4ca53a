package exec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Guard cleans up when this process dies, even if this process is killed. A Guard then kills the
// processes of all calls and removes the calls' folders. A Guard uses a guard process, which runs
// [GuardMain] and waits for the end of a pipe of this process. Then the guard process reads a file
// that contains the numbers of the running process groups. A call therefore changes the file and
// does not wake the guard process. The guard process is started when a job is opened. A nil Guard
// does nothing. If a process without a guard dies, the kernel kills the programs of its calls. The
// processes that the killed programs have started continue to run, and the folders remain. A Guard
// finds a process that has left its process group by the folder of the call, which is its working
// folder or the value of TMPDIR.
type Guard struct {
	args []string

	mu     sync.RWMutex   // locked for writing while the guard process starts or ends
	pipe   io.WriteCloser // nil if the guard process is not running
	cmd    *exec.Cmd
	folder string  // folder that contains the folders of all calls and files
	groups *groups // process groups of running calls
}

// NewGuard returns a guard. The guard process is the program args[0], with the other args as its
// arguments. The program must call GuardMain.
func NewGuard(args ...string) *Guard { return &Guard{args: args} }

// Close ends the guard process, which first kills the processes of all calls that are still
// running, and removes their folders.
func (g *Guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return nil
	}
	_ = g.pipe.Close()
	g.pipe = nil
	if err := errors.Join(g.cmd.Wait(), g.groups.file.Close()); err != nil {
		return fmt.Errorf("wait for guard: %w", err)
	}
	return nil
}

// use starts the guard process, unless it is already running. If use returns no error, the guard
// process runs until the caller calls g.mu.RUnlock.
func (g *Guard) use() error {
	g.mu.RLock()
	if g.pipe != nil {
		return nil
	}
	g.mu.RUnlock()
	g.mu.Lock()
	err := g.run()
	g.mu.Unlock()
	if err != nil {
		return err
	}
	return g.use()
}

// run starts the guard process, unless it is already running. The caller must have locked g.mu.
func (g *Guard) run() error {
	if g.pipe != nil {
		return nil
	}
	folder, err := os.MkdirTemp("", "bellwether-exec-")
	if err != nil {
		return fmt.Errorf("make folder for calls: %w", err)
	}
	running, err := newGroups(folder)
	if err != nil {
		return errors.Join(fmt.Errorf("make file of process groups: %w", err), os.RemoveAll(folder))
	}
	cmd := exec.Command(g.args[0], g.args[1:]...)
	cmd.Stderr, cmd.Env = os.Stderr, []string{} // programs could read the environment, which may contain passwords
	ownGroup(cmd)
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = os.Chmod(folder, 0o711) // another user may run the programs
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start guard: %w", err), running.file.Close(), os.RemoveAll(folder))
	}
	g.pipe, g.cmd, g.folder, g.groups = pipe, cmd, folder, running
	_, _ = fmt.Fprintf(pipe, "%s%q\n", folderLine, folder) // a guard that was killed is needed only if this process is killed too
	return nil
}

// folderLine begins the line that tells the guard process the folder.
const folderLine = "folder "

// makeFolder makes a folder for a call, or for files.
func (g *Guard) makeFolder(pattern string) (string, error) {
	if g == nil {
		return os.MkdirTemp("", "bellwether-exec-"+pattern)
	}
	if err := g.use(); err != nil {
		return "", err
	}
	defer g.mu.RUnlock()
	return os.MkdirTemp(g.folder, pattern)
}

// cache returns a folder that stays until the guard is closed.
func (g *Guard) cache() (string, error) {
	if err := g.use(); err != nil {
		return "", err
	}
	defer g.mu.RUnlock()
	dir := filepath.Join(g.folder, "cache")
	return dir, os.MkdirAll(dir, 0o700)
}

// start starts a program and stores the number of the program's process group for the guard process.
// The channel ended is that of confine.
func (g *Guard) start(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	if g == nil {
		return startProgram(cmd)
	}
	if err := g.use(); err != nil {
		return nil, err
	}
	defer g.mu.RUnlock()
	ended, err = startProgram(cmd)
	if err == nil {
		g.groups.add(cmd.Process.Pid)
	}
	return ended, err
}

// startProgram starts a program. An error that another worker would have too is permanent. A file
// that was sent with the job is busy (ETXTBSY) if another call was started while the file was being
// written, until that call runs its program.
func startProgram(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	if err := adopt(); err != nil {
		return nil, fmt.Errorf("become the parent of processes that programs leave: %w", err)
	}
	ended, err = confine(cmd)
	if err != nil {
		return nil, explainStart(cmd, err)
	}
	return ended, nil
}

// explainStart returns the error of a program that could not be started.
func explainStart(cmd *exec.Cmd, err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound) && isFile(filepath.Join(cmd.Dir, cmd.Args[0])):
		return jobs.Permanent(fmt.Errorf("start program: %w: the file was sent with the job, so name it ./%s", err, cmd.Args[0]))
	case errors.Is(err, exec.ErrNotFound) && len(cmd.Args) == 1 && strings.Contains(cmd.Args[0], " "):
		return jobs.Permanent(fmt.Errorf("start program: %w: give the program and each of its arguments as a separate word, without quotes around all of them", err))
	case errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(cmd.Args[0], "./") && !isFile(cmd.Path):
		return jobs.Permanent(fmt.Errorf("start program: %w: the working folder contains only files that were sent with the job, with --send", err))
	case errors.Is(err, fs.ErrPermission) && strings.HasPrefix(cmd.Args[0], "./"):
		return jobs.Permanent(fmt.Errorf("start program: %w: the user as whom programs run must be able to enter the worker's folder for temporary files, which TMPDIR names, and to run files in it", err))
	case errors.Is(err, syscall.ETXTBSY), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("start program: %w: %w", err, errTemporary)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return jobs.Permanent(fmt.Errorf("start program: %w: each worker needs the program, in a folder of its PATH or by its absolute path", err))
	case errors.Is(err, syscall.E2BIG):
		return jobs.Permanent(fmt.Errorf("start program: %w: send long arguments in a file, with --send", err))
	}
	return fmt.Errorf("start program: %w", err)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// ended removes the number of a process group that has ended. The caller must call ended before it
// waits for the group's first process. The system may give the group's number to another group
// after the wait, and the guard might kill that group.
func (g *Guard) ended(pid int) {
	if g == nil {
		return
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	g.groups.remove(pid)
}

// GuardMain is the code of the guard process. It reads the line of a Guard, usually from standard
// input. When the input ends, GuardMain kills the process groups that have not ended and the
// processes that have left them, and removes the folders of the calls.
func GuardMain(from io.Reader) {
	lines := bufio.NewReader(from)
	line, err := lines.ReadString('\n')
	if err != nil {
		return // the other process died before it started a call
	}
	folder, err := strconv.Unquote(strings.TrimSpace(strings.TrimPrefix(line, folderLine)))
	if err != nil {
		return
	}
	// The file is opened now, because it may be deleted while programs run.
	running, _ := os.Open(filepath.Join(folder, groupsName))
	_, _ = io.Copy(io.Discard, lines)
	for _, pid := range readGroups(running) {
		killGroup(pid)
	}
	// Killed processes may start processes and make files until they have ended.
	for range 100 {
		if !killInside(folder) && os.RemoveAll(folder) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
