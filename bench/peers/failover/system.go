package failover

import (
	"context"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// System is one of the compared systems.
type System struct {
	Name     string
	Versions func(context.Context, Place) (string, error)
	Settings string
	// Period is the time between two renewals. Leaders are killed at a random moment between two
	// renewals.
	Period  time.Duration
	azurite bool // true if the system needs Azurite
	start   func(context.Context, Place) (cluster, error)
}

// Place contains the resources for a system.
type Place struct {
	Dir     string // folder for data, which must exist
	Program string // path of the bellwether program
	// Azure is the connection string of a storage account, or of Azurite.
	Azure string
	Kills int // number of times that the leader is killed
}

// candidates is the number of candidates of each system.
const candidates = 3

type cluster interface {
	// kill kills the leader and returns the time until the next leader acts.
	kill(ctx context.Context) (time.Duration, error)
	// restore replaces the killed candidate and waits until all candidates are ready.
	restore(ctx context.Context) error
	stop() error
}

func moduleVersions(paths ...string) func(context.Context, Place) (string, error) {
	return func(context.Context, Place) (string, error) {
		var versions []string
		for _, p := range paths {
			versions = append(versions, report.ModuleVersion(p))
		}
		return strings.Join(versions, ", "), nil
	}
}
