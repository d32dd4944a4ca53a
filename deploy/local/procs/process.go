package procs

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a process that a [Supervisor] started. A Process may have ended.
type Process struct {
	name  string
	cmd   *exec.Cmd
	since time.Time
	ended chan struct{}
	err   error // error that describes how the process ended; set before ended is closed
}

// outputDelay is how long to wait, after a process has ended, for its children to close the output
// that they have inherited.
const outputDelay = time.Second

func start(cfg Config, name string, output *lines) (*Process, error) {
	cmd := exec.Command(cfg.Program, cfg.Args...)
	cmd.Env = append(os.Environ(), cfg.Env...)
	out := output.from(name)
	cmd.Stdout, cmd.Stderr = out, out // if both are the same writer, os/exec uses only one pipe
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = outputDelay
	if _, err := cmd.StdinPipe(); err != nil { // the pipe is closed by Wait, or when this process ends
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{name: name, cmd: cmd, since: time.Now(), ended: make(chan struct{})}, nil
}

// wait waits until the process has ended. It must be called exactly once.
func (p *Process) wait() error {
	defer close(p.ended)
	p.err = p.cmd.Wait()
	return p.err
}

func (p *Process) age() time.Duration { return time.Since(p.since) }

// Name returns the process's name. Each running process of a supervisor has a different name, and a
// restarted process keeps its name.
func (p *Process) Name() string { return p.name }

func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.ended }

func (p *Process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Wait waits until the process has ended. It returns nil if the exit status is 0, and otherwise an
// error that says how the process ended.
func (p *Process) Wait() error {
	<-p.ended
	return p.err
}

// Signal sends a signal to the process, unless the process has ended. On Windows, which has no
// signals, Signal kills the process.
func (p *Process) Signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil {
		p.killUnlessEnded()
	}
}

func (p *Process) killUnlessEnded() {
	if !p.hasEnded() {
		p.Kill()
	}
}

func (p *Process) Kill() { _ = p.cmd.Process.Kill() }
