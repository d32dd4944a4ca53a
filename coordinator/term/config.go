package term

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config is what a term needs to know of its process. The zero value of a field
// means its default, where it has one.
type Config struct {
	// Worker is the ID of the worker in the same process; Host and PID describe the
	// process to people.
	Worker string
	Host   string
	PID    int

	Store  *store.Store
	Jobs   []jobs.Job // the definitions it can plan, merge and finish
	Logger *slog.Logger

	// Ledger tunes dispatch; its Epoch and Self are filled in.
	Ledger ledger.Config

	// BeaconEvery is how often the leader says that it leads. Followers that miss a
	// beacon lose nothing, since they ping it as well. Default 1 s.
	BeaconEvery time.Duration

	// MaxActive is how many jobs are worked on at once; the others wait in the
	// queue. It bounds the leader's memory and the size of receipts. Default 64.
	MaxActive int

	// MaxMerging is how many merges and finishes of the jobs' own code run at once.
	// It bounds memory, and leaves the process's worker its processors. Default 1.
	MaxMerging int

	// ExtendEvery is how often the submissions of active jobs are hidden anew. It
	// must be well below the time for which the queue hides them. Default 10 s.
	ExtendEvery time.Duration

	// StopWithin bounds the last checkpoints of a leader that was told to stop.
	// Default 5 s.
	StopWithin time.Duration

	// Observe is told what there is to measure, on the loop: it must not wait. Nil:
	// nobody measures.
	Observe func(Observation)
}

// Validate checks what [New] would take.
func (c Config) Validate() error {
	_, err := c.withDefaults()
	return err
}

func (c Config) withDefaults() (Config, error) {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&c.BeaconEvery, time.Second}, {&c.ExtendEvery, 10 * time.Second}, {&c.StopWithin, 5 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.MaxActive == 0 {
		c.MaxActive = 64
	}
	if c.MaxMerging == 0 {
		c.MaxMerging = 1
	}
	if c.Observe == nil {
		c.Observe = func(Observation) {}
	}
	switch {
	case !wire.ValidWorker(c.Worker):
		return c, fmt.Errorf("field Worker is %q, want 1 to 80 lower-case letters, digits and dashes", c.Worker)
	case c.Store == nil || c.Logger == nil:
		return c, errors.New("fields Store and Logger are both needed")
	case c.BeaconEvery < 0 || c.ExtendEvery < 0 || c.StopWithin < 0:
		return c, errors.New("fields BeaconEvery, ExtendEvery and StopWithin must be above 0")
	case c.MaxActive < 1 || c.MaxActive > 1000:
		return c, fmt.Errorf("field MaxActive is %d, want 1 to 1000", c.MaxActive)
	case c.MaxMerging < 1:
		return c, fmt.Errorf("field MaxMerging is %d, want at least 1", c.MaxMerging)
	}
	return c, nil
}
