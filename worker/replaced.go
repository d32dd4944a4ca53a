package worker

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

const (
	// storageCheckEvery is the interval at which a worker without a leader checks its storage.
	storageCheckEvery = 5 * time.Second
	// replacedChecks is the number of consecutive checks after which the storage counts as replaced.
	// A single check may be wrong, because a NATS server that has just started may not know all
	// streams yet.
	replacedChecks = 3
)

// watchStorage checks until ctx is done whether the storage still is the one with which this process
// started. A process whose storage was replaced can neither lead nor follow a leader, so /healthz
// fails until a supervisor restarts the process. Run does not return, because an
// operator may still restore the storage. While a leader answers, the storage is checked only if the
// last check found that it was replaced.
func (p *process) watchStorage(ctx context.Context) {
	ticker := time.NewTicker(storageCheckEvery)
	defer ticker.Stop()
	for failed := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var err error
		if failed > 0 || !p.health.status().Answered { // a replaced storage may have a leader too, even this process
			err = p.opened.Holds(ctx, p.storage)
		}
		switch {
		case errors.Is(err, cluster.ErrReplaced):
			if failed++; failed == replacedChecks {
				p.health.replaced.Store(&err)
				p.log.Error("Storage was replaced, restart this worker", "error", err)
			}
		case err == nil:
			if p.health.replaced.Swap(nil) != nil {
				p.log.Info("Storage is back")
			}
			failed = 0
		}
	}
}

// mayLead returns an error if the storage counts as replaced and still is another one: the process
// could win the lease of the new storage.
func (p *process) mayLead(ctx context.Context) error {
	if p.health.replaced.Load() == nil {
		return nil
	}
	return p.opened.Holds(ctx, p.storage)
}
