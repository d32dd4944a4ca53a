package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	natsjetstream "github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/kvlease"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// storage is where a cluster keeps things, opened.
type storage interface {
	store(options ...store.Option) *store.Store
	// lease opens the record that workers race for and sets what it needs of cfg,
	// which has its Duration. It fails where storage is not ready for a worker.
	lease(ctx context.Context, cfg *election.Config) (election.Lease, error)
	// explain says what an error that is store.ErrUnavailable means to a user.
	explain(err error) error
	close()
}

// openStorage opens what keeps a cluster's things. timeout bounds the calls of
// those drivers that need no connection for them; 0 is their default.
func openStorage(ctx context.Context, nc *nats.Conn, at place, timeout time.Duration, log *slog.Logger) (storage, error) {
	if at.storage == storageAzure {
		return openAzure(at, timeout, log)
	}
	driver, err := jetstream.Open(ctx, nc, jetstream.Config{Cluster: at.cluster, Replicas: at.replicas, Logger: log})
	s := jetStreamStorage{nc: nc, driver: driver, cluster: at.cluster, replicas: at.replicas, log: log}
	if isAway(err) {
		return nil, s.explain(err)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// jetStreamStorage is a cluster's storage on its NATS servers.
type jetStreamStorage struct {
	nc       *nats.Conn
	driver   *jetstream.Driver
	cluster  string
	replicas int
	log      *slog.Logger
}

func (s jetStreamStorage) store(options ...store.Option) *store.Store {
	return store.New(s.driver, s.driver, append(options, store.WithLogger(s.log))...)
}

// lease opens the lease in a bucket of its own. Clusters' names have no
// underscore, so it is nobody else's.
func (s jetStreamStorage) lease(ctx context.Context, cfg *election.Config) (election.Lease, error) {
	js, err := natsjetstream.New(s.nc)
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	lease, err := kvlease.Open(ctx, js, kvlease.Config{
		Bucket: "bellwether_" + s.cluster + "_lease", Duration: cfg.Duration, Replicas: s.replicas,
	})
	if err != nil {
		return nil, err
	}
	return lease, nil
}

func (s jetStreamStorage) explain(err error) error {
	hint := ""
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, natsjetstream.ErrJetStreamNotEnabled) {
		hint = " (is JetStream enabled on this NATS server?)"
	}
	return absentf("storage of cluster %s does not answer: %w%s", s.cluster, err, hint)
}

func (s jetStreamStorage) close() {}

// startServer starts a NATS server in this process. Port 0 is any that is free.
func startServer(dir string, port int, log *slog.Logger) (*natsserver.Server, error) {
	server, err := natsserver.Start(natsserver.Config{Dir: dir, Port: port, Logger: log})
	switch {
	case errors.Is(err, natsserver.ErrInUse):
		return nil, usagef("%w: give another --data", err)
	case err != nil:
		return nil, fmt.Errorf("%w (if the port is taken, give another --port)", err)
	}
	return server, nil
}
