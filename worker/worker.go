package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Store is what a worker needs of the cluster's storage. Both methods are called
// from several goroutines.
type Store interface {
	// Plan reads the plan of a job.
	Plan(ctx context.Context, job string) (jobs.Plan, error)
	// PutPartial stores a partial too large for a message under a name that
	// follows from its content.
	PutPartial(ctx context.Context, job string, data []byte) (blob string, err error)
}

// Worker runs spans of partitions for whoever leads.
type Worker struct {
	cfg   Config
	nc    *nats.Conn
	store Store
}

// New checks the configuration and makes a worker. The connection stays the
// caller's to close, after Run has returned.
func New(nc *nats.Conn, store Store, cfg Config) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err == nil && (nc == nil || store == nil) {
		err = errors.New("a connection and a store are needed")
	}
	if err != nil {
		return nil, fmt.Errorf("configure worker: %w", err)
	}
	return &Worker{cfg: cfg, nc: nc, store: store}, nil
}

// Run works until ctx is done and the worker is drained, or the connection is
// closed for good.
func (w *Worker) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Status says what the worker does at the moment.
func (w *Worker) Status() Status {
	return Status{ID: w.cfg.ID, Slots: w.cfg.Slots, Connected: w.nc.IsConnected()}
}
