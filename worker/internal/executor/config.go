package executor

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config configures a [Worker].
type Config struct {
	// Subjects are the subjects of the cluster that the worker joins.
	Subjects wire.Subjects

	// ID is the worker's ID: 1 to 80 lower-case letters, digits and dashes. Each process must have
	// a different ID, because leaders distinguish workers by their IDs.
	ID string

	// Slots is how many spans run at the same time, at least 1. The default 0 means GOMAXPROCS,
	// because a partition is expected to keep one core busy.
	Slots int

	// Host, PID and Since describe the process for display: the host's name, the process ID and the
	// start time.
	Host  string
	PID   int
	Since time.Time

	// Version is the version of the program, which is only displayed.
	Version string

	// Storage is the identity of the cluster's storage. The worker ignores leaders on another
	// storage. If Storage is empty, leaders are not checked.
	Storage string

	// Jobs are the definitions that the worker can run, at least one. Each definition must have a
	// different name or version. Leaders assign only the jobs in Jobs to the worker.
	Jobs []jobs.Job

	// DrainTimeout is how long a worker that is told to stop waits for its running partitions to
	// end and for its items to become durable. It is at least 1 s, which is long enough for a
	// checkpoint. The default 0 means 20 s, because Kubernetes by default allows 30 s for stopping.
	DrainTimeout time.Duration

	// Bulk is a connection for the bytes of large partials, so that control messages never wait
	// behind these bytes. The caller closes Bulk after Run has returned. If Bulk is nil, the worker
	// writes each large partial to storage instead of holding it.
	Bulk *nats.Conn

	// Memory is how many bytes of large partials, and of operands and results of merges, the worker
	// keeps in memory. Partials above the limit are moved to the folder SpillDir; if that is not
	// enough, slots wait. Memory is required if Bulk is set. If SpillDir is empty, no partials are
	// moved to files.
	Memory   int64
	SpillDir string

	// ReadEpoch returns the epoch in the lease's record in storage. The worker calls ReadEpoch if a
	// leader has not answered for some seconds, because the leader's epoch may be forged. If
	// ReadEpoch is nil, the worker follows the highest epoch in any message. ReadEpoch must return
	// soon after its context is done.
	ReadEpoch func(ctx context.Context) (uint64, error)

	// Leads reports whether this process is the leader; it must not block. The worker of the leader's
	// process closes an ended job a second later than the other workers, so that a Close that ends
	// its process does not end the leader and its followers at the same time. Leads may be nil.
	Leads func() bool

	// ReportDone, if not nil, is called after each report with the time between the first sending
	// of the report and its receipt; it must not block.
	ReportDone func(took time.Duration)

	// MergeDone, if not nil, is called after each successful merge that a leader assigned, with the
	// duration of the merge, including the wait for memory and for the operands. It must not block.
	MergeDone func(took time.Duration)

	// Journal, if not nil, gets what the code of jobs logs.
	Journal store.JournalWriter

	// Logger is required and receives log lines for operators.
	Logger *slog.Logger
}

const minDrainTimeout = time.Second

// withDefaults returns c with defaults in the zero fields.
func (c Config) withDefaults() Config {
	c.Slots = cmp.Or(c.Slots, runtime.GOMAXPROCS(0))
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 20*time.Second)
	if c.Leads == nil {
		c.Leads = func() bool { return false }
	}
	c.Journal = cmp.Or(c.Journal, store.JournalWriter(store.NoJournal{}))
	if c.ReportDone == nil {
		c.ReportDone = func(time.Duration) {}
	}
	if c.MergeDone == nil {
		c.MergeDone = func(time.Duration) {}
	}
	return c
}

// validate checks a Config that withDefaults returned, and returns all errors joined.
func (c Config) validate() error {
	errs := []error{
		field.Check(c.Subjects != wire.Subjects{}, "Subjects", nil, "those of a cluster"),
		field.Check(wire.ValidWorker(c.ID), "ID", c.ID, wire.WantWorker),
		field.Check(c.Slots >= 1 && c.Slots <= wire.MaxSlots, "Slots", c.Slots, "1 to %d", wire.MaxSlots),
		field.Check(c.DrainTimeout >= minDrainTimeout, "DrainTimeout", c.DrainTimeout, "at least %v", minDrainTimeout),
		field.Check(c.Bulk == nil || c.Memory > 0, "Memory", c.Memory, "more than 0 bytes"),
		field.Check(c.Logger != nil, "Logger", nil, "a logger"),
		field.Check(len(c.Jobs) >= 1 && len(c.Jobs) <= wire.MaxKinds, "Jobs", nil, "1 to %d, got %d", wire.MaxKinds, len(c.Jobs)),
	}
	known := make(map[wire.JobKind]bool)
	for _, job := range c.Jobs {
		kind := wire.JobKind{Name: job.Name(), Version: job.Version()}
		errs = append(errs, field.Check(kind.Name != "", "Jobs", nil, "definitions made by jobs.New, got a zero one"),
			field.Check(kind.Name == "" || !known[kind], "Jobs", nil, "%s version %s once, got it twice", kind.Name, kind.Version))
		known[kind] = true
	}
	return errors.Join(errs...)
}
