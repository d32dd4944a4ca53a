package azurite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// All Azurite servers have this account name and this public account key.
const (
	AccountName = "devstoreaccount1"
	AccountKey  = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

const (
	startTimeout = time.Minute
	stopTimeout  = 5 * time.Second
)

// Config is the configuration of a [Server]. With the zero Config, the server keeps its data in
// memory and listens on free ports.
type Config struct {
	// Dir is the data directory. If Dir is empty, data is kept in memory and lost when the server stops.
	Dir string
	// BlobPort, QueuePort and TablePort are ports on 127.0.0.1; 0 means any free port. Azurite
	// always serves tables too, although Bellwether does not use them.
	BlobPort, QueuePort, TablePort int
	// CertFile and KeyFile, if set, make Azurite serve HTTPS and accept bearer tokens. Azurite
	// checks the claims of a bearer token but not its signature.
	CertFile, KeyFile string
	// Logger logs the installation of Azurite; nothing is logged if Logger is nil.
	Logger *slog.Logger
}

// Server is a running Azurite.
type Server struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	address map[string]string // URL of each service: Blob, Queue, Table

	done   chan struct{} // closed when the process has ended
	err    error         // error of the process; set before done is closed
	stop   sync.Once
	output tail
}

// Start installs Azurite if needed and runs it until Stop is called or this process ends. The
// context limits only the start, not the run of the server.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	dir, err := install(ctx, cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("install Azurite: %w", err)
	}
	s, err := start(ctx, dir, cfg)
	if err != nil {
		return nil, fmt.Errorf("start Azurite: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, dir string, cfg Config) (*Server, error) {
	// The command does not use ctx, because the process must continue after Start has returned.
	cmd := exec.Command("node", append([]string{filepath.Join(dir, entry)}, arguments(cfg)...)...)
	cmd.Dir = os.TempDir()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, stdin: stdin, address: map[string]string{}, done: make(chan struct{})}
	cmd.Stderr = &s.output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		defer close(s.done)
		s.watch(stdout, ready)
		s.err = cmd.Wait()
	}()

	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case <-ready:
		return s, nil
	case <-s.done:
		return nil, fmt.Errorf("the process ended: %w\n%s", s.err, s.output.String())
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		err = fmt.Errorf("not ready within %v", startTimeout)
	}
	return nil, errors.Join(err, s.Stop())
}

func arguments(cfg Config) []string {
	const keepAlive = "600" // number of seconds for which idle connections of tests stay open
	args := []string{"--silent", "--skipApiVersionCheck", "--disableTelemetry"}
	for _, service := range []struct {
		name string
		port int
	}{{"blob", cfg.BlobPort}, {"queue", cfg.QueuePort}, {"table", cfg.TablePort}} {
		args = append(args,
			"--"+service.name+"Host", "127.0.0.1",
			"--"+service.name+"Port", strconv.Itoa(service.port),
			"--"+service.name+"KeepAliveTimeout", keepAlive)
	}
	if cfg.Dir == "" {
		args = append(args, "--inMemoryPersistence")
	} else {
		args = append(args, "--location", cfg.Dir)
	}
	if cfg.CertFile != "" {
		args = append(args, "--cert", cfg.CertFile, "--key", cfg.KeyFile, "--oauth", "basic")
	}
	return args
}

// watch reads the output of the process until the process ends, and closes ready when all
// services listen.
func (s *Server) watch(stdout io.Reader, ready chan<- struct{}) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		line := lines.Text()
		_, _ = io.WriteString(&s.output, line+"\n") // never fails
		service, address, ok := strings.Cut(line, " service is successfully listening at ")
		if !ok || len(s.address) == 3 {
			continue
		}
		s.address[strings.TrimPrefix(service, "Azurite ")] = address
		if len(s.address) == 3 {
			close(ready)
		}
	}
	_, _ = io.Copy(io.Discard, stdout) // read the remaining output, because the scanner stops at a line that is too long
}

// BlobURL returns the account's blob endpoint.
func (s *Server) BlobURL() string { return s.address["Blob"] + "/" + AccountName }

// QueueURL returns the account's queue endpoint.
func (s *Server) QueueURL() string { return s.address["Queue"] + "/" + AccountName }

// ConnectionString returns the connection string for the server's blob and queue endpoints.
func (s *Server) ConnectionString() string { return ConnectionString(s.BlobURL(), s.QueueURL()) }

// ConnectionString returns the connection string for other endpoints of the account, such
// as those of a proxy.
func ConnectionString(blobURL, queueURL string) string {
	protocol := "http"
	if u, err := url.Parse(blobURL); err == nil && u.Scheme != "" {
		protocol = u.Scheme
	}
	return fmt.Sprintf("DefaultEndpointsProtocol=%s;AccountName=%s;AccountKey=%s;BlobEndpoint=%s;QueueEndpoint=%s;",
		protocol, AccountName, AccountKey, blobURL, queueURL)
}

func (s *Server) PID() int { return s.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended for any reason.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop stops the Azurite process and waits until it has ended. It may be called more than once.
func (s *Server) Stop() error {
	s.stop.Do(func() { _ = s.stdin.Close() }) // Close fails only if the process has ended
	select {
	case <-s.done:
		return nil
	case <-time.After(stopTimeout):
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill Azurite: %w", err)
	}
	<-s.done
	return nil
}

// tail keeps the last tailSize bytes that are written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
