package ledger

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config is the configuration of a [Ledger]. A zero field gets its default.
type Config struct {
	// Epoch is the epoch of the leader, at least 1. Epoch is part of every span ID.
	Epoch uint64

	// Self is the ID of the worker in the leader's process. Crash suspects are assigned to other
	// workers, because a job that kills workers must not kill the leader while the leader is
	// looking for the cause.
	Self string

	// Storage is the identity of the leader's storage. The ledger refuses workers on another
	// storage. If Storage is empty, workers are not checked.
	Storage string

	// Build is the build of the leader's program, which merges partials. Default
	// [wire.UnknownBuild].
	Build string

	// Horizon is how much work each slot is assigned in advance. Horizon must be longer than the
	// time from a leader's death to the next leader's first assignment, so that no slot is idle
	// during a failover. Default 4 s.
	Horizon time.Duration

	// ReportEvery is the shortest report interval. With a shorter interval, less work is lost when
	// a worker dies, but workers wake up more often. Default 100 ms.
	ReportEvery time.Duration

	// ReportsPerSecond bounds the number of reports of all workers together, to bound the leader's own work.
	// The report interval therefore grows with the number of workers. Default 500.
	ReportsPerSecond int

	// IdleEvery is the report interval while there is no job. Default 1 s.
	IdleEvery time.Duration

	// SilentAfter is the time after a missed report at which a worker is removed, although its
	// process may be alive. SilentAfter must be longer than the pauses of a process on a busy
	// machine. Default 5 s.
	SilentAfter time.Duration

	// RecoveryTimeout is the longest time that a new leader waits for reports of the workers named
	// in the manifests. After this time the leader assigns the partitions that no worker has
	// reported. Default 1 s.
	RecoveryTimeout time.Duration

	// RecoveryGrace is the shortest time that a new leader waits, because there may be workers that
	// no manifest names yet. Default 50 ms.
	RecoveryGrace time.Duration

	// CheckpointEvery is the shortest time between two checkpoints of a job. Default 1 s.
	CheckpointEvery time.Duration

	// MeanTimeBetweenFailures is the average time until a worker's process dies, if it is not told
	// to stop. With a shorter time workers write large partials to storage more often. Default 6 h,
	// which is typical of spot machines.
	MeanTimeBetweenFailures time.Duration

	// StoreBytesPerSecond is how fast a worker writes to storage. The ledger compares the time for
	// writing a large partial with the work that would be lost without it. Default 50 MB/s.
	StoreBytesPerSecond int

	// RetryAfter is the backoff after the first failure of a partition. The backoff doubles
	// with each failure, up to RetryAtMost. Defaults 200 ms and 10 s.
	RetryAfter  time.Duration
	RetryAtMost time.Duration

	// MaxWorkers is the largest number of workers. Further workers are refused until others leave.
	// The limit bounds memory even if a client sends reports under many invented worker IDs.
	// Default 10,000.
	MaxWorkers int

	// MaxTreeNodes bounds the tree nodes that the ledger keeps for one job. A job that needs more
	// tree nodes fails, because the finished nodes would be too scattered to come from workers that
	// run spans. A tree node takes about 50 bytes. Default 4,000,000.
	MaxTreeNodes int

	// MaxFailing bounds the number of partitions of one job that have failed and are not finished. A job with
	// more failed partitions fails, because so many failures must have a common cause. The limit bounds memory.
	// If the job may skip more partitions than MaxFailing, the limit is the number of partitions that may be
	// skipped. Default 10,000.
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

// validate checks a Config after its defaults were set.
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
