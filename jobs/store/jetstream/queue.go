package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	// consumerName is the name of the queue's consumer, which all receivers share.
	consumerName = "receivers"
	// pullHeartbeat is the interval at which the server confirms the receiver's request for a
	// message. A restarted server has lost the request. If the server sends no confirmation for
	// twice pullHeartbeat, the receiver repeats the request.
	pullHeartbeat = time.Second
	// pullTimeout is the time after which the receiver repeats its request for a message. If a
	// receiver is disconnected, the server may answer the receiver's last request with a message,
	// which then stays hidden for HideFor. The client library requires at least two heartbeats
	// within pullTimeout. The request expires on the server after 9/10 of pullTimeout.
	pullTimeout = 3 * time.Second

	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

func (d *Driver) queueConfig() jetstream.StreamConfig {
	cfg := d.streamConfig(d.names.queueStream, "submissions to", d.names.queueSubject)
	cfg.Retention = jetstream.WorkQueuePolicy
	return cfg
}

func (d *Driver) consumerConfig() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       consumerName,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       d.cfg.HideFor,
		MaxDeliver:    -1, // no limit of deliveries, because the receiver decides which messages are poison
		MaxAckPending: -1, // no limit, because a submission stays unacknowledged until its job ends
	}
}

func (d *Driver) openQueue(ctx context.Context) (jetstream.Consumer, error) {
	stream, err := d.stream(ctx, d.queueConfig())
	if err != nil {
		return nil, err
	}
	consumer, err := stream.Consumer(ctx, consumerName)
	if err == nil && consumer.CachedInfo().Config.AckWait == d.cfg.HideFor {
		return consumer, nil
	}
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, err
	}
	return stream.CreateOrUpdateConsumer(ctx, d.consumerConfig())
}

// Send implements store.Queue.
func (d *Driver) Send(ctx context.Context, body []byte) error {
	if len(body) > store.MaxMessage {
		return fmt.Errorf("message of %d bytes, want at most %d", len(body), store.MaxMessage)
	}
	return d.call(ctx, func(ctx context.Context) error {
		if err := d.room(ctx, len(body)); err != nil {
			return err
		}
		_, err := d.js.Publish(ctx, d.names.queueSubject, body)
		return err
	})
}

// Receive implements store.Queue. Receive retries while the server is unavailable and creates the
// queue if it is missing. Receive returns an error only if ctx is done or the connection is closed.
func (d *Driver) Receive(ctx context.Context) (store.Message, error) {
	backoff := time.Duration(0) // time to wait before the next request; 0 if the last request succeeded
	for {
		msg, err := d.receive(ctx)
		if err == nil || errors.Is(err, errNothingYet) {
			if backoff > 0 {
				d.cfg.Logger.Info("Queue is back")
			}
			if err == nil {
				return msg, nil
			}
			backoff = 0
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if d.nc.IsClosed() {
			return nil, translate(ctx, nats.ErrConnectionClosed)
		}
		if backoff == 0 {
			d.cfg.Logger.Warn("Queue is unavailable, waiting for it", "error", err)
		}
		backoff = min(max(2*backoff, minBackoff), maxBackoff)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(backoff):
		}
	}
}

// errNothingYet means that the server answered the request without a message.
var errNothingYet = errors.New("no message yet")

func (d *Driver) receive(ctx context.Context) (store.Message, error) {
	call, end, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	// The heartbeat shows whether the server still has the receiver's request.
	pull, cancel := context.WithTimeout(context.WithoutCancel(ctx), pullTimeout)
	defer cancel()
	defer context.AfterFunc(call, cancel)()
	msg, err := d.queue.Next(jetstream.FetchContext(pull), jetstream.FetchHeartbeat(pullHeartbeat))
	switch {
	case err == nil:
		return newMessage(d, msg)
	case errors.Is(context.Cause(call), errLost):
		return nil, errLost
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return nil, errNothingYet
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, d.reopenQueue(call, err)
	}
	return nil, err
}

// reopenQueue creates a missing queue. It returns reason, with the error of a failure.
func (d *Driver) reopenQueue(ctx context.Context, reason error) error {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.CallTimeout)
	defer cancel()
	if _, err := d.openQueue(ctx); err != nil {
		return fmt.Errorf("%w; open it again: %w", reason, err)
	}
	return reason
}

type message struct {
	driver     *Driver
	body       []byte
	deliveries int
	reply      string // subject to which acknowledgements are sent
}

func newMessage(d *Driver, msg jetstream.Msg) (*message, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, fmt.Errorf("read metadata of message: %w", err)
	}
	return &message{d, msg.Data(), int(meta.NumDelivered), msg.Reply()}, nil
}

func (m *message) Body() []byte { return m.body }

func (m *message) Deliveries() int { return m.deliveries }

func (m *message) Extend(ctx context.Context) error { return m.tell(ctx, "+WPI") }

func (m *message) Delete(ctx context.Context) error { return m.tell(ctx, "+ACK") }

// tell sends a JetStream acknowledgement verb and waits for the server's confirmation. The client
// library is not used, because it can wait for a confirmation only for one of the verbs, and only
// once per message.
func (m *message) tell(ctx context.Context, verb string) error {
	d := m.driver
	return d.call(ctx, func(ctx context.Context) error {
		ctx, cancel := d.bounded(ctx)
		defer cancel()
		_, err := d.nc.RequestWithContext(ctx, m.reply, []byte(verb))
		return err
	})
}
