package natsserver

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrInUse: another server uses the data directory.
var ErrInUse = errors.New("another server is using it")

// Config says how to run a server.
type Config struct {
	// Dir is where the data is kept; it is created if missing. One server at a time
	// can use it.
	Dir string

	// Port is the TCP port on 127.0.0.1; 0 or -1 for any that is free.
	Port int

	// Logger takes the server's log; nil for silence. What the server calls notices
	// is logged at the debug level.
	Logger *slog.Logger
}

const (
	// pingInterval finds clients that are gone without a word: a client that leaves
	// maxPings unanswered is disconnected.
	pingInterval = 5 * time.Second
	maxPings     = 2
	// startWithin bounds the start; recovering a large store takes a while.
	startWithin = 30 * time.Second
)

// Server is a NATS server that runs.
type Server struct {
	nats *server.Server
	lock *os.File
}

// Start starts a server and returns once clients can connect and use JetStream.
func Start(cfg Config) (*Server, error) {
	s, err := start(cfg)
	if err != nil {
		return nil, fmt.Errorf("start embedded NATS server: %w", err)
	}
	return s, nil
}

func start(cfg Config) (*Server, error) {
	if cfg.Dir == "" {
		return nil, errors.New("it needs a data directory")
	}
	if cfg.Port < -1 || cfg.Port > 65535 {
		return nil, fmt.Errorf("port %d: want 0 to 65535", cfg.Port)
	}
	if cfg.Port == 0 {
		cfg.Port = server.RANDOM_PORT
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(cfg.Dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", cfg.Dir, err)
	}
	s := &Server{lock: lock}
	if err := s.run(cfg); err != nil {
		s.Shutdown()
		return nil, err
	}
	return s, nil
}

func (s *Server) run(cfg Config) (err error) {
	s.nats, err = server.NewServer(&server.Options{
		Host:         "127.0.0.1",
		Port:         cfg.Port,
		JetStream:    true,
		StoreDir:     cfg.Dir,
		SyncAlways:   true,
		PingInterval: pingInterval,
		MaxPingsOut:  maxPings,
		NoSigs:       true,
	})
	if err != nil {
		return err
	}
	log := &logger{log: cfg.Logger}
	s.nats.SetLoggerV2(log, false, false, false)
	s.nats.Start()
	if err := log.fatal(); err != nil {
		return err
	}
	if !s.nats.ReadyForConnections(startWithin) {
		return errors.Join(fmt.Errorf("not ready within %v", startWithin), log.fatal())
	}
	return nil
}

// URL is where clients connect.
func (s *Server) URL() string { return s.nats.ClientURL() }

// Shutdown stops the server and returns once it has stopped and its data
// directory is free. It may be called again.
func (s *Server) Shutdown() {
	if s.nats != nil {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
	}
	_ = s.lock.Close() // nothing was written to it
}
