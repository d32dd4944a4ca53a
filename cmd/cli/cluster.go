package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// clusterConn is the connection of a command that asks something of a cluster.
type clusterConn struct {
	program  string // for hints
	nc       *nats.Conn
	cfg      cluster.Config
	name     string
	subjects wire.Subjects
	timeout  time.Duration
	storage  *cluster.Storage // nil unless opened, and so is store
	store    *store.Store
}

// dial connects to NATS: enough for a command that asks the leader alone.
func (a *app) dial(cfg cluster.Config) (*clusterConn, error) {
	if a.timeout <= 0 {
		return nil, usagef("--timeout must be more than 0, got %v", a.timeout)
	}
	subjects, err := cfg.Subjects()
	if err != nil {
		return nil, a.explain(err)
	}
	nc, err := cfg.ConnectNATS(a.name)
	if err != nil {
		return nil, a.explain(err)
	}
	return &clusterConn{program: a.name, nc: nc, cfg: cfg, name: cfg.Name, subjects: subjects, timeout: a.timeout}, nil
}

// open connects to NATS and to the cluster's storage.
func (a *app) open(ctx context.Context, cfg cluster.Config) (*clusterConn, error) {
	cfg.CallTimeout = a.timeout
	c, err := a.dial(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if c.storage, err = cfg.OpenStorage(ctx, c.nc); err != nil {
		c.nc.Close()
		return nil, a.explain(err)
	}
	c.store = c.storage.Store()
	return c, nil
}

// openTarget connects to the cluster that the flags and the environment say.
func (a *app) openTarget(ctx context.Context) (*clusterConn, error) {
	cfg, err := a.target.config()
	if err != nil {
		return nil, err
	}
	return a.open(ctx, cfg)
}

func (c *clusterConn) close() {
	if c.storage != nil {
		c.storage.Close()
	}
	c.nc.Close()
}

// onLeader makes a command's code of one that asks the leader alone.
func (a *app) onLeader(do func(ctx context.Context, c *clusterConn) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		cfg, err := a.target.config()
		if err != nil {
			return err
		}
		c, err := a.dial(cfg)
		if err != nil {
			return err
		}
		defer c.close()
		return do(cmd.Context(), c)
	}
}

// onStorage makes a command's code of one that reads the cluster's storage.
func (a *app) onStorage(do func(ctx context.Context, c *clusterConn) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		c, err := a.openTarget(cmd.Context())
		if err != nil {
			return err
		}
		defer c.close()
		return do(cmd.Context(), c)
	}
}

// onJob makes a command's code of one that is given a job of a cluster.
func (a *app) onJob(do func(ctx context.Context, c *clusterConn, id string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.onStorage(func(ctx context.Context, c *clusterConn) error {
			id, err := c.lookup(ctx, args[0])
			if err != nil {
				return err
			}
			return do(ctx, c, id)
		})(cmd, args)
	}
}

// explain gives errors of storage their exit status.
func (c *clusterConn) explain(err error) error {
	err = c.storage.Explain(err)
	if errors.Is(err, cluster.ErrUnavailable) || errors.Is(err, cluster.ErrDenied) {
		return absentf("%w", err)
	}
	return err
}

// errNoLeader: nobody answered where a leader would.
var errNoLeader = errors.New("nobody leads at the moment")

const (
	askTimeout  = time.Second            // for one question: a leader answers in milliseconds
	liveTimeout = 500 * time.Millisecond // where storage can say nearly as much
	askInterval = 100 * time.Millisecond // between questions while nobody leads
)

// ask asks the leader one thing once. It fails with errNoLeader where nobody
// answers.
func ask[A wire.Message](ctx context.Context, c *clusterConn, what string, question []byte, timeout time.Duration) (A, error) {
	var none A
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	msg, err := c.nc.RequestWithContext(ctx, c.subjects.Ask(what), question)
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return none, errNoLeader
	case err != nil:
		return none, fmt.Errorf("ask the leader: %w", err)
	}
	answer, err := wire.Decode[A](msg.Data)
	if err != nil {
		return none, fmt.Errorf("read the leader's answer: %w", err)
	}
	return answer, nil
}

// insist asks until somebody answers or the time for answers is over: an election
// may be under way, and a leader that has stalled may still be there to be asked.
// To ask twice does no harm.
func insist[A wire.Message](ctx context.Context, c *clusterConn, what string, question []byte) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for {
		answer, err := ask[A](ctx, c, what, question, askTimeout)
		if !errors.Is(err, errNoLeader) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, absentf("no leader of cluster %s answered in %v: start workers with '%[3]s worker' or '%[3]s dev'", c.name, c.timeout, c.program)
		case <-time.After(askInterval):
		}
	}
}
