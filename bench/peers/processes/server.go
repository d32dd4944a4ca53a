package processes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Program describes how to run a server of another project.
type Program struct {
	Path string
	Args []string
	Dir  string
	// End is the signal for an orderly shutdown.
	End syscall.Signal
	// User, if not nil, is the user that runs the server.
	User *syscall.Credential
	// Ready returns nil if the server answers requests.
	Ready func(context.Context) error
}

// Server is a running server.
type Server struct {
	program Program
	process *os.Process
	output  Tail
	done    chan struct{} // channel that is closed when the server has ended
	err     error         // reason why the server ended; set before done is closed
}

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 20 * time.Second
	pollInterval = 20 * time.Millisecond
)

// Serve starts a server and waits until it is ready.
func Serve(ctx context.Context, p Program) (*Server, error) {
	name := filepath.Base(p.Path)
	s := &Server{program: p, done: make(chan struct{})}
	started := make(chan error, 1)
	go s.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w\n%s", name, err, s.output.String()), s.Stop())
	}
	return s, nil
}

// run runs the server until it ends. Linux sends the signal Pdeathsig when the thread that started
// the server ends, so the goroutine is locked to its thread.
func (s *Server) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(s.program.Path, s.program.Args...)
	cmd.Dir = s.program.Dir
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:    true, // a separate process group does not receive Ctrl-C from the terminal
		Pdeathsig:  s.program.End,
		Credential: s.program.User,
	}
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	s.process = cmd.Process
	started <- nil
	s.err = cmd.Wait()
	close(s.done)
}

func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.program.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(pollInterval):
		case <-s.done:
			return fmt.Errorf("it ended: %w", s.err)
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		}
	}
}

// Done returns a channel that is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop ends the server and waits until it has ended. Stop may be called more than once.
func (s *Server) Stop() error {
	_ = s.process.Signal(s.program.End) // Signal fails only if the server has ended
	select {
	case <-s.done:
		return nil
	case <-time.After(stopTimeout):
	}
	_ = s.process.Kill()
	<-s.done
	return fmt.Errorf("stop %s: it had to be killed\n%s", filepath.Base(s.program.Path), s.output.String())
}

// FreePort returns a free port of 127.0.0.1.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
