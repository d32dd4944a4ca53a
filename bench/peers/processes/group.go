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

// Config says what the processes of a group do.
type Config struct {
	Role   string
	Config any      // of the role, as JSON
	Env    []string // name=value, on top of this process'
	// Heard gets each thing that is told, and the name of the process that tells it;
	// from several goroutines, one at a time. May be nil.
	Heard func(process string, told []byte)
	// Ended is called when a process has ended unasked, with the reason. May be nil.
	Ended func(error)
}

// grace is how long processes have to end when they are told to.
const grace = 10 * time.Second

// Group is processes of one role.
type Group struct {
	cfg     Config
	flock   *procs.Supervisor
	log     Tail
	waiting sync.WaitGroup

	mu       sync.Mutex
	expected map[*procs.Process]bool // that are to end
	stopped  bool
}

// Start starts so many processes.
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

// Add starts one more process.
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

// Kill ends a process at once (SIGKILL).
func (g *Group) Kill(p *procs.Process) {
	g.mu.Lock()
	g.expected[p] = true
	g.mu.Unlock()
	p.Kill()
}

// Stop ends all processes and waits for that.
func (g *Group) Stop() {
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	g.flock.Stop(grace, nil)
	g.waiting.Wait()
}

// Write takes a line that a process wrote, with its name before it.
func (g *Group) Write(line []byte) (int, error) {
	name, text, _ := bytes.Cut(line, []byte(" | "))
	if g.cfg.Heard != nil && json.Valid(text) {
		g.cfg.Heard(string(name), text)
	} else {
		_, _ = g.log.Write(text) // never fails
	}
	return len(line), nil
}
