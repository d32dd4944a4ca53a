package ledger

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config tunes a ledger. A field that is zero gets its default.
type Config struct {
	// Epoch is the epoch of the leader, at least 1. It is part of every span ID.
	Epoch uint64

	// Self is the ID of the worker in the leader's process. A job that kills workers
	// must not kill the leader that looks for the cause, so crash suspects go to other
	// workers.
	Self string

	// Storage is the identity of the leader's storage. Workers on another storage are
	// refused. If Storage is empty, workers are not checked.
	Storage string

	// Build is the build of the leader's program, which merges partials. Default
	// [wire.UnknownBuild].
	Build string

	// Horizon is how much work each slot is given ahead. It must be longer than the time
	// from a leader's death to the next leader's first assignment, so that no slot idles
	// during a failover. Default 4 s.
	Horizon time.Duration

	// ReportEvery is the shortest report interval. A shorter interval loses less work when a
	// worker dies and costs more wake-ups. Default 100 ms.
	ReportEvery time.Duration

	// ReportsPerSecond bounds the reports of all workers together, and so the leader's
	// own work: the report interval grows with the number of workers. Default 500.
	ReportsPerSecond int

	// IdleEvery is the report interval while there is no job. Default 1 s.
	IdleEvery time.Duration

	// SilentAfter is how long after a missed report a worker counts as gone, although its
	// process may be alive. It must be longer than the pauses of a busy machine. The default
	// is 5 s.
	SilentAfter time.Duration

	// RecoveryTimeout bounds how long a new leader waits for the workers named in the
	// manifests before it assigns the partitions that no worker reported. Default 1 s.
	RecoveryTimeout time.Duration

	// RecoveryGrace is the least time that a new leader waits, for workers that no manifest
	// names yet. Default 50 ms.
	RecoveryGrace time.Duration

	// CheckpointEvery is the shortest time between two checkpoints of a job. Default 1 s.
	CheckpointEvery time.Duration

	// MeanTimeBetweenFailures is how long a worker's process lives on average, if it is not told
	// to stop. A shorter time makes workers write large partials to storage more often. The
	// default is 6 h, for spot machines.
	MeanTimeBetweenFailures time.Duration

	// StoreBytesPerSecond is how fast a worker writes to storage, which is weighed against the
	// work that would be lost. Default 50 MB/s.
	StoreBytesPerSecond int

	// RetryAfter is the backoff after the first failure of a partition. The backoff doubles
	// with each failure, up to RetryAtMost. Defaults 200 ms and 10 s.
	RetryAfter  time.Duration
	RetryAtMost time.Duration

	// MaxWorkers bounds the number of workers; further workers are refused until others
	// leave. The limit bounds memory if reports come under invented names. Default 10,000.
	MaxWorkers int

	// MaxTreeNodes bounds the tree nodes that the ledger keeps for one job. A job that needs
	// more tree nodes fails: finished nodes that scattered cannot come from workers that run
	// spans. A tree node takes about 50 bytes. Default 4,000,000.
	MaxTreeNodes int

	// MaxFailing bounds the failed and unfinished partitions of one job. A job with more of
	// them fails, because this many failures must have a common cause. The limit bounds
	// memory. If more partitions may be skipped, that number is the limit. Default 10,000.
	MaxFailing int

	// MaxSkipped bounds the skipped partitions of one job, even if its submitter allows
	// more. The limit bounds memory and the size of checkpoints. Default [store.MaxSkipped].
	MaxSkipped int
}

func (c Config) withDefaults() Config {
	c.Build = cmp.Or(c.Build, wire.UnknownBuild)
	c.Horizon = cmp.Or(c.Horizon, 4*time.Second)
	c.ReportEvery = cmp.Or(c.ReportEvery, 100*time.Millisecond)
	c.ReportsPerSecond = cmp.Or(c.ReportsPerSecond, 500)
	c.IdleEvery = cmp.Or(c.IdleEvery, time.Second)
	c.SilentAfter = cmp.Or(c.SilentAfter, 5*time.Second)
	c.RecoveryTimeout = cmp.Or(c.RecoveryTimeout, time.Second)
	c.RecoveryGrace = cmp.Or(c.RecoveryGrace, 50*time.Millisecond)
	c.CheckpointEvery = cmp.Or(c.CheckpointEvery, time.Second)
	c.MeanTimeBetweenFailures = cmp.Or(c.MeanTimeBetweenFailures, 6*time.Hour)
	c.StoreBytesPerSecond = cmp.Or(c.StoreBytesPerSecond, 50_000_000)
	c.RetryAfter = cmp.Or(c.RetryAfter, 200*time.Millisecond)
	c.RetryAtMost = cmp.Or(c.RetryAtMost, 10*time.Second)
	c.MaxWorkers = cmp.Or(c.MaxWorkers, 10_000)
	c.MaxTreeNodes = cmp.Or(c.MaxTreeNodes, 4_000_000)
	c.MaxFailing = cmp.Or(c.MaxFailing, 10_000)
	c.MaxSkipped = cmp.Or(c.MaxSkipped, store.MaxSkipped)
	return c
}

// validate checks a Config whose defaults are filled in.
func (c Config) validate() error {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"Horizon", c.Horizon},
		{"ReportEvery", c.ReportEvery},
		{"IdleEvery", c.IdleEvery},
		{"SilentAfter", c.SilentAfter},
		{"RecoveryTimeout", c.RecoveryTimeout},
		{"RecoveryGrace", c.RecoveryGrace},
		{"CheckpointEvery", c.CheckpointEvery},
		{"MeanTimeBetweenFailures", c.MeanTimeBetweenFailures},
		{"RetryAfter", c.RetryAfter},
		{"RetryAtMost", c.RetryAtMost},
	} {
		if f.value < 0 {
			return fieldError(f.name, f.value, "a positive duration, or 0 for the default")
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"ReportsPerSecond", c.ReportsPerSecond},
		{"StoreBytesPerSecond", c.StoreBytesPerSecond},
		{"MaxWorkers", c.MaxWorkers},
		{"MaxTreeNodes", c.MaxTreeNodes},
		{"MaxFailing", c.MaxFailing},
		{"MaxSkipped", c.MaxSkipped},
	} {
		if f.value < 0 {
			return fieldError(f.name, f.value, "at least 1, or 0 for the default")
		}
	}
	switch {
	case c.Epoch == 0:
		return fieldError("Epoch", c.Epoch, "at least 1")
	case c.Horizon < 4*c.ReportEvery:
		return fieldError("Horizon", c.Horizon, fmt.Sprintf("at least four times ReportEvery %v, or slots run dry between reports", c.ReportEvery))
	case c.SilentAfter < 4*c.ReportEvery:
		return fieldError("SilentAfter", c.SilentAfter, fmt.Sprintf("at least four times ReportEvery %v, or one lost report looks like a death", c.ReportEvery))
	case c.RecoveryGrace > c.RecoveryTimeout:
		return fieldError("RecoveryGrace", c.RecoveryGrace, fmt.Sprintf("at most RecoveryTimeout %v", c.RecoveryTimeout))
	case c.RetryAfter > c.RetryAtMost:
		return fieldError("RetryAfter", c.RetryAfter, fmt.Sprintf("at most RetryAtMost %v", c.RetryAtMost))
	}
	return nil
}

func fieldError(name string, value any, want string) error {
	return fmt.Errorf("%s %v: want %s", name, value, want)
}
