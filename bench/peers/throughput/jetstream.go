package throughput

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// jetStream is a work queue on a stream: each task is acknowledged by the server
// when it is inserted, and by the worker when it is done, which removes it.
// Insertions are asynchronous, and workers pull many tasks at a time.
// https://docs.nats.io/nats-concepts/jetstream/streams#retentionpolicy
// https://github.com/nats-io/nats.go/blob/main/jetstream/README.md
func jetStream(name, durability string, storage jetstream.StorageType, syncAlways bool) System {
	return queue(System{
		Name:       name,
		Versions:   natsVersions,
		Durability: durability,
		Tuning:     fmt.Sprintf("asynchronous insertion, %d under way; continuous pull", underWay),
		Settings:   settings(4, 100, 1000),
	}, jetStreamKind, func(ctx context.Context, p Place) (broker, error) {
		b, err := startNATS(p, syncAlways)
		if err != nil {
			return nil, err
		}
		q := &jetStreamBroker{natsBroker: b, failed: make(chan error, 1)}
		if err := q.prepare(ctx, storage); err != nil {
			_ = b.stop() // never fails
			return nil, err
		}
		return q, nil
	})
}

const (
	jetStreamKind = "jetstream"
	streamName    = "TASKS"
	// underWay is how many insertions may wait for the server at once.
	underWay = 8192
	// maxUnacknowledged does not stand in the way of any setting.
	maxUnacknowledged = 100_000
	// acknowledgeAfter is longer than tasks wait in a worker's hand.
	acknowledgeAfter = 2 * time.Minute
)

type jetStreamBroker struct {
	*natsBroker
	js     jetstream.JetStream
	failed chan error // the first insertion that was refused
}

func (b *jetStreamBroker) prepare(ctx context.Context, storage jetstream.StorageType) (err error) {
	b.js, err = jetstream.New(b.conn, jetstream.WithPublishAsyncMaxPending(underWay),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { first(b.failed, err) }))
	if err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	stream, err := b.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{subject}, Retention: jetstream.WorkQueuePolicy, Storage: storage,
	})
	if err != nil {
		return fmt.Errorf("create stream: %w", err)
	}
	_, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: queueName, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: acknowledgeAfter, MaxAckPending: maxUnacknowledged,
	})
	if err != nil {
		return fmt.Errorf("create consumer: %w", err)
	}
	return nil
}

func (b *jetStreamBroker) insert(ctx context.Context, lo, hi uint64) error {
	for task := lo; task < hi; task++ {
		if task%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := b.js.PublishAsync(subject, encodeTask(task), jetstream.WithStallWait(time.Minute)); err != nil {
			return err
		}
	}
	select {
	case <-b.js.PublishAsyncComplete():
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-b.failed:
		return err
	default:
		return nil
	}
}

func (b *jetStreamBroker) left(ctx context.Context) (uint64, error) {
	stream, err := b.js.Stream(ctx, streamName)
	if err != nil {
		return 0, err
	}
	return stream.CachedInfo().State.Msgs, nil
}

// consumeJetStream has a subscription for each slot, with its share of what the
// process may have in hand.
func consumeJetStream(ctx context.Context, c consumption, do func(context.Context, uint64) error, ready func()) error {
	conn, err := nats.Connect(c.Address)
	if err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	consumer, err := js.Consumer(ctx, streamName, queueName)
	if err != nil {
		return fmt.Errorf("find consumer: %w", err)
	}
	failed := make(chan error, 1)
	for range c.Slots {
		pull, err := consumer.Consume(func(m jetstream.Msg) {
			if err := doMessage(ctx, m.Data(), do); err != nil {
				first(failed, err)
				return
			}
			if err := m.Ack(); err != nil {
				first(failed, fmt.Errorf("acknowledge: %w", err))
			}
		}, jetstream.PullMaxMessages(max(1, c.Hand/c.Slots)))
		if err != nil {
			return fmt.Errorf("consume: %w", err)
		}
		defer pull.Stop()
	}
	ready()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}
