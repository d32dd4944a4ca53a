package throughput

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/servers"
)

// asynqQueue is asynq on Redis. The client of asynq inserts one task per call, so several
// goroutines insert tasks. Workers poll an empty queue every few milliseconds. The default poll
// interval is one second, so workers would be idle during most of a short run.
// https://pkg.go.dev/github.com/hibiken/asynq#Config
func asynqQueue(name, appendfsync, durability string) System {
	return queue(System{
		Name: name,
		Versions: func(ctx context.Context, _ Place) (string, error) {
			version, err := servers.RedisVersion(ctx)
			return report.ModuleVersion("github.com/hibiken/asynq") + ", " + version, err
		},
		Durability: durability,
		Tuning:     fmt.Sprintf("%d goroutines insert; TaskCheckInterval %v", inserters, lookAgain),
		Settings:   settings(10, 50, 200),
	}, asynqKind, func(ctx context.Context, p Place, _ Setting) (broker, error) {
		redis, err := servers.StartRedis(ctx, p.Dir, appendfsync)
		if err != nil {
			return nil, err
		}
		at := asynq.RedisClientOpt{Addr: redis.Address, PoolSize: inserters}
		return &asynqBroker{redis, asynq.NewClient(at), asynq.NewInspector(at)}, nil
	})
}

const (
	asynqKind = "asynq"
	inserters = 64
	lookAgain = 5 * time.Millisecond
)

type asynqBroker struct {
	redis     *servers.Redis
	client    *asynq.Client
	inspector *asynq.Inspector
}

func (b *asynqBroker) address() string { return b.redis.Address }

func (b *asynqBroker) insert(ctx context.Context, lo, hi uint64) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range uint64(inserters) {
		group.Go(func() error {
			for task := lo + i; task < hi; task += inserters {
				if _, err := b.client.EnqueueContext(ctx, asynq.NewTask(subject, encodeTask(task))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (b *asynqBroker) left(context.Context) (uint64, error) {
	info, err := b.inspector.GetQueueInfo("default")
	if err != nil {
		return 0, err
	}
	return uint64(info.Size), nil
}

func (b *asynqBroker) stop() error {
	return errors.Join(b.client.Close(), b.inspector.Close(), b.redis.Stop())
}

func consumeAsynq(ctx context.Context, c consumption, do func(context.Context, uint64) error, ready func()) error {
	server := asynq.NewServer(asynq.RedisClientOpt{Addr: c.Address, PoolSize: c.Hand}, asynq.Config{
		Concurrency: c.Hand, TaskCheckInterval: lookAgain, LogLevel: asynq.ErrorLevel,
		BaseContext: func() context.Context { return ctx },
	})
	err := server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		return doMessage(ctx, t.Payload(), do)
	}))
	if err != nil {
		return fmt.Errorf("start asynq: %w", err)
	}
	ready()
	<-ctx.Done()
	server.Shutdown()
	return nil
}
