package client

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	// DefaultMaxAttempts is how often a partition that fails is tried by default.
	DefaultMaxAttempts = 3
	// MaxPriority bounds a job's priority on both sides of 0.
	MaxPriority = 1000
	// MaxSkipped is the largest number of partitions that a job may leave out.
	MaxSkipped = store.MaxSkipped
)

// SubmitOptions are the optional parts of a submission. The zero value is the defaults.
type SubmitOptions struct {
	// Params are the job's parameters: a value of the struct type of its definition,
	// or a jobs.Params. A struct sets every parameter, so change a copy of the
	// definition's Defaults. Nil: the defaults.
	Params any
	// Pairs are parameters as name=value. They override Params.
	Pairs []string

	// Priority is -MaxPriority to MaxPriority. Jobs of a higher priority run first.
	Priority int
	// MaxAttempts is how often a partition that fails is tried before the job fails.
	// Default DefaultMaxAttempts.
	MaxAttempts int
	// MaxSkipped is how many partitions may be left out of the result because they keep
	// failing, at most [MaxSkipped].
	MaxSkipped uint64
}

func (o SubmitOptions) withDefaults() SubmitOptions {
	o.MaxAttempts = cmp.Or(o.MaxAttempts, DefaultMaxAttempts)
	return o
}

func (o SubmitOptions) validate() error {
	switch {
	case o.Priority < -MaxPriority || o.Priority > MaxPriority:
		return errorf(ErrInvalid, "Priority %d: want %d to %d", o.Priority, -MaxPriority, MaxPriority)
	case o.MaxAttempts < 1:
		return errorf(ErrInvalid, "MaxAttempts %d: want at least 1", o.MaxAttempts)
	case o.MaxSkipped > MaxSkipped:
		return errorf(ErrInvalid, "MaxSkipped %d: want at most %d", o.MaxSkipped, MaxSkipped)
	}
	return nil
}

// params returns the parameters in the stored form.
func (o SubmitOptions) params(job jobs.Job) (base jobs.Params, err error) {
	switch p := o.Params.(type) {
	case nil:
	case jobs.Params:
		base = p
	default:
		if base, err = job.EncodeParams(p); err != nil {
			return nil, err
		}
	}
	return job.Params(base, o.Pairs...)
}

// Submit submits a job and returns its ID. The job is then durable: it runs as soon as
// there are workers with its definition. After an error the job may have been submitted
// all the same, unless the error is [ErrInvalid].
func (c *Client) Submit(ctx context.Context, job jobs.Job, o SubmitOptions) (id string, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return "", fmt.Errorf("submit job %s: %w", job.Name(), err)
	}
	params, err := o.params(job)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	s, err := c.open(ctx)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	now := time.Now().UTC()
	id = store.NewID(now)
	err = s.Submit(ctx, store.Spec{
		ID: id, Job: job.Name(), Version: job.Version(), Params: params,
		Priority: o.Priority, MaxAttempts: o.MaxAttempts, MaxSkipped: o.MaxSkipped, Submitted: now,
	})
	if err != nil {
		return "", c.explain(fmt.Errorf("submit job %s: %w", job.Name(), err))
	}
	return id, nil
}
