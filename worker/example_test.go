package worker_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/worker"
)

// A worker joins the cluster that the environment names and runs jobs until its context ends. The
// code of jobs may use what Grant names; this worker lets jobs read the files in one folder. A
// program that is only a worker ends ctx on a signal (see [signal.NotifyContext]).
func ExampleRun() {
	where, err := cluster.FromEnv() // BELLWETHER_CLUSTER, BELLWETHER_NATS_URL and so on
	if err != nil {
		log.Fatal(err)
	}
	server, stopServer := startNATS() // a real program uses the NATS server of its cluster
	defer stopServer()
	where.NATS.URL = server
	job := jobs.MustNew(primes.Definition)

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Run(ctx, worker.Config{
			Cluster: where,
			Jobs:    []jobs.Job{job},
			Grant:   jobs.Grant{Files: []string{"/data"}},
			Logger:  slog.New(slog.DiscardHandler),
		})
	}()
	fmt.Println(run(where, job, "limit=1_000_000"))
	stop()
	fmt.Println("stopped:", <-ended)
	// Output:
	// completed
	// stopped: <nil>
}

// run submits a job and waits until the job has ended.
func run(where cluster.Config, job jobs.Job, pairs ...string) client.State {
	c, err := client.Connect(context.Background(), client.Config{Cluster: where, Timeout: patience})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	id, err := c.Submit(context.Background(), job, client.SubmitOptions{Pairs: pairs})
	if err != nil {
		log.Fatal(err)
	}
	status, err := c.Wait(context.Background(), id)
	if err != nil {
		log.Fatal(err)
	}
	return status.State
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
