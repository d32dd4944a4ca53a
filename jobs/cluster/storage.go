package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
	natsjetstream "github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

var (
	// ErrUnavailable: storage does not answer, or temporarily refuses requests.
	ErrUnavailable = store.ErrUnavailable
	// ErrReplaced: the cluster's stored data was lost or replaced while this process was running.
	ErrReplaced = errors.New("storage is not the one that this process has used: its data was lost or replaced")
	// ErrDenied: storage refuses access until its settings or the credentials change.
	ErrDenied = account.ErrDenied
)

// driver is the interface that both storage drivers implement.
type driver interface {
	store.Blobs
	store.Queue
}

// Storage is the opened storage of a cluster.
type Storage struct {
	cfg     Config
	nc      *nats.Conn
	driver  driver
	account *account.Account // Azure storage account; nil if the storage is on JetStream
}

// OpenStorage opens the cluster's storage. On JetStream, OpenStorage creates missing streams, and fails
// with [ErrUnavailable] if JetStream does not answer. On Azure, OpenStorage sends no request, so
// [Storage.Check] or later calls report errors. The caller must close the connection nc.
func (c Config) OpenStorage(ctx context.Context, nc *nats.Conn) (*Storage, error) {
	c, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	s := &Storage{cfg: c, nc: nc}
	if c.Storage == Azure {
		err = s.openAzure()
	} else {
		s.driver, err = jetstream.Open(ctx, nc, c.jetStream())
		err = s.Explain(err)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c Config) jetStream() jetstream.Config {
	return jetstream.Config{Cluster: c.Name, Replicas: c.Replicas, CallTimeout: c.CallTimeout, Logger: c.Logger}
}

// Exists reports whether the cluster's storage exists. On Azure, Exists sends no request and returns true.
func (c Config) Exists(ctx context.Context, nc *nats.Conn) (bool, error) {
	c, err := c.Resolve()
	if err != nil || c.Storage == Azure {
		return true, err
	}
	return jetstream.Exists(ctx, nc, c.jetStream())
}

// Used reports whether a worker has used the cluster's storage since the storage was created. If the
// storage does not exist, Used does not create it.
func (c Config) Used(ctx context.Context, nc *nats.Conn) (bool, error) {
	c, err := c.Resolve()
	if err != nil {
		return false, err
	}
	if exists, err := c.Exists(ctx, nc); !exists || err != nil {
		return false, err
	}
	s, err := c.OpenStorage(ctx, nc)
	if err != nil {
		return false, err
	}
	defer s.Close()
	_, err = s.Store(nil).KnownIdentity(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Holds returns nil if the storage has the identity that [store.Store.Identity] returned when this
// process started. Holds returns [ErrReplaced] if the storage was deleted or replaced since then, and
// another error if this is unknown.
func (s *Storage) Holds(ctx context.Context, identity string) error {
	got, err := s.Store(nil).KnownIdentity(ctx)
	switch {
	case err == nil && got == identity:
		return nil
	case err == nil:
		return fmt.Errorf("%w: it was %s when this process started and is %s now", ErrReplaced, identity, got)
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w: it was %s when this process started and has no identity now", ErrReplaced, identity)
	case s.cfg.Storage == JetStream:
		if exists, failed := jetstream.Exists(ctx, s.nc, s.cfg.jetStream()); failed == nil && !exists {
			return fmt.Errorf("%w: its streams no longer exist on the NATS servers", ErrReplaced)
		}
	}
	return err
}

func (s *Storage) openAzure() error {
	a, err := s.cfg.OpenAccount()
	if err != nil {
		return err
	}
	d, err := azure.Open(a, azure.Config{Cluster: s.cfg.Name, CallTimeout: s.cfg.CallTimeout, Logger: s.cfg.Logger})
	if err != nil {
		return &configError{err}
	}
	s.account, s.driver = a, d
	return nil
}

// OpenAccount opens the Azure storage account without sending a request.
func (c Config) OpenAccount() (*account.Account, error) {
	cfg := c.Azure.Config
	switch {
	case !c.Azure.Configured():
		return nil, configErrorf("storage %s needs an account: set %s, or %s to sign in with an identity", Azure, EnvAzureConnection, EnvAzureAccount)
	case c.Azure.ConnectionFile != "":
		data, err := os.ReadFile(c.Azure.ConnectionFile)
		if err != nil {
			return nil, configErrorf("read the storage account's connection string: %w", err)
		}
		cfg.ConnectionString, cfg.URL = strings.TrimSpace(string(data)), ""
		if strings.HasPrefix(cfg.ConnectionString, "http") {
			cfg.ConnectionString, cfg.URL = "", cfg.ConnectionString
		}
	case cfg.ConnectionString != "":
		cfg.URL = ""
	}
	a, err := account.Open(cfg)
	if err != nil {
		return nil, &configError{err}
	}
	return a, nil
}

// Store returns the typed storage of the cluster's jobs. If observe is not nil, observe is called
// after each storage call.
func (s *Storage) Store(observe func(store.Call)) *store.Store {
	return store.New(store.Config{Blobs: s.driver, Queue: s.driver, Logger: s.cfg.Logger, Observe: observe})
}

// Config returns the configuration of the storage, including defaults.
func (s *Storage) Config() Config { return s.cfg }

// Conn returns the NATS connection, for example for a lease in JetStream.
func (s *Storage) Conn() *nats.Conn { return s.nc }

// Account returns the Azure storage account, for example for a lease on a blob. On JetStream,
// Account returns nil.
func (s *Storage) Account() *account.Account { return s.account }

// Check returns an error if a worker cannot use the storage. On Azure, Check creates the container
// and the queue if they are missing. On JetStream, OpenStorage has already created the missing
// streams.
func (s *Storage) Check(ctx context.Context) error {
	if d, ok := s.driver.(interface{ Check(context.Context) error }); ok {
		return d.Check(ctx)
	}
	return nil
}

// Explain adds the cluster's name to an error that means that storage does not answer or refuses
// access. For some errors Explain also adds a hint. Explain turns timeouts into [ErrUnavailable]
// and returns other errors unchanged.
func (s *Storage) Explain(err error) error {
	switch {
	case !isUnreachable(err):
		return err
	case errors.Is(err, store.ErrFull):
		return fmt.Errorf("storage of cluster %s: %w: remove jobs that have ended, or raise its limit", s.cfg.Name, err)
	case errors.Is(err, ErrDenied):
		return fmt.Errorf("storage of cluster %s refuses: %w", s.cfg.Name, err)
	}
	hint := ""
	if s.cfg.Storage == JetStream && (errors.Is(err, nats.ErrNoResponders) || errors.Is(err, natsjetstream.ErrJetStreamNotEnabled)) {
		hint = " (is JetStream enabled on this NATS server?)"
	}
	if !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("storage of cluster %s does not answer: %w%s", s.cfg.Name, err, hint)
}

// isUnreachable reports whether an error means that storage does not answer or refuses access.
func isUnreachable(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrDenied) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders)
}

// Close closes idle connections to the Azure storage account. Close does not close the NATS
// connection, which belongs to the caller of [Config.OpenStorage].
func (s *Storage) Close() {
	if s.account != nil {
		s.account.Close()
	}
}
