package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream/embedded"
)

// openStore opens the storage of a cluster.
func openStore(ctx context.Context, nc *nats.Conn, cluster string, log *slog.Logger) (*store.Store, error) {
	driver, err := jetstream.Open(ctx, nc, jetstream.Config{Cluster: cluster, Logger: log})
	if err != nil {
		return nil, err
	}
	return store.New(driver, driver, store.WithLogger(log)), nil
}

// startServer starts a NATS server in this process. Port 0 is any that is free.
func startServer(dir string, port int, log *slog.Logger) (*embedded.Server, error) {
	server, err := embedded.Start(embedded.Config{Dir: dir, Port: port, Logger: log})
	switch {
	case errors.Is(err, embedded.ErrInUse):
		return nil, usagef("%w: give another --data", err)
	case err != nil:
		return nil, fmt.Errorf("%w (if the port is taken, give another --port)", err)
	}
	return server, nil
}
