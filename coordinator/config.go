package coordinator

import (
	"cmp"
	"runtime"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config is the configuration of a [Coordinator].
type Config struct {
	// The default of Config.MaxMerging in this package is GOMAXPROCS.
	term.Config

	Subjects wire.Subjects
	Conn     *nats.Conn

	// OnTurn, if not nil, is called at each iteration of the leading loop, for health checks.
	// OnTurn must not block.
	OnTurn func()
}

func (c Config) withDefaults() Config {
	c.MaxMerging = cmp.Or(c.MaxMerging, runtime.GOMAXPROCS(0))
	if c.OnTurn == nil {
		c.OnTurn = func() {}
	}
	return c
}

func (c Config) validate() error {
	return cmp.Or(
		field.Check(c.Subjects != wire.Subjects{}, "Subjects", nil, "the subjects of a cluster"),
		field.Check(c.Conn != nil, "Conn", nil, "a connection to NATS"),
		c.Config.Validate(),
	)
}
