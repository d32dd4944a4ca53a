package throughput

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// jetStream is a work queue on a stream. The server acknowledges each inserted task, and workers
// acknowledge each completed task, which removes the task from the stream. Tasks are inserted
// asynchronously, one by one or in atomic batches. The server syncs each batch once. Workers pull
// many tasks per request.
// https://docs.nats.io/nats-concepts/jetstream/streams#retentionpolicy
// https://github.com/nats-io/nats.go/blob/main/jetstream/README.md
// https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-50.md
func jetStream(name, durability string, storage jetstream.StorageType, syncAlways bool) System {
	return queue(System{
		Name:       name,
		Versions:   natsVersions,
		Durability: durability,
		Tuning:     fmt.Sprintf("insertion in atomic batches, or asynchronous with %d under way; continuous pull", underWay),
		Settings:   withBatches(settings(10, 1000)),
	}, jetStreamKind, func(ctx context.Context, p Place, s Setting) (broker, error) {
		b, err := startNATS(p, syncAlways)
		if err != nil {
			return nil, err
		}
		q := &jetStreamBroker{natsBroker: b, failed: make(chan error, 1), batch: s.Batch}
		if err := q.prepare(ctx, storage); err != nil {
			_ = b.stop() // stop never returns an error
			return nil, err
		}
		return q, nil
	})
}

const (
	jetStreamKind = "jetstream"
	streamName    = "TASKS"
	// underWay is the maximum number of insertions that wait for the server.
	underWay = 8192
	// maxUnacknowledged is far above the number of tasks that workers hold. A server that syncs
	// reaches maxUnacknowledged in long runs, because it removes tasks more slowly than workers
	// complete them.
	maxUnacknowledged = 100_000
	// acknowledgeAfter is the acknowledgement timeout. Workers need much less time per task.
	acknowledgeAfter = 2 * time.Minute
	// largestBatch is the maximum number of messages in a batch.
	largestBatch = 1000
)

type jetStreamBroker struct {
	*natsBroker
	js     jetstream.JetStream
	failed chan error // error of the first refused insertion
	batch  int        // number of tasks per insertion; 0 if tasks are inserted one by one
}

// withBatches returns each setting without batches, and with the largest batches.
func withBatches(all []Setting) []Setting {
	for _, s := range all {
		s.Batch = largestBatch
		all = append(all, s)
	}
	return all
}

func (b *jetStreamBroker) prepare(ctx context.Context, storage jetstream.StorageType) (err error) {
	b.js, err = jetstream.New(b.conn, jetstream.WithPublishAsyncMaxPending(underWay),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { first(b.failed, err) }))
	if err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	stream, err := b.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{subject}, Retention: jetstream.WorkQueuePolicy, Storage: storage,
		AllowAtomicPublish: b.batch > 0,
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
	if b.batch == 0 {
		return b.insertEach(ctx, lo, hi)
	}
	for lo < hi {
		next := min(hi, lo+uint64(b.batch))
		if err := b.insertBatch(ctx, lo, next); err != nil {
			return err
		}
		lo = next
	}
	return nil
}

func (b *jetStreamBroker) insertBatch(ctx context.Context, lo, hi uint64) error {
	ctx, cancel := context.WithTimeout(ctx, insertWithin)
	defer cancel()
	id := nuid.Next()
	for task := lo; task < hi; task++ {
		m := &nats.Msg{Subject: subject, Data: encodeTask(task), Header: nats.Header{
			server.JSBatchId:  {id},
			server.JSBatchSeq: {strconv.FormatUint(task-lo+1, 10)},
		}}
		if task < hi-1 {
			if err := b.conn.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header.Set(server.JSBatchCommit, "1")
		answer, err := b.conn.RequestMsgWithContext(ctx, m)
		if err != nil {
			return err
		}
		var stored server.JSPubAckResponse
		if err := json.Unmarshal(answer.Data, &stored); err != nil {
			return fmt.Errorf("read answer to batch: %w", err)
		}
		if err := stored.ToError(); err != nil {
			return err
		}
		if stored.PubAck == nil || stored.BatchSize != hi-lo {
			return fmt.Errorf("a batch of %d tasks was answered %s", hi-lo, answer.Data)
		}
	}
	return nil
}

func (b *jetStreamBroker) insertEach(ctx context.Context, lo, hi uint64) error {
	for task := lo; task < hi; task++ {
		if task%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := b.js.PublishAsync(subject, encodeTask(task), jetstream.WithStallWait(insertWithin)); err != nil {
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

// consumeJetStream divides the tasks that the process may hold equally among subscriptions, one per slot.
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
