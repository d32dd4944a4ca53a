package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Config is what a ledger is tuned by. The zero value of a field means its
// default.
type Config struct {
	// Epoch of the leader. It becomes part of the IDs of spans.
	Epoch uint64

	// Self is the ID of the worker in the leader's own process. A job that kills
	// workers must not kill the one that finds out why, so suspects go elsewhere.
	Self string

	// Horizon is how much work each slot is given ahead. It must outlast the time
	// from a leader's death to the next one's first assignment, so that nobody
	// idles meanwhile. Default 4 s.
	Horizon time.Duration

	// ReportEvery is the shortest interval of reports. Shorter means that less is
	// lost with a worker and costs more wake-ups. Default 100 ms.
	ReportEvery time.Duration

	// ReportsPerSecond bounds the reports of all workers together, and so the
	// leader's own work: the interval grows with the number of workers. Default 500.
	ReportsPerSecond int

	// IdleEvery is the interval of reports while there is no job. Default 1 s.
	IdleEvery time.Duration

	// SilentAfter is the time without a report, beyond the interval it was asked
	// for, after which a worker counts as gone although its process may live. It
	// must be longer than a busy machine's hiccups. Default 5 s.
	SilentAfter time.Duration

	// RecoveryTimeout bounds the wait of a new leader for the workers that the manifests
	// name, before it assigns what nobody claims to hold. Default 1 s.
	RecoveryTimeout time.Duration

	// RecoveryGrace is the wait for workers that no manifest names yet. Default 50 ms.
	RecoveryGrace time.Duration

	// CheckpointEvery is the least time between two checkpoints of a job. Default 1 s.
	CheckpointEvery time.Duration

	// RetryAfter is the wait before a failed partition is tried again; it doubles
	// with each failure up to RetryAtMost. Defaults 200 ms and 10 s.
	RetryAfter  time.Duration
	RetryAtMost time.Duration

	// MaxWorkers is how many workers the ledger takes part with; more are refused
	// until others are gone. It bounds memory, whoever makes up names. Default 10,000.
	MaxWorkers int

	// MaxTreeNodes is how many places of a job's tree the ledger keeps, before the job
	// fails: finished nodes that are so scattered were not computed span by span. It
	// bounds memory, at about 50 bytes each. Default 4,000,000.
	MaxTreeNodes int

	// MaxFailing is how many partitions of a job may have failed without being
	// finished, before the job fails: so many failures have one cause. It bounds
	// memory. Default 10,000.
	MaxFailing int

	// MaxSkipped bounds how many partitions of a job may be skipped, whatever its
	// submitter allows. It bounds memory, and checkpoints, which list them. Default
	// [store.MaxSkipped].
	MaxSkipped int
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate fills in defaults and checks the fields against one another.
func (c *Config) validate() error {
	orDefault(&c.Horizon, 4*time.Second)
	orDefault(&c.ReportEvery, 100*time.Millisecond)
	orDefault(&c.ReportsPerSecond, 500)
	orDefault(&c.IdleEvery, time.Second)
	orDefault(&c.SilentAfter, 5*time.Second)
	orDefault(&c.RecoveryTimeout, time.Second)
	orDefault(&c.RecoveryGrace, 50*time.Millisecond)
	orDefault(&c.CheckpointEvery, time.Second)
	orDefault(&c.RetryAfter, 200*time.Millisecond)
	orDefault(&c.RetryAtMost, 10*time.Second)
	orDefault(&c.MaxWorkers, 10_000)
	orDefault(&c.MaxTreeNodes, 4_000_000)
	orDefault(&c.MaxFailing, 10_000)
	orDefault(&c.MaxSkipped, store.MaxSkipped)
	switch {
	case c.Epoch == 0:
		return errors.New("epoch must be at least 1")
	case min(c.Horizon, c.ReportEvery, c.IdleEvery, c.SilentAfter, c.RecoveryTimeout, c.RecoveryGrace, c.CheckpointEvery, c.RetryAfter, c.RetryAtMost) < 0:
		return errors.New("a duration is negative")
	case c.Horizon < 4*c.ReportEvery:
		return fmt.Errorf("horizon %v must be at least four times the report interval %v, or slots run dry between reports", c.Horizon, c.ReportEvery)
	case c.SilentAfter < 4*c.ReportEvery:
		return fmt.Errorf("silent-after %v must be at least four times the report interval %v, or one lost report looks like a death", c.SilentAfter, c.ReportEvery)
	case c.RecoveryGrace > c.RecoveryTimeout:
		return fmt.Errorf("settle-at-least %v must not be longer than settle-for %v", c.RecoveryGrace, c.RecoveryTimeout)
	case c.RetryAfter > c.RetryAtMost:
		return fmt.Errorf("retry-after %v must not be longer than retry-at-most %v", c.RetryAfter, c.RetryAtMost)
	case min(c.ReportsPerSecond, c.MaxWorkers, c.MaxTreeNodes, c.MaxFailing, c.MaxSkipped) < 1:
		return errors.New("reports-per-second and what bounds memory must be at least 1")
	}
	return nil
}
