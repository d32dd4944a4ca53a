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
var ErrInUse = errors.New("in use by another server")

// Config says how to run a server.
type Config struct {
	// Dir is the data directory. Start creates a missing directory. Only one server at a
	// time can use a directory.
	Dir string

	// Port is the TCP port on 127.0.0.1. 0 or -1 is any free port.
	Port int

	// Logger receives the server's log, with the server's notices at the debug level. Nil
	// discards the log.
	Logger *slog.Logger
}

const (
	// The server pings each client every pingInterval, and disconnects a client that
	// leaves maxPings unanswered.
	pingInterval = 5 * time.Second
	maxPings     = 2
	// startTimeout allows for the recovery of a large store.
	startTimeout = 30 * time.Second
)

// Server is a running NATS server.
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
		return nil, errors.New("Dir is empty: want a data directory")
	}
	if cfg.Port < -1 || cfg.Port > 65535 {
		return nil, fmt.Errorf("Port %d: want 0 to 65535", cfg.Port)
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
	if !s.nats.ReadyForConnections(startTimeout) {
		return errors.Join(fmt.Errorf("not ready within %v", startTimeout), log.fatal())
	}
	return nil
}

// URL returns the URL that clients connect to.
func (s *Server) URL() string { return s.nats.ClientURL() }

// Shutdown stops the server and releases its data directory before it returns. It may be
// called more than once.
func (s *Server) Shutdown() {
	if s.nats != nil {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
	}
	_ = s.lock.Close() // an error does not matter: the file has no data
}
