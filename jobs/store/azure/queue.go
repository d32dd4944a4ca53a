package azure

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/queueerror"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	// minPoll is the time between the first request for a message and the second request.
	minPoll = 100 * time.Millisecond
	// grace is the time for which a request for a message continues after its caller's context has
	// ended. If the request were cancelled at once, storage might hide a message that no receiver
	// gets.
	grace = 250 * time.Millisecond
	// noExpiry is the time to live of messages that do not expire.
	noExpiry = int32(-1)
)

// Send implements store.Queue.
func (d *Driver) Send(ctx context.Context, body []byte) error {
	if len(body) > store.MaxMessage {
		return fmt.Errorf("message of %d bytes, want at most %d", len(body), store.MaxMessage)
	}
	text := base64.StdEncoding.EncodeToString(body)
	return d.call(ctx, 0, func(ctx context.Context) error {
		return d.orCreateQueue(ctx, func() error {
			_, err := d.queue.EnqueueMessage(ctx, text, &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr(noExpiry)})
			return err
		})
	})
}

// orCreateQueue calls do. If the queue does not exist, it creates the queue and calls do again.
func (d *Driver) orCreateQueue(ctx context.Context, do func() error) error {
	err := do()
	if !queueerror.HasCode(err, queueerror.QueueNotFound) {
		return err
	}
	if err := d.createQueue(ctx); err != nil {
		return err
	}
	return do()
}

// Receive implements store.Queue. Receive retries while storage is unavailable or denies access.
func (d *Driver) Receive(ctx context.Context) (store.Message, error) {
	var (
		wait    = minPoll / 2 // the loop doubles the wait before it is used
		trouble = false
	)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := d.dequeue(ctx)
		switch {
		case ctx.Err() != nil:
			if m != nil {
				d.putBack(ctx, m)
			}
			return nil, ctx.Err()
		case err == nil && trouble:
			d.cfg.Logger.Info("Queue is back", "queue", d.name)
			trouble = false
		case err != nil && !trouble:
			d.cfg.Logger.Warn("Queue is unavailable, waiting for it", "queue", d.name, "error", err)
			trouble = true
		}
		if m != nil {
			return m, nil
		}
		wait = min(2*wait, d.cfg.PollEvery)
		timer := time.NewTimer(wait - rand.N(wait/8+1)) // the jitter prevents receivers from polling at the same time
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// dequeue makes one request, and returns nil if no message is visible.
func (d *Driver) dequeue(ctx context.Context) (*message, error) {
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.CallTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	var m *message
	err := d.orCreateQueue(bound, func() error {
		answer, err := d.queue.DequeueMessages(bound, &azqueue.DequeueMessagesOptions{
			NumberOfMessages: to.Ptr(int32(1)), VisibilityTimeout: d.hideSeconds(),
		})
		if err == nil && len(answer.Messages) > 0 {
			m = newMessage(d, answer.Messages[0])
		}
		return err
	})
	return m, d.translate(ctx, err)
}

// putBack makes a message visible again at once, because its receiver has stopped waiting. If
// putBack fails, the message becomes visible after its hide time.
func (d *Driver) putBack(ctx context.Context, m *message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := m.update(ctx, 0); err != nil {
		d.cfg.Logger.Debug("Could not put back a message", "queue", d.name, "error", err)
	}
}

func (d *Driver) hideSeconds() *int32 { return to.Ptr(int32(d.cfg.HideFor / time.Second)) }

type message struct {
	driver     *Driver
	id         string
	text       string // text of the message in the queue
	body       []byte
	deliveries int

	mu      sync.Mutex // locked during each request, because a request may change the receipt
	receipt string
}

func newMessage(d *Driver, m *azqueue.DequeuedMessage) *message {
	text := ""
	if m.MessageText != nil {
		text = *m.MessageText
	}
	body, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		body = []byte(text)
	}
	return &message{
		driver: d, id: *m.MessageID, text: text, body: body,
		deliveries: int(*m.DequeueCount), receipt: *m.PopReceipt,
	}
}

func (m *message) Body() []byte { return m.body }

func (m *message) Deliveries() int { return m.deliveries }

// Extend implements store.Message. The error is store.ErrConflict if the message was delivered
// again or the response to an earlier Extend was lost, and store.ErrNotFound if the message was
// deleted.
func (m *message) Extend(ctx context.Context) error {
	return m.driver.call(ctx, 0, func(ctx context.Context) error { return m.update(ctx, *m.driver.hideSeconds()) })
}

func (m *message) update(ctx context.Context, seconds int32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer, err := m.driver.queue.UpdateMessage(ctx, m.id, m.receipt, m.text, &azqueue.UpdateMessageOptions{VisibilityTimeout: &seconds})
	if err != nil {
		return m.gone(err)
	}
	m.receipt = *answer.PopReceipt
	return nil
}

// Delete implements store.Message. The error is store.ErrConflict if the message was delivered
// again or the response to an Extend was lost.
func (m *message) Delete(ctx context.Context) error {
	return m.driver.call(ctx, 0, func(ctx context.Context) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		_, err := m.driver.queue.DeleteMessage(ctx, m.id, m.receipt, nil)
		if err = m.gone(err); errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
}

// gone translates the errors for a message that was deleted or delivered again.
func (m *message) gone(err error) error {
	switch {
	case queueerror.HasCode(err, queueerror.MessageNotFound, queueerror.QueueNotFound):
		return fmt.Errorf("%w: %w", store.ErrNotFound, m.driver.account.Explain(err))
	case queueerror.HasCode(err, queueerror.PopReceiptMismatch):
		return fmt.Errorf("%w: the message was delivered again, or an answer was lost: %w", store.ErrConflict, m.driver.account.Explain(err))
	}
	return err
}
