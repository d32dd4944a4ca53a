package executor

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config is what a worker needs to know. [New] checks it.
type Config struct {
	// Subjects are those of the cluster to work for.
	Subjects wire.Subjects

	// ID names the worker: 1 to 80 lower-case letters, digits and dashes. Each
	// process needs one of its own, since a leader numbers reports by it.
	ID string

	// Slots is how many spans run at once, at least 1. 0 means GOMAXPROCS: a
	// partition is expected to keep one core busy.
	Slots int

	// Host, PID and Since describe the process to people: its host's name, its
	// process ID and when it started.
	Host  string
	PID   int
	Since time.Time

	// Jobs are the definitions the worker knows, at least one; no two of the same
	// name and version. It is given no other jobs.
	Jobs []jobs.Job

	// DrainTimeout bounds how long a worker that is told to stop waits for its
	// running partitions to end and for what it has computed to be durable. It
	// must leave room for a checkpoint, so at least 1 s. 0 means 20 s, which fits
	// into the 30 s that Kubernetes gives by default.
	DrainTimeout time.Duration

	// ReportDone is told how long a report took, from when it was first sent until
	// its receipt was there. It must not wait. Nil: nobody measures.
	ReportDone func(took time.Duration)

	// Logger gets what is worth a person's attention. It is needed.
	Logger *slog.Logger
}

// Bounds of Config.
const (
	minDrainTimeout     = time.Second
	defaultDrainTimeout = 20 * time.Second
)

// withDefaults replaces zero values that have a default, and checks the rest.
func (c Config) withDefaults() (Config, error) {
	if c.Slots == 0 {
		c.Slots = runtime.GOMAXPROCS(0)
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = defaultDrainTimeout
	}
	if c.ReportDone == nil {
		c.ReportDone = func(time.Duration) {}
	}
	switch {
	case c.Subjects == wire.Subjects{}:
		return c, errors.New("no Subjects")
	case !wire.ValidWorker(c.ID):
		return c, fmt.Errorf("worker ID %q: want 1 to 80 lower-case letters, digits and dashes", c.ID)
	case c.Slots < 1 || c.Slots > wire.MaxSlots:
		return c, fmt.Errorf("want 1 to %d Slots, got %d", wire.MaxSlots, c.Slots)
	case c.DrainTimeout < minDrainTimeout:
		return c, fmt.Errorf("want a DrainTimeout of at least %v, got %v", minDrainTimeout, c.DrainTimeout)
	case c.Logger == nil:
		return c, errors.New("no Logger")
	case len(c.Jobs) == 0:
		return c, errors.New("no Jobs")
	case len(c.Jobs) > wire.MaxKinds:
		return c, fmt.Errorf("%d Jobs, a worker can tell of at most %d", len(c.Jobs), wire.MaxKinds)
	}
	known := make(map[wire.JobKind]bool)
	for _, job := range c.Jobs {
		kind := wire.JobKind{Name: job.Name(), Version: job.Version()}
		if kind.Name == "" {
			return c, errors.New("one of the Jobs was not made by jobs.New")
		}
		if known[kind] {
			return c, fmt.Errorf("job %s version %s is there twice", kind.Name, kind.Version)
		}
		known[kind] = true
	}
	return c, nil
}
