package worker_test

import (
	"context"
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

// A worker joins the cluster that the environment names. The code of jobs may use what Grant names;
// this worker lets jobs read the files in one folder. A program that is only a worker ends ctx on a
// signal (see [signal.NotifyContext]).
func Example() {
	where, err := cluster.FromEnv() // BELLWETHER_CLUSTER, BELLWETHER_NATS_URL and so on
	if err != nil {
		log.Fatal(err)
	}
	server, stopServer := startNATS() // a real program uses the NATS server of its cluster
	defer stopServer()
	where.NATS.URL = server
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	err = worker.Run(ctx, worker.Config{
		Cluster: where,
		Jobs:    []jobs.Job{jobs.MustNew(primes.Definition)},
		Grant:   jobs.Grant{Files: []string{"/data"}},
		Logger:  slog.New(slog.DiscardHandler),
	})
	fmt.Println("stopped:", err)
	// Output: stopped: <nil>
}

// startNATS starts a NATS server, which runs until stop is called.
func startNATS() (url string, stop func()) {
	dir, err := os.MkdirTemp("", "worker-example-")
	if err != nil {
		log.Fatal(err)
	}
	server, err := natsserver.Start(natsserver.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	return server.URL(), func() {
		server.Shutdown()
		if err := os.RemoveAll(dir); err != nil {
			log.Print(err)
		}
	}
}
