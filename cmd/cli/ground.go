package cli

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
)

// ground is what a cluster on this machine stands on: a NATS server in this
// process and, where Azure is its storage and no account is named, Azurite.
type ground struct {
	at      place
	nats    *natsserver.Server
	azurite *azurite.Server // nil: none
}

// startGround keeps all that is to be kept below dir. With standIn, an Azurite is
// the storage account.
func (a *app) startGround(ctx context.Context, at place, dir string, port int, standIn bool, log *slog.Logger) (*ground, error) {
	server, err := startServer(dir, port, log)
	if err != nil {
		return nil, err
	}
	g := &ground{at: at, nats: server}
	if standIn {
		if g.azurite, err = a.startAzurite(ctx, dir, log); err != nil {
			server.Shutdown()
			return nil, err
		}
		g.at.azure = azureFlags{local: g.azurite.ConnectionString()}
	}
	return g, nil
}

// check says whether workers will be let into storage.
func (g *ground) check(ctx context.Context, timeout time.Duration) error {
	if g.at.storage != storageAzure {
		return nil
	}
	s, err := openAzure(g.at, timeout, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.driver.Check(ctx); err != nil {
		return s.explain(err)
	}
	return nil
}

// env is the environment of processes that shall be of the cluster.
func (g *ground) env() []string {
	env := append(withoutCredentials(), envNATSURL+"="+g.nats.URL(), envCluster+"="+g.at.cluster, envStorage+"="+g.at.storage,
		envReplicas+"=1") // it has one server
	return append(env, g.at.azure.env()...)
}

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
