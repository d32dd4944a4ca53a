package term

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config is the configuration of a [Term]. The zero value of a field means the field's default.
type Config struct {
	// Worker is the ID of the worker in the leader's process. Host and PID are only displayed.
	Worker string
	Host   string
	PID    int

	Store *store.Store
	// Storage is the identity of Store, which the leader adds to its messages. If Storage is empty,
	// the storage of workers is not checked.
	Storage string

	Jobs   []jobs.Job // definitions of the jobs that the leader can merge
	Logger *slog.Logger

	// Ledger is the configuration of the ledger. The term sets the fields Epoch, Self, Workers, Lost,
	// Storage and Build.
	Ledger ledger.Config

	// BeaconEvery is the interval between two beacons; the default is 1 s. A missed beacon does no
	// harm, because followers also ping the leader.
	BeaconEvery time.Duration

	// MaxActive is the number of active jobs of the same or a higher priority at which a further
	// job waits; the default is 64, and the maximum 1000. At most four times MaxActive jobs of all
	// priorities are active, and never more than 1000. MaxActive bounds the leader's memory and the
	// size of receipts.
	MaxActive int

	// MaxMerging is the largest number of concurrent calls of the jobs' Merge in the leader; the
	// default is 1. It bounds memory, and leaves processor time to the worker in the leader's
	// process.
	MaxMerging int

	// ExtendEvery is the interval at which the leader extends the submissions of active jobs, so
	// that they stay hidden in the queue; the default is 10 s. It must be well below the time for
	// which the queue hides a submission.
	ExtendEvery time.Duration

	// SearchEvery is the interval at which the leader searches for submitted jobs whose messages
	// the queue has lost; the default is 5 minutes. The messages are sent again after two searches.
	// SearchEvery must be well above the time for which the queue hides a submission.
	SearchEvery time.Duration

	// StopWithin is the longest time that a stopping leader waits for its last checkpoints and for
	// other draining workers; the default is 5 s.
	StopWithin time.Duration

	// Observe, if not nil, is called on the loop with each observation, for metrics; it must not
	// block.
	Observe func(Observation)

	// Journal, if not nil, gets the events of jobs. It must not block.
	Journal store.JournalWriter
}

// Validate returns the error that [New] would return for the configuration.
func (c Config) Validate() error { return c.withDefaults().validate() }

func (c Config) withDefaults() Config {
	c.BeaconEvery = cmp.Or(c.BeaconEvery, time.Second)
	c.MaxActive = cmp.Or(c.MaxActive, 64)
	c.MaxMerging = cmp.Or(c.MaxMerging, 1)
	c.ExtendEvery = cmp.Or(c.ExtendEvery, 10*time.Second)
	c.SearchEvery = cmp.Or(c.SearchEvery, 5*time.Minute)
	c.StopWithin = cmp.Or(c.StopWithin, 5*time.Second)
	if c.Observe == nil {
		c.Observe = func(Observation) {}
	}
	c.Journal = cmp.Or(c.Journal, store.JournalWriter(store.NoJournal{}))
	return c
}

func (c Config) validate() error {
	return cmp.Or(
		field.Check(wire.ValidWorker(c.Worker), "Worker", c.Worker, wire.WantWorker),
		field.Check(c.Store != nil, "Store", nil, "a store"),
		field.Check(c.Logger != nil, "Logger", nil, "a logger"),
		field.Check(c.BeaconEvery > 0, "BeaconEvery", c.BeaconEvery, "more than 0"),
		field.Check(c.MaxActive >= 1 && c.MaxActive <= 1000, "MaxActive", c.MaxActive, "1 to 1000"),
		field.Check(c.MaxMerging >= 1, "MaxMerging", c.MaxMerging, "at least 1"),
		field.Check(c.ExtendEvery > 0, "ExtendEvery", c.ExtendEvery, "more than 0"),
		field.Check(c.SearchEvery > 0, "SearchEvery", c.SearchEvery, "more than 0"),
		field.Check(c.StopWithin > 0, "StopWithin", c.StopWithin, "more than 0"),
	)
}
