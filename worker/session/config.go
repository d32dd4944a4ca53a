package session

import (
	"cmp"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config is the configuration of a [Session].
type Config struct {
	// Worker is the worker's ID.
	Worker string

	// Hello describes this process to leaders. Hello.Slots and Hello.Since are required: Slots is
	// the number of spans that run at the same time, and Since distinguishes the process from
	// earlier processes with the same ID.
	Hello wire.Hello

	// Memory, if not nil, returns how many bytes of memory the process uses, for reports. It must not
	// block.
	Memory func() uint64

	// Cores, if not nil, returns how many cores the process keeps busy, for reports. It must not block.
	Cores func() float64

	// MaxKept is the approximate number of bytes of kept items above which the worker begins no
	// further partition. It is reached only if nothing becomes durable for a long time. The default
	// 0 means 256 MiB.
	MaxKept int

	Timing Timing
}

// Timing contains the intervals and timeouts of a session. A zero field of Timing means the field's
// default.
type Timing struct {
	// Spacing is the shortest time between two reports of a worker that holds spans or calls, so
	// that a worker with many short spans does not report after each span. It defaults to 5 ms.
	Spacing time.Duration

	// Interval is the time between two reports if nothing is urgent. It applies until the leader,
	// which knows how many workers report, sets another interval. It defaults to 200 ms.
	Interval time.Duration

	// MaxInterval bounds the interval that a leader may set. It defaults to 1 min.
	MaxInterval time.Duration

	// DrainInterval is the maximum report interval while the worker drains, so that the worker can
	// leave soon. It defaults to 100 ms.
	DrainInterval time.Duration

	// HandOver is how long a report waits for the results of slots. Slots with short partitions
	// deliver results within about a millisecond. The default of HandOver is 5 ms.
	HandOver time.Duration

	// AnswerTimeout is how long to wait for a receipt before the report is resent. It defaults to 1
	// s.
	AnswerTimeout time.Duration

	// MinBackoff and MaxBackoff bound the wait after a report that was refused or had no
	// responders. The wait doubles after each consecutive failure. MaxBackoff is also the time
	// between two requests for the leader. MinBackoff and MaxBackoff default to 10 ms and 1 s.
	MinBackoff, MaxBackoff time.Duration

	// RecordAfter is how long a report stays unanswered before the session asks for the lease's
	// record. It is longer than most elections, so elections usually cause no reads of the record.
	// The time until the next read of the record doubles after each read, up to MaxRecordPause.
	// RecordAfter and MaxRecordPause default to 5 s and 1 min.
	RecordAfter, MaxRecordPause time.Duration

	// DrainTimeout is how long a draining worker waits for running partitions to end and for items
	// to become durable. After DrainTimeout, running spans are cancelled. DrainTimeout defaults to
	// 20 s, because Kubernetes by default allows 30 s for stopping.
	DrainTimeout time.Duration

	// LeaveTimeout is how long after DrainTimeout the worker still tries to report the results of
	// the cancelled spans. It defaults to 1 s.
	LeaveTimeout time.Duration
}

// withDefaults returns c with defaults in the zero fields.
func (c Config) withDefaults() Config {
	c.MaxKept = cmp.Or(c.MaxKept, 256<<20)
	if c.Cores == nil {
		c.Cores = func() float64 { return 0 }
	}
	if c.Memory == nil {
		c.Memory = func() uint64 { return 0 }
	}
	c.Timing = c.Timing.withDefaults()
	return c
}

func (t Timing) withDefaults() Timing {
	t.Spacing = cmp.Or(t.Spacing, 5*time.Millisecond)
	t.Interval = cmp.Or(t.Interval, 200*time.Millisecond)
	t.MaxInterval = cmp.Or(t.MaxInterval, time.Minute)
	t.DrainInterval = cmp.Or(t.DrainInterval, 100*time.Millisecond)
	t.HandOver = cmp.Or(t.HandOver, 5*time.Millisecond)
	t.AnswerTimeout = cmp.Or(t.AnswerTimeout, time.Second)
	t.MinBackoff = cmp.Or(t.MinBackoff, 10*time.Millisecond)
	t.MaxBackoff = cmp.Or(t.MaxBackoff, time.Second)
	t.RecordAfter = cmp.Or(t.RecordAfter, 5*time.Second)
	t.MaxRecordPause = cmp.Or(t.MaxRecordPause, time.Minute)
	t.DrainTimeout = cmp.Or(t.DrainTimeout, 20*time.Second)
	t.LeaveTimeout = cmp.Or(t.LeaveTimeout, time.Second)
	return t
}

// validate checks a Config that withDefaults returned, and returns all errors joined.
func (c Config) validate() error {
	t := c.Timing
	return errors.Join(
		field.Check(wire.ValidWorker(c.Worker), "Worker", c.Worker, wire.WantWorker),
		field.Check(c.Hello.Slots >= 1 && c.Hello.Slots <= wire.MaxSlots, "Hello.Slots", c.Hello.Slots, "1 to %d", wire.MaxSlots),
		field.Check(c.MaxKept > 0, "MaxKept", c.MaxKept, "more than 0 bytes"),
		field.Check(t.Spacing > 0, "Timing.Spacing", t.Spacing, "more than 0"),
		field.Check(t.DrainInterval > 0, "Timing.DrainInterval", t.DrainInterval, "more than 0"),
		field.Check(t.HandOver > 0, "Timing.HandOver", t.HandOver, "more than 0"),
		field.Check(t.MinBackoff > 0, "Timing.MinBackoff", t.MinBackoff, "more than 0"),
		field.Check(t.RecordAfter > 0, "Timing.RecordAfter", t.RecordAfter, "more than 0"),
		field.Check(t.DrainTimeout > 0, "Timing.DrainTimeout", t.DrainTimeout, "more than 0"),
		field.Check(t.LeaveTimeout > 0, "Timing.LeaveTimeout", t.LeaveTimeout, "more than 0"),
		field.Check(t.Interval >= t.Spacing, "Timing.Interval", t.Interval, "at least Spacing, %v", t.Spacing),
		field.Check(t.MaxInterval >= t.Interval, "Timing.MaxInterval", t.MaxInterval, "at least Interval, %v", t.Interval),
		field.Check(t.AnswerTimeout > t.HandOver, "Timing.AnswerTimeout", t.AnswerTimeout, "more than HandOver, %v", t.HandOver),
		field.Check(t.MaxRecordPause >= t.RecordAfter, "Timing.MaxRecordPause", t.MaxRecordPause, "at least RecordAfter, %v", t.RecordAfter),
		field.Check(t.MaxBackoff >= t.MinBackoff, "Timing.MaxBackoff", t.MaxBackoff, "at least MinBackoff, %v", t.MinBackoff),
	)
}

// backoff returns the wait after one more consecutive failure. The parameter last is the wait after
// the previous failure, or 0 after the first failure.
func (t Timing) backoff(last time.Duration) time.Duration {
	return max(t.MinBackoff, min(2*last, t.MaxBackoff))
}
