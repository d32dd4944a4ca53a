package throughput

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/servers"
)

const (
	subject   = "tasks"
	queueName = "workers"
)

// natsQueueGroup is a queue group of NATS. Subscribers of a queue group share the messages of a
// subject. The clients have no limit on pending messages, because they would drop messages beyond
// the limit.
// https://docs.nats.io/using-nats/developer/receiving/queues
// https://docs.nats.io/using-nats/developer/connecting/events/slow
func natsQueueGroup() System {
	return queue(System{
		Name:       "NATS queue group",
		Versions:   natsVersions,
		Durability: "none: a message is lost with the process that has it, or the server",
		Tuning:     "no limit to pending messages",
		Settings:   settings(0),
	}, natsKind, func(_ context.Context, p Place, _ Setting) (broker, error) {
		b, err := startNATS(p, false)
		if err != nil {
			return nil, err
		}
		return b, nil
	})
}

const natsKind = "nats"

func natsVersions(context.Context, Place) (string, error) {
	return servers.NATSVersion + ", " + report.ModuleVersion("github.com/nats-io/nats.go"), nil
}

type natsBroker struct {
	server *servers.NATS
	conn   *nats.Conn
}

func startNATS(p Place, syncAlways bool) (*natsBroker, error) {
	server, err := servers.StartNATS(p.Dir, syncAlways)
	if err != nil {
		return nil, err
	}
	conn, err := nats.Connect(server.URL())
	if err != nil {
		server.Stop()
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return &natsBroker{server, conn}, nil
}

func (b *natsBroker) address() string { return b.server.URL() }

// insertWithin is the timeout for the reply to an insertion.
const insertWithin = time.Minute

// checkEvery is the number of insertions between two checks of ctx.
const checkEvery = 1024

func (b *natsBroker) insert(ctx context.Context, lo, hi uint64) error {
	for task := lo; task < hi; task++ {
		if task%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := b.conn.Publish(subject, encodeTask(task)); err != nil {
			return err
		}
	}
	return b.conn.FlushTimeout(insertWithin)
}

// left returns 0, because NATS does not track messages.
func (b *natsBroker) left(context.Context) (uint64, error) { return 0, nil }

func (b *natsBroker) stop() error {
	b.conn.Close()
	b.server.Stop()
	return nil
}

// consumeNATS subscribes once per slot; each subscription has a goroutine.
func consumeNATS(ctx context.Context, c consumption, do func(context.Context, uint64) error, ready func()) error {
	conn, err := nats.Connect(c.Address)
	if err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	defer conn.Close()
	failed := make(chan error, 1)
	for range c.Slots {
		subscription, err := conn.QueueSubscribe(subject, queueName, func(m *nats.Msg) {
			if err := doMessage(ctx, m.Data, do); err != nil {
				first(failed, err)
			}
		})
		if err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
		if err := subscription.SetPendingLimits(-1, -1); err != nil {
			return fmt.Errorf("lift limits of subscription: %w", err)
		}
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	ready()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

func doMessage(ctx context.Context, data []byte, do func(context.Context, uint64) error) error {
	task, err := decodeTask(data)
	if err != nil {
		return err
	}
	return do(ctx, task)
}

// first sends an error to the channel errs unless the channel already contains one.
func first(errs chan<- error, err error) {
	select {
	case errs <- err:
	default:
	}
}
