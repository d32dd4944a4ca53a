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

// The account that every Azurite has. The key is public.
const (
	AccountName = "devstoreaccount1"
	AccountKey  = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

const (
	startTimeout = time.Minute
	stopTimeout  = 5 * time.Second
)

// Config says how to run the server. The zero Config keeps everything in memory
// and listens on free ports.
type Config struct {
	// Dir is where data is kept. Empty: in memory, gone when the server stops.
	Dir string
	// BlobPort, QueuePort and TablePort are on 127.0.0.1; 0 is any that is free.
	// (Bellwether has no use for tables; Azurite always serves them.)
	BlobPort, QueuePort, TablePort int
	// CertFile and KeyFile, if given, make it serve HTTPS and take bearer tokens,
	// whose claims it checks and whose signature it does not.
	CertFile, KeyFile string
	// Logger says when Azurite is being installed; nil for silence.
	Logger *slog.Logger
}

// Server is an Azurite that runs.
type Server struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	address map[string]string // of the services, by name

	done   chan struct{} // closed when the process has ended
	err    error         // why it ended; set before done is closed
	stop   sync.Once
	output tail
}

// Start installs Azurite if need be and runs it until Stop, or until this process
// ends. The context bounds the start alone.
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
	// Not bound to ctx: it runs on after the start.
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
		return nil, fmt.Errorf("it ended: %w\n%s", s.err, s.output.String())
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		err = fmt.Errorf("it did not say that it listens within %v", startTimeout)
	}
	return nil, errors.Join(err, s.Stop())
}

func arguments(cfg Config) []string {
	const keepAlive = "600" // seconds: a test's idle connections are not closed under it
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

// watch reads what the process prints until it ends, and closes ready when all
// its services listen.
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
	_, _ = io.Copy(io.Discard, stdout) // after a line too long to scan
}

// BlobURL is the account's blob endpoint.
func (s *Server) BlobURL() string { return s.address["Blob"] + "/" + AccountName }

// QueueURL is the account's queue endpoint.
func (s *Server) QueueURL() string { return s.address["Queue"] + "/" + AccountName }

// ConnectionString signs in to both.
func (s *Server) ConnectionString() string { return ConnectionString(s.BlobURL(), s.QueueURL()) }

// ConnectionString signs in with the account's key at other endpoints, those of a
// proxy for instance.
func ConnectionString(blobURL, queueURL string) string {
	protocol := "http"
	if u, err := url.Parse(blobURL); err == nil && u.Scheme != "" {
		protocol = u.Scheme
	}
	return fmt.Sprintf("DefaultEndpointsProtocol=%s;AccountName=%s;AccountKey=%s;BlobEndpoint=%s;QueueEndpoint=%s;",
		protocol, AccountName, AccountKey, blobURL, queueURL)
}

// PID is the ID of its process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Done is closed when the process has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop ends the process and waits for that. It may be called again.
func (s *Server) Stop() error {
	s.stop.Do(func() { _ = s.stdin.Close() }) // fails only if the process is gone
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

// tail keeps the last of what is written to it.
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
