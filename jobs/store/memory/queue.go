package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Queue keeps messages in memory.
type Queue struct {
	injector
	hideFor time.Duration

	mu       sync.Mutex
	messages []*message    // messages in the order in which they were sent
	changed  chan struct{} // the channel is closed when a message may have become visible
}

type message struct {
	body        []byte
	deliveries  int
	hiddenUntil time.Time
}

var (
	_ store.Queue   = (*Queue)(nil)
	_ store.Message = (*delivery)(nil)
)

// NewQueue returns an empty queue that hides received messages for hideFor.
func NewQueue(hideFor time.Duration) *Queue {
	return &Queue{hideFor: hideFor, changed: make(chan struct{})}
}

// Len returns the number of messages in the queue, including hidden ones.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages)
}

// Send implements store.Queue.
func (q *Queue) Send(ctx context.Context, body []byte) error {
	if len(body) > store.MaxMessage {
		return fmt.Errorf("message of %d bytes, want at most %d", len(body), store.MaxMessage)
	}
	return q.call(ctx, Send, func() {
		q.messages = append(q.messages, &message{body: bytes.Clone(body)})
		close(q.changed)
		q.changed = make(chan struct{})
	})
}

// Receive implements store.Queue.
func (q *Queue) Receive(ctx context.Context) (store.Message, error) {
	var d *delivery
	err := q.around(Receive, "", func() (err error) {
		d, err = q.wait(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (q *Queue) wait(ctx context.Context) (*delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, next, changed := q.take()
		if d != nil {
			return d, nil
		}
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-due:
		}
	}
}

// take delivers the first visible message. If no message is visible, take returns the time at which
// the next message becomes visible, and a channel that is closed when a message is sent.
func (q *Queue) take() (d *delivery, next time.Time, changed <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for _, m := range q.messages {
		if !m.hiddenUntil.After(now) {
			m.deliveries++
			m.hiddenUntil = now.Add(q.hideFor)
			return &delivery{q, m, m.deliveries}, next, nil
		}
		if next.IsZero() || m.hiddenUntil.Before(next) {
			next = m.hiddenUntil
		}
	}
	return nil, next, q.changed
}

func (q *Queue) call(ctx context.Context, operation Operation, do func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return q.around(operation, "", func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		do()
		return nil
	})
}

type delivery struct {
	queue   *Queue
	message *message
	count   int
}

func (d *delivery) Body() []byte { return bytes.Clone(d.message.body) }

func (d *delivery) Deliveries() int { return d.count }

func (d *delivery) Extend(ctx context.Context) error {
	return d.queue.call(ctx, Extend, func() { d.message.hiddenUntil = time.Now().Add(d.queue.hideFor) })
}

func (d *delivery) Delete(ctx context.Context) error {
	return d.queue.call(ctx, Discard, func() {
		d.queue.messages = slices.DeleteFunc(d.queue.messages, func(m *message) bool { return m == d.message })
	})
}
