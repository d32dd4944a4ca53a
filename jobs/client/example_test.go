package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sync"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/worker"
)

// Example submits a job and waits for the job's typed result.
func Example() {
	ctx := context.Background()
	where, stop := startCluster() // a real program calls cluster.FromEnv
	defer stop()

	c, err := client.Connect(ctx, client.Config{Cluster: where})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	params := primes.Definition.Defaults
	params.Limit = 1_000_000
	id, err := c.Submit(ctx, jobs.MustNew(primes.Definition), client.SubmitOptions{Params: params})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Wait(ctx, id); err != nil {
		log.Fatal(err)
	}
	result, err := client.Result[primes.Result](ctx, c, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Count, "primes below", params.Limit)
	// Output: 78498 primes below 1000000
}

// ExampleClient_Watch follows a job until the job has ended.
func ExampleClient_Watch() {
	ctx := context.Background()
	c, id, stop := submitPrimes(ctx, "limit=1_000_000")
	defer stop()

	var last client.Status
	for status, err := range c.Watch(ctx, id) {
		if err != nil {
			log.Fatal(err)
		}
		last = status // a program shows status.Done of status.Partitions
	}
	fmt.Println(last.State, last.Done == last.Partitions)
	// Output: completed true
}

// ExampleClient_Cancel cancels a job that takes hours, as soon as the first of its partitions is done.
func ExampleClient_Cancel() {
	ctx := context.Background()
	c, id, stop := submitPrimes(ctx, "limit=1e13", "partitions=1_000_000")
	defer stop()

	for status, err := range c.Watch(ctx, id) {
		if err != nil {
			log.Fatal(err)
		}
		if status.Done > 0 {
			break
		}
	}
	if err := c.Cancel(ctx, id); err != nil {
		log.Fatal(err)
	}
	_, err := client.Result[primes.Result](ctx, c, id)
	fmt.Println(errors.Is(err, client.ErrCancelled))
	// Output: true
}

// submitPrimes submits a job to a cluster in this process. The function stop closes the client and the cluster.
func submitPrimes(ctx context.Context, params ...string) (c *client.Client, id string, stop func()) {
	where, stopCluster := startCluster()
	c, err := client.Connect(ctx, client.Config{Cluster: where})
	if err != nil {
		log.Fatal(err)
	}
	id, err = c.Submit(ctx, jobs.MustNew(primes.Definition), client.SubmitOptions{Pairs: params})
	if err != nil {
		log.Fatal(err)
	}
	return c, id, func() {
		c.Close()
		stopCluster()
	}
}

// startCluster starts a NATS server and a worker in this process.
func startCluster() (where cluster.Config, stop func()) {
	dir, err := os.MkdirTemp("", "client-example-")
	if err != nil {
		log.Fatal(err)
	}
	server, err := natsserver.Start(natsserver.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	where = cluster.Config{NATS: cluster.NATS{URL: server.URL()}}
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		err := worker.Run(ctx, worker.Config{
			Cluster: where, Jobs: []jobs.Job{jobs.MustNew(primes.Definition)}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			log.Print(err)
		}
	})
	return where, func() {
		cancel()
		working.Wait()
		server.Shutdown()
		_ = os.RemoveAll(dir)
	}
}
