package bloblease

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Config is the configuration of a [Lease].
type Config struct {
	// Container and Blob are the names of the blob and its container; the default of Blob is
	// "_lease". The storage driver for jobs does not use the name "_lease", so the lease can be in
	// the jobs' container.
	Container, Blob string
	// Duration is how long the lease lasts without a renewal: whole seconds from 15 s (the default)
	// to 60 s. It must equal the election's Duration in all processes.
	Duration time.Duration
	// CallTimeout bounds each call, unless the caller's context ends sooner; the default is a third
	// of Duration. It is at most a third of Duration, so that a failed renewal can be retried
	// before the deadline. An acquisition takes two to four requests. If a single request may take
	// up to 2 s, increase the election's CallTimeout too.
	CallTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Blob = cmp.Or(c.Blob, "_lease")
	c.Duration = cmp.Or(c.Duration, 15*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, c.Duration/3)
	return c
}

func (c Config) validate() error {
	return errors.Join(
		field.Check(c.Container != "", "Container", c.Container, "a name"),
		field.Check(c.Duration >= 15*time.Second && c.Duration <= time.Minute && c.Duration%time.Second == 0, "Duration", c.Duration, "whole seconds, 15s to 1m0s, as Azure requires"),
		field.Check(c.CallTimeout > 0 && c.CallTimeout <= c.Duration/3, "CallTimeout", c.CallTimeout, "more than 0 and at most a third of Duration, %v", c.Duration/3),
	)
}

// Open returns a Lease. It makes no call to storage: the first Read or Acquire creates a missing
// blob or container.
func Open(a *account.Account, cfg Config) (*Lease, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure lease: %w", err)
	}
	// Each try may take half of the time, which leaves time for a second try.
	retry := account.Retry{Within: cfg.CallTimeout, Try: cfg.CallTimeout / 2}
	container, err := a.Container(cfg.Container, retry)
	if err != nil {
		return nil, fmt.Errorf("open lease in container %s: %w", cfg.Container, err)
	}
	return &Lease{
		cfg: cfg, account: a, container: container,
		blob: container.NewBlockBlobClient(cfg.Blob),
	}, nil
}
