package procs

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is one running or ended process.
type Process struct {
	name  string
	cmd   *exec.Cmd
	since time.Time
	ended chan struct{}
	err   error // how it ended; written before ended is closed
}

// outputDelay is how long to wait for output that a process' own children hold
// open after it has ended.
const outputDelay = time.Second

func start(cfg Config, name string, output *lines) (*Process, error) {
	cmd := exec.Command(cfg.Program, cfg.Args...)
	cmd.Env = append(os.Environ(), cfg.Env...)
	out := output.from(name)
	cmd.Stdout, cmd.Stderr = out, out // the same writer: os/exec then uses one pipe
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = outputDelay
	if _, err := cmd.StdinPipe(); err != nil { // closed by Wait, or with this process
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{name: name, cmd: cmd, since: time.Now(), ended: make(chan struct{})}, nil
}

// wait returns when the process has ended. It is called once.
func (p *Process) wait() error {
	defer close(p.ended)
	p.err = p.cmd.Wait()
	return p.err
}

func (p *Process) age() time.Duration { return time.Since(p.since) }

// Name tells the process from the others of its flock. One that takes the place
// of another has the same name.
func (p *Process) Name() string { return p.name }

// PID is the process' ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed once the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

func (p *Process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Err is nil once the process has ended with status 0, and otherwise says how it
// ended. It waits for that.
func (p *Process) Err() error {
	<-p.ended
	return p.err
}

// Signal sends the process a signal, if it is still there. Where there are no
// signals (Windows), the process is killed instead.
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

// Kill ends the process at once (SIGKILL). It is no error if it has ended.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }
