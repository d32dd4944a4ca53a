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

// Config says what processes to run.
type Config struct {
	Program string       // path of the program
	Args    []string     // its arguments
	Env     []string     // name=value, on top of this process' environment
	Output  io.Writer    // gets what the processes write, line by line with their name before it; nil: nobody
	Replace bool         // start another process in place of one that ended unasked
	Log     *slog.Logger // about processes that end; nil: nowhere
}

const (
	// A process that keeps dying is replaced ever later.
	firstPause = 200 * time.Millisecond
	lastPause  = 30 * time.Second
	// A process that lived this long has done well: the next pause is short again.
	healthy = 10 * time.Second
)

// Flock is a set of processes. Its methods may be called from any goroutine.
type Flock struct {
	cfg    Config
	output *lines
	stop   chan struct{} // closed by Stop
	places sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	started int // names given so far
	running []*Process
}

// New is a flock without processes.
func New(cfg Config) *Flock {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Output == nil {
		cfg.Output = io.Discard
	}
	return &Flock{cfg: cfg, output: &lines{to: cfg.Output}, stop: make(chan struct{})}
}

// ErrStopped is the error of Add after Stop.
var ErrStopped = errors.New("flock was stopped")

// Add starts one more process.
func (f *Flock) Add() (*Process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil, ErrStopped
	}
	f.started++
	p, err := f.start(fmt.Sprintf("worker %d", f.started))
	if err != nil {
		return nil, err
	}
	f.places.Go(func() { f.keep(p) })
	return p, nil
}

// start starts a process. It is called with the lock held.
func (f *Flock) start(name string) (*Process, error) {
	p, err := start(f.cfg, name, f.output)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	f.running = append(f.running, p)
	return p, nil
}

// keep waits for a process to end, and for those that take its place.
func (f *Flock) keep(p *Process) {
	pause := firstPause
	for p != nil {
		err := p.wait()
		f.forget(p)
		if f.isStopped() || !f.cfg.Replace {
			return
		}
		if p.age() > healthy {
			pause = firstPause
		}
		f.cfg.Log.Warn("A worker process ended, starting another", "process", p.name, "pid", p.PID(), "error", err, "pause", pause)
		select {
		case <-f.stop:
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
		p = f.replace(p.name)
	}
}

// replace starts processes until one does or the flock stops, and is nil then.
func (f *Flock) replace(name string) *Process {
	for {
		f.mu.Lock()
		if f.stopped {
			f.mu.Unlock()
			return nil
		}
		p, err := f.start(name)
		f.mu.Unlock()
		if err == nil {
			return p
		}
		f.cfg.Log.Error("Could not start a worker process", "process", name, "error", err)
		select {
		case <-f.stop:
			return nil
		case <-time.After(lastPause):
		}
	}
}

func (f *Flock) forget(p *Process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = slices.DeleteFunc(f.running, func(o *Process) bool { return o == p })
}

func (f *Flock) isStopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}

// Running is the processes that have not ended, in the order of their start. One
// whose end somebody has heard of is not among them.
func (f *Flock) Running() []*Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.running), (*Process).hasEnded)
}

// Find is the running process of that ID, or nil.
func (f *Flock) Find(pid int) *Process {
	for _, p := range f.Running() {
		if p.PID() == pid {
			return p
		}
	}
	return nil
}

// Stop asks every process to end (SIGTERM), waits, kills those that are still
// there after grace or once hurry is closed, and returns when none is left. A
// nil hurry never closes.
func (f *Flock) Stop(grace time.Duration, hurry <-chan struct{}) {
	f.mu.Lock()
	if !f.stopped {
		f.stopped = true
		close(f.stop)
	}
	f.mu.Unlock()

	for _, p := range f.Running() {
		p.Signal(syscall.SIGTERM)
	}
	gone := make(chan struct{})
	go func() {
		f.places.Wait()
		close(gone)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-gone:
		return
	case <-timer.C:
	case <-hurry:
	}
	for _, p := range f.Running() {
		f.cfg.Log.Warn("A worker process does not end, killing it", "process", p.name, "pid", p.PID())
		p.Kill()
	}
	<-gone
}
