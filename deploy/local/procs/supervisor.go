package procs

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Config is the configuration of a [Supervisor].
type Config struct {
	Program string       // path of the program to run
	Args    []string     // arguments of each process
	Env     []string     // environment variables (name=value) that are added to those of this process
	Output  io.Writer    // writer for the output of all processes, each line prefixed with the process's name; if nil, the output is discarded
	Restart bool         // a process that ends before Stop is restarted
	Logger  *slog.Logger // logger for the ends of processes; if nil, nothing is logged
}

const (
	// The pause before a restart is minPause at first, and doubles each time up to maxPause.
	minPause = 200 * time.Millisecond
	maxPause = 30 * time.Second
	// If a process has run for at least healthyAge, the pause before its restart is minPause again.
	healthyAge = 10 * time.Second
)

// Supervisor starts processes of one program, restarts them and stops them. The methods of
// Supervisor may be called from any goroutine.
type Supervisor struct {
	cfg    Config
	output *lines
	stop   chan struct{} // closed by Stop
	wg     sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	started int // number of processes that were started so far, without restarts
	running []*Process
}

// New returns a supervisor without processes.
func New(cfg Config) *Supervisor {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Output == nil {
		cfg.Output = io.Discard
	}
	return &Supervisor{cfg: cfg, output: &lines{to: cfg.Output}, stop: make(chan struct{})}
}

// ErrStopped is the error that Start returns after Stop was called.
var ErrStopped = errors.New("supervisor was stopped")

// Start starts one more process.
func (s *Supervisor) Start() (*Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, ErrStopped
	}
	s.started++
	p, err := s.spawn(fmt.Sprintf("worker %d", s.started))
	if err != nil {
		return nil, err
	}
	s.wg.Go(func() { s.watch(p) })
	return p, nil
}

// spawn starts a process. The caller of spawn must hold s.mu.
func (s *Supervisor) spawn(name string) (*Process, error) {
	p, err := start(s.cfg, name, s.output)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	s.running = append(s.running, p)
	return p, nil
}

// watch waits until a process has ended, and restarts it if Config.Restart is set. It returns when
// the process has ended and is not restarted.
func (s *Supervisor) watch(p *Process) {
	pause := minPause
	for p != nil {
		err := p.wait()
		s.forget(p)
		if s.isStopped() || !s.cfg.Restart {
			return
		}
		if p.age() > healthyAge {
			pause = minPause
		}
		s.cfg.Logger.Warn("A worker process ended, restarting it", "process", p.name, "pid", p.PID(), "error", err, "pause", pause)
		select {
		case <-s.stop:
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
		p = s.restart(p.name)
	}
}

// restart tries to start a process until an attempt succeeds. It returns nil if the supervisor is
// stopped first.
func (s *Supervisor) restart(name string) *Process {
	for {
		s.mu.Lock()
		if s.stopped {
			s.mu.Unlock()
			return nil
		}
		p, err := s.spawn(name)
		s.mu.Unlock()
		if err == nil {
			return p
		}
		s.cfg.Logger.Error("Could not start a worker process, retrying", "process", name, "error", err)
		select {
		case <-s.stop:
			return nil
		case <-time.After(maxPause):
		}
	}
}

func (s *Supervisor) forget(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(o *Process) bool { return o == p })
}

func (s *Supervisor) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// Running returns the processes that have not ended, in the order in which they started. It omits
// processes whose Done channel is closed.
func (s *Supervisor) Running() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.running), (*Process).hasEnded)
}

// Find returns the running process with the given process ID, or nil.
func (s *Supervisor) Find(pid int) *Process {
	for _, p := range s.Running() {
		if p.PID() == pid {
			return p
		}
	}
	return nil
}

// Stop sends SIGTERM to every process and returns when all processes have ended. It kills the
// processes that still run after the time grace, or when kill is closed. The channel kill may be
// nil.
func (s *Supervisor) Stop(grace time.Duration, kill <-chan struct{}) {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stop)
	}
	s.mu.Unlock()

	for _, p := range s.Running() {
		p.Signal(syscall.SIGTERM)
	}
	ended := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(ended)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-ended:
		return
	case <-timer.C:
	case <-kill:
	}
	for _, p := range s.Running() {
		s.cfg.Logger.Warn("A worker process did not end in time, killing it", "process", p.name, "pid", p.PID())
		p.Kill()
	}
	<-ended
}
