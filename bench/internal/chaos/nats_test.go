//go:build unix

package chaos

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

// ServeNATS runs a NATS server with its data in a folder until SIGTERM or the end of standard
// input. The program of a cluster calls ServeNATS in its command nats.
func ServeNATS(dir, port string) error {
	n, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("read port: %w", err)
	}
	server, err := natsserver.Start(natsserver.Config{Dir: dir, Port: n, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer server.Shutdown()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	<-ctx.Done()
	return nil
}

// natsServer runs one NATS server process at a time, always with the same address and folder.
type natsServer struct {
	port       string
	supervisor *procs.Supervisor
	log        *os.File
	history    *history

	mu      sync.Mutex
	process *procs.Process
}

func (c *cluster) startNATS() (err error) {
	s := &natsServer{history: c.history}
	port, err := freePort()
	if err != nil {
		return fmt.Errorf("find a port for NATS: %w", err)
	}
	s.port = strconv.Itoa(port)
	if s.log, err = os.Create(filepath.Join(c.dir.logs, "nats.log")); err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	s.supervisor = procs.New(procs.Config{
		Program: c.Program,
		Args:    []string{"nats", c.dir.nats, s.port},
		Env:     []string{"TMPDIR=" + c.dir.temporary},
		Output:  s.log,
	})
	c.nats = s
	s.start()
	return c.until("NATS answers", func() bool {
		conn, err := net.Dial("tcp", s.address())
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// freePort returns a free port below the range that systems use for outgoing connections. Outgoing
// connections therefore cannot take the port while the server is not running.
func freePort() (port int, err error) {
	const lowest, highest, tries = 12_000, 30_000, 100
	for range tries {
		var l net.Listener
		port = lowest + rand.IntN(highest-lowest)
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

func (s *natsServer) address() string { return net.JoinHostPort("127.0.0.1", s.port) }

func (s *natsServer) url() string { return "nats://" + s.address() }

func (s *natsServer) start() {
	p, err := s.supervisor.Start()
	if err != nil {
		s.history.violation("NATS: %v", err)
		return
	}
	s.history.started(p.PID())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
}

// running returns the running process, or nil if no process is running.
func (s *natsServer) running() *procs.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.process.Done():
		s.history.violation("NATS ended without a signal: %v", s.process.Wait())
		return nil
	default:
		return s.process
	}
}

func (s *natsServer) end(by syscall.Signal) {
	p := s.running()
	if p == nil {
		return
	}
	p.Signal(by)
	<-p.Done()
}

func (s *natsServer) close() {
	s.supervisor.Stop(endsWithin, nil)
	_ = s.log.Close()
}
