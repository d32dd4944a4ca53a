package natsserver

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrInUse means that another server uses the data directory.
var ErrInUse = errors.New("in use by another server")

// Config is the configuration of a [Server].
type Config struct {
	// Dir is the data directory, which Start creates if it is missing. Only one server at a time
	// can use a data directory.
	Dir string

	// Port is the TCP port on 127.0.0.1; 0 or -1 means any free port.
	Port int

	// MaxStore is the server's storage limit in bytes. The default 0 means the bytes that the data
	// directory has when the server starts, and three quarters of the disk space that is free then.
	// Clients can read the storage limit.
	MaxStore int64

	// Logger receives the server's log, with the server's notices at the debug level. If Logger is
	// nil, nothing is logged.
	Logger *slog.Logger
}

const (
	// The server pings each client every pingInterval, and disconnects a client that
	// leaves maxPings unanswered.
	pingInterval = 5 * time.Second
	maxPings     = 2
	// startTimeout is long enough for the recovery of a large store.
	startTimeout = 30 * time.Second
)

// Server is a running NATS server.
type Server struct {
	cfg  Config // configuration of the server; Port is the actual port
	url  string
	lock *os.File
	stop chan struct{}
	done chan struct{} // closed when watch has returned

	nats *server.Server // the running server; used only by watch until done is closed
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
	if cfg.MaxStore < 0 {
		return nil, fmt.Errorf("MaxStore %d: want at least 0", cfg.MaxStore)
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
	s := &Server{cfg: cfg, lock: lock, stop: make(chan struct{}), done: make(chan struct{})}
	if s.nats, err = run(cfg); err != nil {
		_ = lock.Close()
		return nil, err
	}
	s.url = s.nats.ClientURL()
	s.cfg.Port = s.nats.Addr().(*net.TCPAddr).Port
	go s.watch()
	return s, nil
}

func run(cfg Config) (_ *server.Server, err error) {
	if cfg.MaxStore == 0 {
		if cfg.MaxStore, err = defaultLimit(cfg.Dir); err != nil {
			return nil, err
		}
	}
	s, err := server.NewServer(&server.Options{
		Host:              "127.0.0.1",
		Port:              cfg.Port,
		JetStream:         true,
		JetStreamMaxStore: cfg.MaxStore,
		StoreDir:          cfg.Dir,
		SyncAlways:        true,
		PingInterval:      pingInterval,
		MaxPingsOut:       maxPings,
		NoSigs:            true,
	})
	if err != nil {
		return nil, err
	}
	log := &logger{log: cfg.Logger}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	if err = log.fatal(); err == nil && !s.ReadyForConnections(startTimeout) {
		err = errors.Join(fmt.Errorf("not ready within %v", startTimeout), log.fatal())
	}
	if err == nil {
		err = publishLimit(s)
	}
	if err != nil {
		stop(s)
		return nil, err
	}
	return s, nil
}

// publishLimit sets the server's storage limit as the limit of its only account, because clients
// can read only the limits of their account.
func publishLimit(s *server.Server) error {
	const unlimited = -1
	err := s.GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": {
		MaxStore:  s.JetStreamConfig().MaxStore - 1, // the server adds the difference from -1, its value for unlimited
		MaxMemory: unlimited, MaxStreams: unlimited, MaxConsumers: unlimited,
		MaxAckPending: unlimited, MemoryMaxStreamBytes: unlimited, StoreMaxStreamBytes: unlimited,
	}})
	if err != nil {
		return fmt.Errorf("limit JetStream: %w", err)
	}
	return nil
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// URL returns the URL of the server for clients.
func (s *Server) URL() string { return s.url }

// Shutdown stops the server and releases its data directory before it returns. It may be called
// more than once, but not from several goroutines at the same time.
func (s *Server) Shutdown() {
	select {
	case <-s.done:
		return
	default:
	}
	close(s.stop)
	<-s.done
	if s.nats != nil {
		stop(s.nats)
	}
	_ = s.lock.Close() // errors do not matter, because the file has no data
}
