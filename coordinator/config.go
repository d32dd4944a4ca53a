package coordinator

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config configures a coordinator: its terms, and its side of NATS.
type Config struct {
	// Config configures each term. In this package MaxMerging defaults to GOMAXPROCS.
	term.Config

	Subjects wire.Subjects
	Conn     *nats.Conn

	// OnTurn is called on each turn of the leading loop, for health checks; it must
	// not block. May be nil.
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
	switch {
	case c.Subjects == (wire.Subjects{}):
		return fmt.Errorf("%s empty: want the subjects of a cluster", "Subjects")
	case c.Conn == nil:
		return fmt.Errorf("%s nil: want a connection to NATS", "Conn")
	}
	return c.Config.Validate()
}
