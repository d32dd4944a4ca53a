package election

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config sets an election's times. Every field but ID may be left zero for its
// default; all workers of a cluster should have the same.
type Config struct {
	// ID is the worker's, see [wire.ValidWorker]. No two processes share one.
	ID string

	// Duration is how long the lease lasts without being renewed, and must be what
	// the lease's driver was given. It bounds how long nobody leads when all other
	// ways to notice a dead leader fail. Default 15 s, at least 100 ms.
	Duration time.Duration
	// Margin is how much earlier than storage a leader considers its lease expired:
	// the time for clocks that run at different speeds, and from asking whether one
	// leads to acting on it. Default 2/15 of Duration.
	Margin time.Duration
	// RenewEvery is the time from one renewal to the next. It leaves room for a
	// renewal that fails and one more: RenewEvery + 2 CallTimeout <= Duration -
	// Margin. Default 1/5 of Duration.
	RenewEvery time.Duration
	// CallTimeout bounds each call to the lease. Default 1/5 of Duration.
	CallTimeout time.Duration

	// PingRate is the pings per second that a leader gets from all followers
	// together, about, whatever their number. A dead process is noticed after
	// 1/PingRate seconds, about. Default 40, at most 1000.
	PingRate float64
	// PingTimeout is how long a ping may take. A ping under way when the leader's
	// process dies is not answered, so this is short; but a busy leader must be able
	// to answer within it. Default 400 ms.
	PingTimeout time.Duration
	// SilentAfter is how long pings must go without an answer before a leader whose
	// process lives counts as stalled or cut off: at least 2 PingTimeout, and less
	// than Duration. Default 2 s, or half of Duration if that is less.
	SilentAfter time.Duration
	// StableFor is how long after this process reconnected what it fails to hear
	// counts as evidence again: when a NATS server restarts, a leader's subscription
	// may be back later than a follower's. Longer than the reconnect wait of the
	// NATS clients. Default 2 s.
	StableFor time.Duration
	// Jitter is, per follower, the span from which the random moment is drawn that
	// a follower waits before it tries to take over. So the first of them tries after
	// about one Jitter, and few others before they hear of it. Long enough to acquire
	// a lease and send a beacon. Default 10 ms, at most 1 s.
	Jitter time.Duration
	// Cooldown is how long a process that has led leaves leading to others, unless
	// one of them asks it to; it doubles with each leading function that fails.
	// Default 2 s.
	Cooldown time.Duration

	// Rand is where chance comes from, lease IDs too; used from one goroutine. No two
	// processes have the same seed. Nil: Run seeds one at random. A Machine needs one.
	Rand *rand.Rand
	// Logger gets what happens, once per change. It should name the process, which
	// the lines do not. Nil: nothing is logged.
	Logger *slog.Logger
}

// What nobody needs to configure.
const (
	// listen is how long one that knows no leader waits for a beacon before it
	// reads the record; up to twice that, by chance, so that not all read at once.
	listen = 50 * time.Millisecond
	// settle is how long a new leader has to begin answering pings.
	settle = 300 * time.Millisecond
	// pingGap is the least time between two pings of one follower.
	pingGap = 20 * time.Millisecond
	// maxFollowers bounds what is believed of their number.
	maxFollowers = 1_000_000
	// maxMoment bounds the random moment in large clusters.
	maxMoment = 2 * time.Second
	// maxBackoff bounds the time between tries that fail.
	maxBackoff = 2 * time.Second
	// maxCooldown bounds the doubling of Cooldown.
	maxCooldown = 30 * time.Second
)

func (c Config) withDefaults() Config {
	or := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	or(&c.Duration, 15*time.Second)
	or(&c.Margin, c.Duration*2/15)
	or(&c.RenewEvery, c.Duration/5)
	or(&c.CallTimeout, c.Duration/5)
	or(&c.SilentAfter, min(2*time.Second, c.Duration/2))
	or(&c.PingTimeout, min(400*time.Millisecond, c.SilentAfter/4))
	or(&c.StableFor, 2*time.Second)
	or(&c.Jitter, 10*time.Millisecond)
	or(&c.Cooldown, 2*time.Second)
	if c.PingRate == 0 {
		c.PingRate = 40
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate checks a config that has its defaults, and names all that is wrong.
func (c Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(wire.ValidWorker(c.ID), "ID %q: want lower-case letters, digits and dashes", c.ID)
	check(c.Duration >= 100*time.Millisecond, "Duration %v: want at least 100ms", c.Duration)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"Margin", c.Margin},
		{"RenewEvery", c.RenewEvery},
		{"CallTimeout", c.CallTimeout},
		{"PingTimeout", c.PingTimeout},
		{"SilentAfter", c.SilentAfter},
		{"StableFor", c.StableFor},
		{"Jitter", c.Jitter},
		{"Cooldown", c.Cooldown},
	} {
		check(d.value > 0, "%s %v: want more than 0", d.name, d.value)
	}
	check(c.RenewEvery+2*c.CallTimeout <= c.window(),
		"RenewEvery %v + 2 CallTimeout %v: want at most Duration - Margin, %v", c.RenewEvery, c.CallTimeout, c.window())
	check(2*c.PingTimeout <= c.SilentAfter, "PingTimeout %v: want at most half of SilentAfter, %v", c.PingTimeout, c.SilentAfter)
	check(c.SilentAfter < c.Duration, "SilentAfter %v: want less than Duration, %v", c.SilentAfter, c.Duration)
	check(c.PingRate > 0 && c.PingRate <= 1000, "PingRate %v: want more than 0 and at most 1000 per second", c.PingRate)
	check(c.Jitter <= time.Second, "Jitter %v: want at most 1s", c.Jitter)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("configure election: %w", err)
	}
	return nil
}

// window is how long a leader trusts a renewal, from when it was sent.
func (c Config) window() time.Duration { return c.Duration - c.Margin }
