package failover

import (
	"context"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// System is one of those compared.
type System struct {
	Name     string
	Versions func(context.Context, Place) (string, error)
	Settings string
	// Period is the time between two renewals: in which phase a kill comes is left to
	// chance.
	Period  time.Duration
	azurite bool // it needs Azurite
	start   func(context.Context, Place) (cluster, error)
}

// Place is where systems are run.
type Place struct {
	Dir     string // for data; exists
	Program string // path of the bellwether program
	// Azure is the connection string of a storage account, or of Azurite.
	Azure string
	Kills int // that there will be
}

// candidates is how many processes may lead.
const candidates = 3

// cluster is candidates that run, one of which leads.
type cluster interface {
	// kill kills the leader and says how long it took until the next one acted.
	kill(ctx context.Context) (time.Duration, error)
	// restore starts a candidate in place of the one killed and returns when all are
	// there.
	restore(ctx context.Context) error
	stop() error
}

// moduleVersions tells the versions of modules that this program was built with.
func moduleVersions(paths ...string) func(context.Context, Place) (string, error) {
	return func(context.Context, Place) (string, error) {
		var versions []string
		for _, p := range paths {
			versions = append(versions, report.ModuleVersion(p))
		}
		return strings.Join(versions, ", "), nil
	}
}
