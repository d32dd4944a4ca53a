package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// localServers are the servers of a cluster on this machine: a NATS server in this
// process and, if storage is Azure and no account is configured, Azurite.
type localServers struct {
	cfg     cluster.Config // configuration for processes that join the cluster
	nats    *natsserver.Server
	azurite *azurite.Server // Azurite server; nil if it is not needed
}

// startLocal starts the servers of a local cluster, which keep their data below dir. If withAzurite
// is true, startLocal also starts Azurite as the cluster's storage account.
func (a *app) startLocal(ctx context.Context, cfg cluster.Config, dir string, port int, withAzurite bool, log *slog.Logger) (*localServers, error) {
	server, err := startServer(dir, port, log)
	if err != nil {
		return nil, err
	}
	cfg.NATS, cfg.Replicas = cluster.NATS{URL: server.URL()}, 1
	l := &localServers{cfg: cfg, nats: server}
	if withAzurite {
		if l.azurite, err = a.startAzurite(ctx, dir, log); err != nil {
			server.Shutdown()
			return nil, err
		}
		l.cfg.Azure = cluster.AzureAccount{Config: account.Config{ConnectionString: l.azurite.ConnectionString()}}
	}
	return l, nil
}

// check returns an error if workers cannot use the storage.
func (l *localServers) check(ctx context.Context, timeout time.Duration) error {
	if l.cfg.Storage != cluster.Azure {
		return nil
	}
	cfg := l.cfg
	cfg.CallTimeout = timeout
	s, err := cfg.OpenStorage(ctx, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Explain(s.Check(ctx))
}

// env returns environment variables for processes that join the cluster.
func (l *localServers) env() []string { return l.cfg.Environ() }

var errAzuriteEnded = errors.New("the Azurite process has ended")

// failed returns a channel that is closed if Azurite ends unexpectedly.
func (l *localServers) failed() <-chan struct{} {
	if l.azurite == nil {
		return nil
	}
	return l.azurite.Done()
}

func (l *localServers) close(log *slog.Logger) {
	if l.azurite != nil {
		if err := l.azurite.Stop(); err != nil {
			log.Warn("Could not stop Azurite", "error", err)
		}
	}
	l.nats.Shutdown()
}

// startServer starts a NATS server in this process. Port 0 selects any free port.
func startServer(dir string, port int, log *slog.Logger) (*natsserver.Server, error) {
	server, err := natsserver.Start(natsserver.Config{Dir: dir, Port: port, Logger: log})
	switch {
	case errors.Is(err, natsserver.ErrInUse):
		return nil, usagef("%w: give another --data", err)
	case err != nil:
		return nil, fmt.Errorf("%w (if the port is in use, give another --port)", err)
	}
	return server, nil
}

// startAzurite starts Azurite, which emulates Azure Storage on this machine. Azurite keeps
// its data below dir.
func (a *app) startAzurite(ctx context.Context, dir string, log *slog.Logger) (*azurite.Server, error) {
	dir = filepath.Join(dir, "azurite")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for Azurite: %w", err)
	}
	a.note("starting Azurite, an emulator of Azure Storage; npm installs it the first time")
	server, err := azurite.Start(ctx, azurite.Config{Dir: dir, Logger: log})
	if err != nil {
		return nil, &statusError{statusAbsent, err}
	}
	return server, nil
}
