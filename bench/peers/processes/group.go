package processes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

// Config is the configuration of a [Group].
type Config struct {
	Role   string
	Config any      // configuration of the role, which is encoded as JSON
	Env    []string // additional environment variables, as name=value
	// Heard, if not nil, receives each message with the name of its process. Heard is called from
	// several goroutines, but never by two at the same time.
	Heard func(process string, told []byte)
	// Ended, if not nil, is called with an error when a process ends unexpectedly.
	Ended func(error)
}

// grace is the time that processes have to end after SIGTERM.
const grace = 10 * time.Second

// Group is a group of processes of one role.
type Group struct {
	cfg     Config
	flock   *procs.Supervisor
	log     Tail
	waiting sync.WaitGroup

	mu       sync.Mutex
	expected map[*procs.Process]bool // processes that Kill has killed
	stopped  bool
}

// Start starts a group of n processes.
func Start(cfg Config, n int) (*Group, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	config, err := json.Marshal(cfg.Config)
	if err != nil {
		return nil, fmt.Errorf("encode config of %s: %w", cfg.Role, err)
	}
	g := &Group{cfg: cfg, expected: map[*procs.Process]bool{}}
	g.flock = procs.New(procs.Config{
		Program: program, Args: []string{begin, cfg.Role, string(config)}, Env: cfg.Env, Output: g,
	})
	for range n {
		if _, err := g.Add(); err != nil {
			g.Stop()
			return nil, err
		}
	}
	return g, nil
}

// Add starts another process of the group.
func (g *Group) Add() (*procs.Process, error) {
	p, err := g.flock.Start()
	if err != nil {
		return nil, err
	}
	g.waiting.Go(func() {
		<-p.Done()
		g.mu.Lock()
		unasked := !g.stopped && !g.expected[p]
		g.mu.Unlock()
		if unasked && g.cfg.Ended != nil {
			g.cfg.Ended(fmt.Errorf("a process of %s ended: %w\n%s", g.cfg.Role, p.Wait(), g.log.String()))
		}
	})
	return p, nil
}

// Kill ends a process by SIGKILL.
func (g *Group) Kill(p *procs.Process) {
	g.mu.Lock()
	g.expected[p] = true
	g.mu.Unlock()
	p.Kill()
}

// Stop ends all processes and waits until they have ended.
func (g *Group) Stop() {
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	g.flock.Stop(grace, nil)
	g.waiting.Wait()
}

// Write handles a line of output that begins with the name of its process.
func (g *Group) Write(line []byte) (int, error) {
	name, text, _ := bytes.Cut(line, []byte(" | "))
	if g.cfg.Heard != nil && json.Valid(text) {
		g.cfg.Heard(string(name), text)
	} else {
		_, _ = g.log.Write(text) // Write of a Tail never returns an error
	}
	return len(line), nil
}
