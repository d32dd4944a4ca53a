package throughput

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

// broker is the server of a queue, together with this process's connection to the server.
type broker interface {
	// address returns the server's address for worker processes.
	address() string
	// insert inserts tasks lo to hi-1.
	insert(ctx context.Context, lo, hi uint64) error
	// left returns the number of inserted tasks that the queue does not yet count as done.
	left(ctx context.Context) (uint64, error)
	stop() error
}

type consumption struct {
	Queue   string    `json:"queue"`
	Address string    `json:"address"`
	Work    work.Work `json:"work"`
	Slots   int       `json:"slots"`
	Hand    int       `json:"in_hand"`
}

// consume executes tasks until ctx is done. It calls ready when later tasks reach the process.
type consume func(ctx context.Context, c consumption, do func(context.Context, uint64) error, ready func()) error

// queue completes s with a function that opens it. The kind selects the consume function of its workers.
func queue(s System, kind string, serve func(context.Context, Place, Setting) (broker, error)) System {
	s.open = func(ctx context.Context, p Place, w work.Work, setting Setting) (session, error) {
		b, err := serve(ctx, p, setting)
		if err != nil {
			return nil, err
		}
		c := newCrew()
		c.group, err = processes.Start(processes.Config{
			Role:   Consumer,
			Config: consumption{kind, b.address(), w, p.Slots, setting.Hand},
			Env:    setting.env(),
			Heard:  c.heard,
			Ended:  c.Fail,
		}, p.Processes)
		if err != nil {
			return nil, errors.Join(err, b.stop())
		}
		q := &queueSession{broker: b, crew: c}
		if err := c.awaitReady(ctx, p.Processes); err != nil {
			return nil, errors.Join(err, q.close())
		}
		return q, nil
	}
	return s
}

type queueSession struct {
	broker broker
	crew   *crew
	before work.Sum // sum of earlier runs
}

func (q *queueSession) run(ctx context.Context, n uint64) (time.Duration, work.Sum, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	inserted := make(chan error, 1)
	began := time.Now()
	go func() {
		err := q.broker.insert(ctx, 0, n)
		if err != nil {
			err = fmt.Errorf("insert tasks: %w", err)
			q.crew.Fail(err)
		}
		inserted <- err
	}()
	done, at, err := q.crew.awaitTasks(ctx, q.before.Tasks+n)
	if err != nil {
		cancel()
		<-inserted
		return 0, work.Sum{}, err
	}
	if err := <-inserted; err != nil {
		return 0, work.Sum{}, err
	}
	if err := q.awaitEmpty(ctx); err != nil {
		return 0, work.Sum{}, err
	}
	sum := done.Minus(q.before)
	q.before = done
	return at.Sub(began), sum, nil
}

// acknowledgeWithin is the time within which the queue must count more tasks as done. A queue that syncs each of them may need
// minutes for all.
const acknowledgeWithin = 30 * time.Second

// awaitEmpty waits, outside the measured time, until the queue counts all tasks as done.
func (q *queueSession) awaitEmpty(ctx context.Context) error {
	least, since := uint64(math.MaxUint64), time.Now()
	for {
		left, err := q.broker.left(ctx)
		if err != nil {
			return fmt.Errorf("ask what is left: %w", err)
		}
		switch {
		case left == 0:
			return nil
		case left < least:
			least, since = left, time.Now()
		case time.Since(since) > acknowledgeWithin:
			return fmt.Errorf("all is done, but the queue has %d tasks left, as many as %v before", left, acknowledgeWithin)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (q *queueSession) close() error {
	q.crew.group.Stop()
	return q.broker.stop()
}

// Each message in a queue contains the number of a task.

const taskSize = 8

func encodeTask(task uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, taskSize), task)
}

func decodeTask(data []byte) (uint64, error) {
	if len(data) != taskSize {
		return 0, fmt.Errorf("a task of %d bytes", len(data))
	}
	return binary.BigEndian.Uint64(data), nil
}

// Consumer is the name of the role of worker processes.
const Consumer = "consumer"

// Roles returns the roles of processes that this package starts.
func Roles() map[string]processes.Role {
	return map[string]processes.Role{Consumer: processes.RoleOf(beConsumer)}
}

// told is a message from a worker process. A process sends its first message when it is ready.
type told struct {
	Sum work.Sum `json:"sum"`
}

// A worker process reports its sum after it has been idle for the time moment, which bounds the
// error of the measured time. A busy worker process reports its sum at the interval tellEvery.
const (
	moment    = time.Millisecond
	tellEvery = 20 * time.Millisecond
)

func beConsumer(ctx context.Context, c consumption, tell func(any)) error {
	take, found := consumers[c.Queue]
	if !found {
		return fmt.Errorf("there is no queue %q", c.Queue)
	}
	computer, err := c.Work.Open(ctx, c.Slots)
	if err != nil {
		return err
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- take(ctx, c, computer.Do, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		return err
	}
	said, when := told{}, time.Now()
	tell(said)
	last := said.Sum
	for tick := time.Tick(moment); ; {
		select {
		case err := <-ended:
			return err
		case <-tick:
		}
		sum, err := computer.Sum()
		if err != nil {
			return err
		}
		rests := sum == last
		last = sum
		if sum != said.Sum && (rests || time.Since(when) >= tellEvery) {
			said.Sum, when = sum, time.Now()
			tell(said)
		}
	}
}
