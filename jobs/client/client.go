package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config is the configuration of a [Client].
type Config struct {
	// Cluster says how to reach the cluster. The zero value is cluster "default" on
	// nats://127.0.0.1:4222; cluster.FromEnv reads the environment.
	Cluster cluster.Config

	// Name is the connection's name, which the NATS server shows to its operators. The default is
	// "bellwether client".
	Name string

	// Timeout is how long a method waits for an answer of a leader, for each answer of storage, and
	// for storage to recover. The default is 5 s.
	Timeout time.Duration

	// Grant contains what the code of a job may use in this process when Submit compares the
	// parameters with the job's input. If this process may not read the input, Submit does not
	// compare.
	Grant jobs.Grant
}

const (
	defaultName    = "bellwether client"
	defaultTimeout = 5 * time.Second
)

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, defaultName)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Cluster.CallTimeout = cmp.Or(c.Cluster.CallTimeout, c.Timeout)
	return c
}

func (c Config) validate() error {
	if c.Timeout < 0 {
		return fmt.Errorf("Timeout %v: want more than 0: %w", c.Timeout, cluster.ErrConfig)
	}
	return nil
}

// Client is a connection to one cluster.
type Client struct {
	cfg      Config
	nc       *nats.Conn
	subjects wire.Subjects
	distance time.Duration // time that it took to connect, which is longer than a round trip to the NATS server
	active   activeJobs
	run      runKinds
	unheard  atomic.Bool // true if the user may not subscribe to announcements of ends

	mu      sync.Mutex
	storage *cluster.Storage // storage of the cluster; nil until a method needs it
	store   *store.Store

	own   ownStorage
	known knownJobs
}

// Connect connects to the cluster's NATS server. The caller must close the client.
func Connect(ctx context.Context, cfg Config) (*Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure client: %w", err)
	}
	var err error
	if cfg.Cluster, err = cfg.Cluster.Resolve(); err != nil {
		return nil, err
	}
	subjects, err := cfg.Cluster.Subjects()
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, subjects: subjects, active: newActiveJobs()}
	options := []nats.Option{nats.ErrorHandler(c.onError)}
	if deadline, ok := ctx.Deadline(); ok {
		options = append(options, nats.Timeout(min(defaultTimeout, time.Until(deadline))))
	}
	began := time.Now()
	if c.nc, err = cfg.Cluster.ConnectNATS(cfg.Name, options...); err != nil {
		return nil, err
	}
	c.distance = time.Since(began)
	if err := cluster.CheckNATS(c.nc); err != nil {
		c.nc.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the connections to NATS and to storage.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.storage != nil {
		c.storage.Close()
	}
	c.nc.Close()
}

// Cluster returns the configuration of the cluster, including defaults.
func (c *Client) Cluster() cluster.Config { return c.cfg.Cluster }

// Conn returns the NATS connection. The caller must not close the connection.
func (c *Client) Conn() *nats.Conn { return c.nc }

// open returns the cluster's storage. The first call of open opens the storage. Workers create the
// storage, so open fails with [ErrUnused] if it does not exist: the cluster's name may be misspelt.
func (c *Client) open(ctx context.Context) (*store.Store, error) { return c.openStorage(ctx, false) }

// openStorage is like open, and creates the storage if create is true.
func (c *Client) openStorage(ctx context.Context, create bool) (*store.Store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.store != nil {
		return c.store, nil
	}
	if !create {
		if exists, err := c.cfg.Cluster.Exists(ctx, c.nc); err == nil && !exists {
			return nil, c.errUnused()
		}
	}
	s, err := c.cfg.Cluster.OpenStorage(ctx, c.nc) // each request to storage has a time limit, see Config.Timeout
	if err != nil {
		return nil, err
	}
	c.storage, c.store = s, s.Store(nil)
	return c.store, nil
}

// explain adds the cluster's name to an error from storage, and returns nil for nil.
func (c *Client) explain(err error) error { return c.storage.Explain(err) }

const (
	askTimeout  = time.Second            // timeout of one request to the leader
	liveTimeout = 500 * time.Millisecond // timeout of a request to the leader for which older data in storage can replace the answer
	askInterval = 100 * time.Millisecond // interval between requests while there is no leader
)

// ask sends one request to the leader. ask fails with [ErrNoLeader] if no leader answers, and with
// [ErrOtherStorage] if the only leaders that answer use another storage than the client. The request
// takes up to the given timeout and the time of two more round trips: the client's and the leader's.
func ask[A wire.Message](ctx context.Context, c *Client, what string, question []byte, timeout time.Duration) (A, error) {
	var none A
	bounded, cancel := context.WithTimeout(ctx, timeout+2*c.distance)
	defer cancel()
	msg, err := c.nc.RequestWithContext(bounded, c.subjects.Ask(what), question)
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(err, nats.ErrNoResponders):
		return none, ctx.Err()
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return none, errorf(ErrNoLeader, "no leader of cluster %s answered", c.cfg.Cluster.Name)
	case err != nil:
		return none, fmt.Errorf("ask the leader: %w", err)
	}
	answer, err := wire.Decode[A](msg.Data)
	if err != nil {
		return none, fmt.Errorf("read the leader's answer: %w", err)
	}
	if err := c.checkStorage(ctx, storageOf(answer)); err != nil {
		return askOthers[A](bounded, c, what, question, err)
	}
	return answer, nil
}

// askUntil repeats a request until a leader answers or Config.Timeout has passed, because an
// election may be in progress. A leader may receive the request twice.
func askUntil[A wire.Message](ctx context.Context, c *Client, what string, question []byte) (A, error) {
	bounded, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	for {
		answer, err := ask[A](bounded, c, what, question, askTimeout)
		if err == nil || ctx.Err() != nil || bounded.Err() == nil && !errors.Is(err, ErrNoLeader) && !errors.Is(err, ErrOtherStorage) {
			return answer, err
		}
		if sleep(bounded, askInterval) != nil && ctx.Err() == nil {
			if errors.Is(err, ErrOtherStorage) {
				return answer, err
			}
			return answer, c.noLeader(ctx)
		}
	}
}

// noLeader returns an [ErrNoLeader], which is also an [ErrUnused] if no worker has used the storage.
func (c *Client) noLeader(ctx context.Context) error {
	err := errorf(ErrNoLeader, "no leader of cluster %s answered in %v", c.cfg.Cluster.Name, c.cfg.Timeout)
	if c.Unused(ctx) {
		return unusedError{err}
	}
	return err
}

// unusedError adds ErrUnused to an error without a change of its text.
type unusedError struct{ error }

func (e unusedError) Unwrap() []error { return []error{e.error, ErrUnused} }

// Unused reports whether no worker has used the cluster's storage since the storage was created.
// Unused returns false if storage does not answer.
func (c *Client) Unused(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, identityTimeout+c.distance)
	defer cancel()
	used, err := c.cfg.Cluster.Used(ctx, c.nc)
	return err == nil && !used
}

// sleep returns nil after d, or an error as soon as ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	_, err := await(ctx, nil, d)
	return err
}
