package throughput

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/servers"
)

// riverQueue is River on PostgreSQL. Tasks are inserted in batches with the SQL command COPY, and
// the fetch intervals are the same as in River's benchmark.
// https://riverqueue.com/docs/batch-job-insertion
// https://github.com/riverqueue/river/blob/master/cmd/river/riverbench/river_bench.go
func riverQueue(name string, synchronousCommit bool, durability string) System {
	return queue(System{
		Name: name,
		Versions: func(ctx context.Context, _ Place) (string, error) {
			version, err := servers.PostgresVersion(ctx)
			return report.ModuleVersion("github.com/riverqueue/river") + ", " + version, err
		},
		Durability: durability,
		Tuning: fmt.Sprintf("InsertManyFast, %d at a time; FetchCooldown %v, FetchPollInterval %v; %s",
			riverBatch, riverCooldown, riverPoll, servers.PostgresTuning()),
		Settings: settings(10, 100, 1000),
	}, riverKind, func(ctx context.Context, p Place, _ Setting) (broker, error) {
		postgres, err := servers.StartPostgres(ctx, p.Dir, synchronousCommit)
		if err != nil {
			return nil, err
		}
		b := &riverBroker{postgres: postgres}
		if err := b.prepare(ctx); err != nil {
			return nil, errors.Join(err, b.stop())
		}
		return b, nil
	})
}

const (
	riverKind     = "river"
	riverBatch    = 5000
	riverCooldown = 2 * time.Millisecond
	riverPoll     = 20 * time.Millisecond
)

type riverTask struct {
	Task uint64 `json:"task"`
}

// Kind returns the name of the task's kind in River.
func (riverTask) Kind() string { return subject }

type riverBroker struct {
	postgres *servers.Postgres
	pool     *pgxpool.Pool
	client   *river.Client[pgx.Tx]
}

func (b *riverBroker) prepare(ctx context.Context) (err error) {
	if b.pool, err = pgxpool.New(ctx, b.postgres.URL); err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	driver := riverpgxv5.New(b.pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return fmt.Errorf("prepare River's tables: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("prepare River's tables: %w", err)
	}
	if b.client, err = river.NewClient(driver, &river.Config{Logger: quiet()}); err != nil {
		return fmt.Errorf("use River: %w", err)
	}
	return nil
}

func (b *riverBroker) address() string { return b.postgres.URL }

func (b *riverBroker) insert(ctx context.Context, lo, hi uint64) error {
	for lo < hi {
		batch := make([]river.InsertManyParams, 0, riverBatch)
		for ; lo < hi && len(batch) < riverBatch; lo++ {
			batch = append(batch, river.InsertManyParams{Args: riverTask{lo}})
		}
		if _, err := b.client.InsertManyFast(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func (b *riverBroker) left(ctx context.Context) (left uint64, err error) {
	err = b.pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&left)
	return left, err
}

func (b *riverBroker) stop() error {
	if b.pool != nil {
		b.pool.Close()
	}
	return b.postgres.Stop()
}

// quiet returns a logger that discards everything. The sum of the tasks shows failed tasks.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

type riverWorker struct {
	river.WorkerDefaults[riverTask]
	do func(context.Context, uint64) error
}

// Work executes a task.
func (w *riverWorker) Work(ctx context.Context, job *river.Job[riverTask]) error {
	return w.do(ctx, job.Args.Task)
}

// stopWithin is the time for an orderly shutdown of River.
const stopWithin = 5 * time.Second

func consumeRiver(ctx context.Context, c consumption, do func(context.Context, uint64) error, ready func()) error {
	pool, err := pgxpool.New(ctx, c.Address)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer pool.Close()
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{do: do})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: riverCooldown, FetchPollInterval: riverPoll,
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: c.Hand}},
		Workers: workers, Logger: quiet(),
	})
	if err != nil {
		return fmt.Errorf("use River: %w", err)
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start River: %w", err)
	}
	ready()
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return client.StopAndCancel(ctx)
}
