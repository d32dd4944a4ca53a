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

// ServeNATS runs a NATS server that keeps things in a directory until SIGTERM or the
// end of standard input. The program of a cluster calls it as its command nats.
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

// natsServer is the process of a NATS server, one after another, at one address and
// with one directory.
type natsServer struct {
	port  string
	flock *procs.Supervisor
	log   *os.File
	book  *book

	mu      sync.Mutex
	process *procs.Process
}

func (c *cluster) startNATS() (err error) {
	s := &natsServer{book: c.book}
	port, err := quietPort()
	if err != nil {
		return fmt.Errorf("find a port for NATS: %w", err)
	}
	s.port = strconv.Itoa(port)
	if s.log, err = os.Create(filepath.Join(c.dir.logs, "nats.log")); err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	s.flock = procs.New(procs.Config{
		Program: c.program,
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

// quietPort is a free port below those that systems give to connections: it stays
// free while nobody listens.
func quietPort() (port int, err error) {
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
	p, err := s.flock.Start()
	if err != nil {
		s.book.complain("NATS: %v", err)
		return
	}
	s.book.started(p.PID())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
}

// running is the process that runs, or nil.
func (s *natsServer) running() *procs.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.process.Done():
		s.book.complain("NATS ended by itself: %v", s.process.Wait())
		return nil
	default:
		return s.process
	}
}

// end ends the process and waits for that.
func (s *natsServer) end(by syscall.Signal) {
	p := s.running()
	if p == nil {
		return
	}
	p.Signal(by)
	<-p.Done()
}

func (s *natsServer) close() {
	s.flock.Stop(endsWithin, nil)
	_ = s.log.Close()
}
