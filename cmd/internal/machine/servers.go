// Package machine runs parts of a cluster on this machine for a command: servers, worker processes and a page.
package machine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Servers are the servers of a cluster on this machine: a NATS server in this
// process and, if storage is Azure and no account is configured, Azurite.
type Servers struct {
	Config  cluster.Config // configuration for processes that join the cluster
	NATS    *natsserver.Server
	Azurite *azurite.Server // Azurite server; nil if it is not needed
}

// Start starts the servers of a local cluster, which keep their data below dir. If withAzurite
// is true, Start also starts Azurite as the cluster's storage account.
func Start(ctx context.Context, a *console.App, cfg cluster.Config, dir string, port int, withAzurite bool, log *slog.Logger) (*Servers, error) {
	server, err := startServer(dir, port, log)
	if err != nil {
		return nil, err
	}
	cfg.NATS, cfg.Replicas = cluster.NATS{URL: server.URL()}, 1
	l := &Servers{Config: cfg, NATS: server}
	if withAzurite {
		if l.Azurite, err = StartAzurite(ctx, a, dir, log); err != nil {
			server.Shutdown()
			return nil, err
		}
		l.Config.Azure = cluster.AzureAccount{Config: account.Config{ConnectionString: l.Azurite.ConnectionString()}}
	}
	return l, nil
}

// Create creates the cluster's storage as workers do, so that jobs may be submitted before the first worker runs.
// Create returns an error if workers cannot use the storage.
func (l *Servers) Create(ctx context.Context, timeout time.Duration) error {
	cfg := l.Config
	cfg.CallTimeout = timeout
	nc, err := cfg.ConnectNATS("bellwether dev")
	if err != nil {
		return err
	}
	defer nc.Close()
	s, err := cfg.OpenStorage(ctx, nc)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Explain(s.Check(ctx)); err != nil {
		return err
	}
	_, err = s.Store(nil).Identity(ctx)
	return s.Explain(err)
}

// Environ returns environment variables for processes that join the cluster.
func (l *Servers) Environ() []string { return l.Config.Environ() }

// ErrInterrupted means that a signal ended a command that removes its cluster at its end.
var ErrInterrupted = errors.New("interrupted; everything is removed")

// ErrAzuriteEnded means that Azurite ended unexpectedly.
var ErrAzuriteEnded = errors.New("the Azurite process has ended")

// Failed returns a channel that is closed if Azurite ends unexpectedly.
func (l *Servers) Failed() <-chan struct{} {
	if l.Azurite == nil {
		return nil
	}
	return l.Azurite.Done()
}

// Close stops the servers.
func (l *Servers) Close(log *slog.Logger) {
	if l.Azurite != nil {
		if err := l.Azurite.Stop(); err != nil {
			log.Warn("Could not stop Azurite", "error", err)
		}
	}
	l.NATS.Shutdown()
}

// startServer starts a NATS server in this process. Port 0 selects any free port.
func startServer(dir string, port int, log *slog.Logger) (*natsserver.Server, error) {
	server, err := natsserver.Start(natsserver.Config{Dir: dir, Port: port, Logger: log})
	switch {
	case errors.Is(err, natsserver.ErrInUse):
		return nil, console.Usagef("%w: give another --data", err)
	case err != nil:
		return nil, fmt.Errorf("%w (if the port is in use, give another --port)", err)
	}
	return server, nil
}

// StartAzurite starts Azurite, which emulates Azure Storage on this machine. Azurite keeps
// its data below dir.
func StartAzurite(ctx context.Context, a *console.App, dir string, log *slog.Logger) (*azurite.Server, error) {
	dir = filepath.Join(dir, "azurite")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for Azurite: %w", err)
	}
	a.Note("starting Azurite, an emulator of Azure Storage; npm installs it the first time")
	server, err := azurite.Start(ctx, azurite.Config{Dir: dir, Logger: log})
	if err != nil {
		return nil, &console.StatusError{Status: console.StatusAbsent, Err: err}
	}
	return server, nil
}
