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

// ground is what a cluster on this machine stands on: a NATS server in this
// process and, where Azure is its storage and no account is named, Azurite.
type ground struct {
	cfg     cluster.Config // of processes that are to join the cluster
	nats    *natsserver.Server
	azurite *azurite.Server // nil: none
}

// startGround keeps all that is to be kept below dir. With standIn, an Azurite is
// the storage account.
func (a *app) startGround(ctx context.Context, cfg cluster.Config, dir string, port int, standIn bool, log *slog.Logger) (*ground, error) {
	server, err := startServer(dir, port, log)
	if err != nil {
		return nil, err
	}
	cfg.NATS, cfg.Replicas = cluster.NATS{URL: server.URL()}, 1
	g := &ground{cfg: cfg, nats: server}
	if standIn {
		if g.azurite, err = a.startAzurite(ctx, dir, log); err != nil {
			server.Shutdown()
			return nil, err
		}
		g.cfg.Azure = cluster.AzureAccount{Config: account.Config{ConnectionString: g.azurite.ConnectionString()}}
	}
	return g, nil
}

// check reports whether workers could use the storage.
func (g *ground) check(ctx context.Context, timeout time.Duration) error {
	if g.cfg.Storage != cluster.Azure {
		return nil
	}
	cfg := g.cfg
	cfg.CallTimeout = timeout
	s, err := cfg.OpenStorage(ctx, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Explain(s.Check(ctx))
}

// env is the environment of processes that are to join the cluster.
func (g *ground) env() []string { return g.cfg.Environ() }

var errAzuriteEnded = errors.New("the Azurite process has ended")

// broken is closed when a part of the ground has ended by itself.
func (g *ground) broken() <-chan struct{} {
	if g.azurite == nil {
		return nil
	}
	return g.azurite.Done()
}

func (g *ground) close(log *slog.Logger) {
	if g.azurite != nil {
		if err := g.azurite.Stop(); err != nil {
			log.Warn("Azurite did not stop", "error", err)
		}
	}
	g.nats.Shutdown()
}

// startServer starts a NATS server in this process. Port 0 is any free port.
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

// startAzurite starts Azurite, which stands in for Azure Storage on this machine. It
// keeps its data below dir.
func (a *app) startAzurite(ctx context.Context, dir string, log *slog.Logger) (*azurite.Server, error) {
	dir = filepath.Join(dir, "azurite")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for Azurite: %w", err)
	}
	a.note("starting Azurite, which stands in for Azure Storage; the first time, npm installs it")
	server, err := azurite.Start(ctx, azurite.Config{Dir: dir, Logger: log})
	if err != nil {
		return nil, &statusError{statusAbsent, err}
	}
	return server, nil
}
