package client_test

import (
	"context"
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
