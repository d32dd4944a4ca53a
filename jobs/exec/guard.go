package exec

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Guard kills the processes of all calls when this process dies, however it dies. The guard is a
// process that reads a pipe from this process and runs [GuardMain]. It starts with the first call. A
// nil Guard does nothing: then the programs die with this process, but not the processes that they
// have started.
type Guard struct {
	args []string

	mu   sync.Mutex
	pipe io.WriteCloser // nil: not started
	cmd  *exec.Cmd
}

// NewGuard returns a guard. Args is a program and its arguments; the program calls GuardMain.
func NewGuard(args ...string) *Guard { return &Guard{args: args} }

// Close ends the guard, which kills the processes of calls that still run.
func (g *Guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return nil
	}
	_ = g.pipe.Close()
	g.pipe = nil
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("wait for guard: %w", err)
	}
	return nil
}

// run starts the process of the guard if it does not run yet.
func (g *Guard) run() error {
	if g.pipe != nil {
		return nil
	}
	cmd := exec.Command(g.args[0], g.args[1:]...)
	cmd.Stderr = os.Stderr
	ownGroup(cmd)
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start guard: %w", err)
	}
	g.pipe, g.cmd = pipe, cmd
	return nil
}

// start starts a program and tells the guard its process group.
func (g *Guard) start(cmd *exec.Cmd) error {
	if g == nil {
		return startProgram(cmd)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.run(); err != nil {
		return err
	}
	if err := startProgram(cmd); err != nil {
		return err
	}
	g.tell('+', cmd.Process.Pid)
	return nil
}

func startProgram(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return jobs.Permanent(fmt.Errorf("start program: %w: each worker needs the program, in a folder of its PATH or by its absolute path", err))
	}
	return nil
}

// ended tells the guard that a process group has ended. The caller has not waited for the group's
// first process yet, so no other group can have its number.
func (g *Guard) ended(pid int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tell('-', pid)
}

// tell ignores errors: a guard that was killed is missed only if this process is killed too.
func (g *Guard) tell(sign byte, pid int) { _, _ = fmt.Fprintf(g.pipe, "%c%d\n", sign, pid) }

// GuardMain reads from a Guard, usually from standard input, until the end, and then kills the
// process groups that have not ended.
func GuardMain(from io.Reader) {
	groups := map[int]bool{}
	for s := bufio.NewScanner(from); s.Scan(); {
		var sign rune
		var pid int
		if _, err := fmt.Sscanf(s.Text(), "%c%d", &sign, &pid); err != nil || pid <= 1 {
			continue // a line that was cut off
		}
		if sign == '+' {
			groups[pid] = true
		} else {
			delete(groups, pid)
		}
	}
	for pid := range groups {
		killGroup(pid)
	}
}
