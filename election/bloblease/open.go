package bloblease

import (
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Config says where the lease is and how long it lasts.
type Config struct {
	// Container and Blob name the blob. Blob's default is "_lease", which is no key of
	// a value: so the container may be the one that the storage driver uses.
	Container, Blob string
	// Duration is how long the lease lasts without renewal: whole seconds, 15 s (the
	// default) to 60 s. The same as the election's, for all workers.
	Duration time.Duration
	// CallTimeout bounds each call, if the caller's context does not do so sooner; at
	// most a third of Duration, the default, so that a renewal can fail and be tried
	// again while the lease is trusted. An acquisition needs two to four requests: for
	// storage that takes 2 s to answer, give the election the same CallTimeout.
	CallTimeout time.Duration
}

const defaultBlob = "_lease"

func (c Config) withDefaults() Config {
	if c.Blob == "" {
		c.Blob = defaultBlob
	}
	if c.Duration == 0 {
		c.Duration = 15 * time.Second
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = c.Duration / 3
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.Container == "" {
		errs = append(errs, errors.New("no Container"))
	}
	if c.Duration < 15*time.Second || c.Duration > time.Minute || c.Duration%time.Second != 0 {
		errs = append(errs, fmt.Errorf("lease Duration %v: want whole seconds, 15s to 1m0s, which is what Azure takes", c.Duration))
	}
	if c.CallTimeout <= 0 || c.CallTimeout > c.Duration/3 {
		errs = append(errs, fmt.Errorf("lease CallTimeout %v: want more than 0 and at most a third of Duration, %v", c.CallTimeout, c.Duration/3))
	}
	return errors.Join(errs...)
}

// Open returns the lease. It makes no call: what is missing is created when the
// record is first read or claimed.
func Open(a *account.Account, cfg Config) (*Lease, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open lease: %w", err)
	}
	// Half of the time for a try leaves time for a second one.
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
