package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/worker"
)

// A worker joins the cluster that the environment names. A program that is only a worker ends ctx
// on a signal (see [signal.NotifyContext]).
func Example() {
	defer startNATS()() // a real program uses the NATS server of its cluster

	where, err := cluster.FromEnv() // BELLWETHER_CLUSTER, BELLWETHER_NATS_URL and so on
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	err = worker.Run(ctx, worker.Config{
		Cluster: where,
		Jobs:    []jobs.Job{jobs.MustNew(primes.Definition)},
		Logger:  slog.New(slog.DiscardHandler),
	})
	fmt.Println("stopped:", err)
	// Output: stopped: <nil>
}

// startNATS starts a NATS server that the environment names until stop is called.
func startNATS() (stop func()) {
	dir, err := os.MkdirTemp("", "worker-example-")
	if err != nil {
		log.Fatal(err)
	}
	server, err := natsserver.Start(natsserver.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Setenv(cluster.EnvNATSURL, server.URL()); err != nil {
		log.Fatal(err)
	}
	return func() {
		server.Shutdown()
		if err := errors.Join(os.RemoveAll(dir), os.Unsetenv(cluster.EnvNATSURL)); err != nil {
			log.Print(err)
		}
	}
}
