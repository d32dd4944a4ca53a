package ledger

import (
	"cmp"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config is the configuration of a [Ledger]. A zero field means that the field's default is used.
type Config struct {
	// Epoch is the epoch of the leader, at least 1, and is part of every span ID.
	Epoch uint64

	// Self is the ID of the worker in the leader's process. Crash suspects are assigned to other
	// workers, because a crash suspect might kill the leader.
	Self string

	// Workers is the number of workers that the previous leader had, or 0 if it is unknown. As soon as so
	// many workers have reported, recovery may end before RecoveryGrace.
	Workers int

	// Lost is the ID of the worker in the previous leader's process, if that leader has died or become
	// silent, and otherwise empty. Lost is not one of Workers if it does not report.
	Lost string

	// Storage is the identity of the leader's storage; the ledger refuses workers with another
	// storage unless Storage is empty.
	Storage string

	// Build is the build of the leader's program, which merges partials; the default is
	// [wire.UnknownBuild].
	Build string

	// Horizon is the amount of work, in time, that each slot is assigned in advance; the default is
	// 4 s. It must exceed the time from a leader's death to the next leader's first assignment, so
	// that no slot is idle during a failover.
	Horizon time.Duration

	// ReportEvery is the shortest interval between two reports of a worker; the default is 100 ms.
	// A shorter report interval loses less work when a worker dies, but wakes up the workers more
	// often.
	ReportEvery time.Duration

	// ReportsPerSecond limits the reports of all workers together, which limits the leader's own
	// work; the default is 500 reports per second. The report interval grows with the number of
	// workers because of ReportsPerSecond.
	ReportsPerSecond int

	// IdleEvery is the shortest interval between two reports of a worker while there is no job; the
	// default is 1 s. ReportsPerSecond applies too. Idle workers are nudged when work is queued, so
	// a long interval delays the beginning of a job only if a nudge is lost.
	IdleEvery time.Duration

	// SilentAfter is the time after a missed report at which the ledger removes a worker, even if
	// the worker's process may be alive; the default is 5 s. It must be longer than the pauses of a
	// process on a busy machine.
	SilentAfter time.Duration

	// RecoveryTimeout is the longest time that a new leader waits for the reports of the workers in
	// the manifests; the default is 1 s. After RecoveryTimeout the leader assigns all partitions
	// that no worker has reported.
	RecoveryTimeout time.Duration

	// RecoveryGrace is the shortest time that a new leader waits for reports unless all Workers have
	// reported, because a manifest may not name all workers; the default is 50 ms.
	RecoveryGrace time.Duration

	// CheckpointEvery is the shortest time between two checkpoints of a job; the default is 1 s.
	CheckpointEvery time.Duration

	// MeanTimeBetweenFailures is the average time until a worker's process dies unexpectedly; the
	// default is 6 h, which is typical of spot machines. A shorter MeanTimeBetweenFailures makes
	// workers write large partials to storage more often.
	MeanTimeBetweenFailures time.Duration

	// StoreBytesPerSecond is the speed at which a worker writes to storage; the default is 50 MB/s.
	// The ledger compares the time for writing a large partial with the work that would be lost
	// with the partial.
	StoreBytesPerSecond int

	// PartialBytes is the number of bytes that the partials in reports may take in the leader if each slot
	// reports one; the default is 64 MiB. With more than 256 slots, the largest partial in a report is therefore
	// smaller than [wire.MaxInline], but at least 4 KiB. Workers hold larger partials, and merge them among themselves.
	PartialBytes int

	// RetryAfter is the backoff after the first failure of a partition; the default is 200 ms. The
	// backoff doubles with each failure, up to RetryAtMost; the default is 10 s.
	RetryAfter  time.Duration
	RetryAtMost time.Duration

	// MaxWorkers is the largest number of workers; the default is 10,000. Further workers are
	// refused until other workers leave. MaxWorkers bounds the ledger's memory even if a client
	// sends reports under many invented worker IDs.
	MaxWorkers int

	// MaxTreeNodes is the largest number of tree nodes that the ledger keeps for one job; the
	// default is 4,000,000. A job that exceeds MaxTreeNodes fails, because workers that run spans
	// never produce such scattered finished nodes. A tree node takes about 50 bytes.
	MaxTreeNodes int

	// MaxFailing is the largest number of partitions of one job that have failed and are not
	// finished; the default is 10,000. A job with more failed partitions than MaxFailing fails,
	// because so many failures must have a common cause. If a job may skip more partitions than
	// MaxFailing, its limit of failed partitions is the number of partitions that may be skipped.
	MaxFailing int

	// MaxSkipped is the largest number of skipped partitions of one job, even if its submitter
	// allows more; the default is [store.MaxSkipped]. It bounds the ledger's memory and the size of
	// checkpoints.
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
	c.PartialBytes = cmp.Or(c.PartialBytes, 64<<20)
	c.RetryAfter = cmp.Or(c.RetryAfter, 200*time.Millisecond)
	c.RetryAtMost = cmp.Or(c.RetryAtMost, 10*time.Second)
	c.MaxWorkers = cmp.Or(c.MaxWorkers, 10_000)
	c.MaxTreeNodes = cmp.Or(c.MaxTreeNodes, 4_000_000)
	c.MaxFailing = cmp.Or(c.MaxFailing, 10_000)
	c.MaxSkipped = cmp.Or(c.MaxSkipped, store.MaxSkipped)
	return c
}

// validate checks a Config whose defaults are set.
func (c Config) validate() error {
	const duration, number = "a positive duration, or 0 for the default", "at least 1, or 0 for the default"
	return cmp.Or(
		field.Check(c.Horizon >= 0, "Horizon", c.Horizon, duration),
		field.Check(c.ReportEvery >= 0, "ReportEvery", c.ReportEvery, duration),
		field.Check(c.IdleEvery >= 0, "IdleEvery", c.IdleEvery, duration),
		field.Check(c.SilentAfter >= 0, "SilentAfter", c.SilentAfter, duration),
		field.Check(c.RecoveryTimeout >= 0, "RecoveryTimeout", c.RecoveryTimeout, duration),
		field.Check(c.RecoveryGrace >= 0, "RecoveryGrace", c.RecoveryGrace, duration),
		field.Check(c.CheckpointEvery >= 0, "CheckpointEvery", c.CheckpointEvery, duration),
		field.Check(c.MeanTimeBetweenFailures >= 0, "MeanTimeBetweenFailures", c.MeanTimeBetweenFailures, duration),
		field.Check(c.RetryAfter >= 0, "RetryAfter", c.RetryAfter, duration),
		field.Check(c.RetryAtMost >= 0, "RetryAtMost", c.RetryAtMost, duration),
		field.Check(c.ReportsPerSecond >= 0, "ReportsPerSecond", c.ReportsPerSecond, number),
		field.Check(c.StoreBytesPerSecond >= 0, "StoreBytesPerSecond", c.StoreBytesPerSecond, number),
		field.Check(c.PartialBytes >= 0, "PartialBytes", c.PartialBytes, number),
		field.Check(c.MaxWorkers >= 0, "MaxWorkers", c.MaxWorkers, number),
		field.Check(c.MaxTreeNodes >= 0, "MaxTreeNodes", c.MaxTreeNodes, number),
		field.Check(c.MaxFailing >= 0, "MaxFailing", c.MaxFailing, number),
		field.Check(c.MaxSkipped >= 0, "MaxSkipped", c.MaxSkipped, number),
		field.Check(c.Epoch >= 1, "Epoch", c.Epoch, "at least 1"),
		field.Check(c.Horizon >= 4*c.ReportEvery, "Horizon", c.Horizon, "at least four times ReportEvery %v, or slots run dry between reports", c.ReportEvery),
		field.Check(c.SilentAfter >= 4*c.ReportEvery, "SilentAfter", c.SilentAfter, "at least four times ReportEvery %v, or one lost report looks like a death", c.ReportEvery),
		field.Check(c.RecoveryGrace <= c.RecoveryTimeout, "RecoveryGrace", c.RecoveryGrace, "at most RecoveryTimeout %v", c.RecoveryTimeout),
		field.Check(c.RetryAfter <= c.RetryAtMost, "RetryAfter", c.RetryAfter, "at most RetryAtMost %v", c.RetryAtMost),
	)
}
