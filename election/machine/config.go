package machine

import (
	"cmp"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config contains an election's settings. ID is required; every other field has a default, which is
// used if the field is zero. All workers of a cluster should use the same settings.
type Config struct {
	// ID is the worker's ID (see [wire.ValidWorker]). Each process must have a different ID.
	ID string

	// Storage is the identity of the storage that contains the lease. Beacons of a leader on
	// another storage are ignored, because that leader holds another lease. If Storage is empty,
	// the storage of leaders is not checked.
	Storage string

	// Duration is how long the lease lasts without a renewal, at least 100 ms; the default is 15 s.
	// It must equal the duration in the configuration of the lease's driver. If a dead leader is
	// not noticed in a faster way, it is replaced when its lease expires after Duration.
	Duration time.Duration
	// Margin is how much earlier than storage a leader considers its lease expired; the default is
	// 2/15 of Duration. It allows for clocks with different speeds, and for the time between
	// checking the leadership and acting on it.
	Margin time.Duration
	// RenewEvery is the time from one renewal to the next; the default is 1/5 of Duration. It must
	// leave time for a failed renewal and a retry before the deadline: RenewEvery + 2 CallTimeout
	// <= Duration - Margin.
	RenewEvery time.Duration
	// CallTimeout bounds each call to the lease; the default is 1/5 of Duration.
	CallTimeout time.Duration

	// PingRate is the approximate number of pings per second that a leader gets from all followers
	// together; the default is 100, and the maximum 1000. A dead leader is noticed after about
	// 1/PingRate seconds.
	PingRate float64
	// PingTimeout bounds each ping; the default is 400 ms. A short PingTimeout is better, because a
	// ping that is in flight when the leader's process dies gets no answer. PingTimeout must be
	// long enough for a busy leader to answer.
	PingTimeout time.Duration
	// SilentAfter is the time without an answer to pings after which a leader with a live process
	// counts as stalled or cut off: at least 2 PingTimeout, and less than Duration. It defaults to
	// 2 s, or to half of Duration if that is less. Three fifths of SilentAfter, but at least 1.2 s, are enough
	// for a leader that has answered a ping before, unless this process itself was delayed during the pings.
	SilentAfter time.Duration
	// StableFor is the time after a reconnect of this process during which a missing message does
	// not count as evidence that its sender is dead; the default is 2 s. After a restart of a NATS
	// server, the leader may reconnect later than a follower. StableFor must therefore be longer
	// than the time that NATS clients wait before they reconnect.
	StableFor time.Duration
	// Jitter scales the random delay of a follower before a takeover, unless it is the first to suspect
	// the leader: the delay is drawn from [0, Jitter times the number of followers). If the first fails,
	// one of the others therefore tries after about the time Jitter, and few try before they hear of the
	// new leader. Jitter should be long
	// enough to acquire a lease and send a beacon; the default is 10 ms, and the maximum 1 s.
	Jitter time.Duration
	// Cooldown is how long a process does not claim the lease after it has led, unless it is
	// offered the lease; the default is 2 s. It doubles with each consecutive term that fails, up
	// to 30 s. A process whose own term has failed declines offers during its cooldown. If two or
	// more terms of the cluster fail in a row, all processes wait.
	Cooldown time.Duration

	// Exclusive makes the lease a mutex. With Exclusive, a follower never replaces a holder that
	// seems dead before the lease has expired, so a holder that is only cut off or suspended keeps
	// the lease until then. A follower polls the record in storage if the holder seems dead or the
	// follower is disconnected from its peers, and claims the lease when it is free. Exclusive is
	// always set if there are no peers.
	Exclusive bool
	// WatchEvery is the mean interval at which a follower polls the record; the default is 1/10 of
	// Duration. Each interval between two polls is random, 0.5 to 1.5 times WatchEvery.
	WatchEvery time.Duration

	// Rand is the source of all random decisions and of lease IDs. It is used from only one
	// goroutine. Each process must use a different seed for Rand. If Rand is nil, election.Run and
	// election.Hold create a source with a random seed. [New] requires Rand.
	Rand *rand.Rand
	// Logger logs one line per change of state; nothing is logged if Logger is nil. It should have
	// attributes that identify the process, because the election does not add the worker's ID to
	// log lines.
	Logger *slog.Logger
}

const (
	// listenFor is the shortest time for which a process without a known leader waits for a beacon
	// before it reads the record. The wait for a beacon is random, one to two times listenFor, so
	// that not all processes read the record at once.
	listenFor = 50 * time.Millisecond
	// startGrace is the time within which a new leader starts to answer pings.
	startGrace = 300 * time.Millisecond
	// pingGap is the shortest time between two pings of one follower.
	pingGap = 20 * time.Millisecond
	// maxFollowers bounds the number of followers in a beacon.
	maxFollowers = 1_000_000
	// maxMoment bounds the random wait before a campaign in large clusters.
	maxMoment = 2 * time.Second
	// maxBackoff is the longest pause before a retry.
	maxBackoff = 2 * time.Second
	// maxCooldown is the longest cooldown after repeated failures.
	maxCooldown = 30 * time.Second
)

func (c Config) withDefaults() Config {
	c.Duration = cmp.Or(c.Duration, 15*time.Second)
	c.Margin = cmp.Or(c.Margin, c.Duration*2/15)
	c.RenewEvery = cmp.Or(c.RenewEvery, c.Duration/5)
	c.CallTimeout = cmp.Or(c.CallTimeout, c.Duration/5)
	c.PingRate = cmp.Or(c.PingRate, 100)
	c.SilentAfter = cmp.Or(c.SilentAfter, min(2*time.Second, c.Duration/2))
	c.PingTimeout = cmp.Or(c.PingTimeout, min(400*time.Millisecond, c.SilentAfter/4))
	c.StableFor = cmp.Or(c.StableFor, 2*time.Second)
	c.Jitter = cmp.Or(c.Jitter, 10*time.Millisecond)
	c.Cooldown = cmp.Or(c.Cooldown, 2*time.Second)
	c.WatchEvery = cmp.Or(c.WatchEvery, c.Duration/10)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate checks a Config whose defaults are set, and returns all errors joined.
func (c Config) validate() error {
	return errors.Join(
		field.Check(wire.ValidWorker(c.ID), "ID", c.ID, wire.WantWorker),
		field.Check(c.Duration >= 100*time.Millisecond, "Duration", c.Duration, "at least 100ms"),
		field.Check(c.Margin > 0, "Margin", c.Margin, "more than 0"),
		field.Check(c.RenewEvery > 0, "RenewEvery", c.RenewEvery, "more than 0"),
		field.Check(c.CallTimeout > 0, "CallTimeout", c.CallTimeout, "more than 0"),
		field.Check(c.PingTimeout > 0, "PingTimeout", c.PingTimeout, "more than 0"),
		field.Check(c.SilentAfter > 0, "SilentAfter", c.SilentAfter, "more than 0"),
		field.Check(c.StableFor > 0, "StableFor", c.StableFor, "more than 0"),
		field.Check(c.Jitter > 0, "Jitter", c.Jitter, "more than 0"),
		field.Check(c.Cooldown > 0, "Cooldown", c.Cooldown, "more than 0"),
		field.Check(c.WatchEvery > 0, "WatchEvery", c.WatchEvery, "more than 0"),
		field.Check(c.RenewEvery+2*c.CallTimeout <= c.trustWindow(), "RenewEvery", c.RenewEvery,
			"at most Duration - Margin - 2 CallTimeout, %v", c.trustWindow()-2*c.CallTimeout),
		field.Check(2*c.PingTimeout <= c.SilentAfter, "PingTimeout", c.PingTimeout, "at most half of SilentAfter, %v", c.SilentAfter),
		field.Check(c.SilentAfter < c.Duration, "SilentAfter", c.SilentAfter, "less than Duration, %v", c.Duration),
		field.Check(c.PingRate > 0 && c.PingRate <= 1000, "PingRate", c.PingRate, "more than 0 and at most 1000 per second"),
		field.Check(c.Jitter <= time.Second, "Jitter", c.Jitter, "at most 1s"),
		field.Check(c.Rand != nil, "Rand", nil, "a source of randomness"),
	)
}

// trustWindow returns how long a leader may trust its lease after it sent a successful renewal.
func (c Config) trustWindow() time.Duration { return c.Duration - c.Margin }
