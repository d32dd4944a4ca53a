package coordinator

import (
	"errors"
	"log/slog"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config is what a coordinator needs to know. [New] checks it.
type Config struct {
	// Worker is the ID of the worker in the same process; Host and PID describe the
	// process to people.
	Worker string
	Host   string
	PID    int

	Subjects wire.Subjects
	Conn     *nats.Conn
	Store    *store.Store
	Jobs     []jobs.Job // the definitions it can plan, merge and finish
	Logger   *slog.Logger

	// Ledger tunes dispatch; its Epoch and Self are filled in.
	Ledger ledger.Config

	// BeaconEvery is how often the leader says that it leads. Followers that miss a
	// beacon lose nothing, since they ping it as well. Default 1 s.
	BeaconEvery time.Duration

	// MaxActive is how many jobs are worked on at once; the others wait in the
	// queue. It bounds the leader's memory and the size of receipts. Default 64.
	MaxActive int

	// ExtendEvery is how often the submissions of active jobs are hidden anew. It
	// must be well below the time for which the queue hides them. Default 10 s.
	ExtendEvery time.Duration

	// StopWithin bounds the last checkpoints of a leader that was told to stop.
	// Default 5 s.
	StopWithin time.Duration

	// Observe is told what there is to measure of a term, on its loop: it must not
	// wait. Nil: nobody measures.
	Observe func(term.Observation)
}

// Term is one leadership, as the election grants it.
type Term struct {
	Epoch   uint64
	LeaseID string
	Cause   string        // why it began
	Crashed bool          // the leader before did not stop of its own accord
	Since   time.Time     // when the lease was acquired
	Detect  time.Duration // from the last sign of life of the leader before to the decision to replace it
	Elect   time.Duration // from that decision to the lease held

	Beat     func()             // called each turn of the loop: it has not stalled
	Stopping <-chan struct{}    // closed when the leader shall stop of its own accord
	Deposed  func(epoch uint64) // a higher epoch was seen
}

func (c Config) validate() error {
	if c.Subjects == (wire.Subjects{}) || c.Conn == nil {
		return errors.New("fields Subjects and Conn are both needed")
	}
	return c.reign().Validate()
}

// reign is the part of the configuration that does not concern NATS.
func (c Config) reign() term.Config {
	return term.Config{
		Worker: c.Worker, Host: c.Host, PID: c.PID, Store: c.Store, Jobs: c.Jobs, Logger: c.Logger, Ledger: c.Ledger,
		BeaconEvery: c.BeaconEvery, MaxActive: c.MaxActive, MaxMerging: runtime.GOMAXPROCS(0),
		ExtendEvery: c.ExtendEvery, StopWithin: c.StopWithin, Observe: c.Observe,
	}
}

// reign is the part of the term that does not concern the loop.
func (t Term) reign() term.Term {
	return term.Term{
		Epoch: t.Epoch, LeaseID: t.LeaseID, Cause: t.Cause, Crashed: t.Crashed,
		Since: t.Since, Detect: t.Detect, Elect: t.Elect, Deposed: t.Deposed,
	}
}
