package bench_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// ExampleOverhead measures a cluster with a NATS server in this process and workers that are
// processes of the program bellwether. For [bench.Failover], the workers are processes of
// "bellwether bench worker --traces DIR", or of another program whose definitions are
// [bench.Traced].
func ExampleOverhead() {
	dir, err := os.MkdirTemp("", "bellwether-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := natsserver.Start(natsserver.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Shutdown()

	const name, workers = "example", 2
	processes := procs.New(procs.Config{
		Program: "bellwether", Args: []string{"worker", "--slots=1", "--with-parent"},
		Env: []string{"BELLWETHER_NATS_URL=" + server.URL(), "BELLWETHER_CLUSTER=" + name},
	})
	defer processes.Stop(10*time.Second, nil)
	for range workers {
		if _, err := processes.Start(); err != nil {
			log.Fatal(err)
		}
	}

	ctx := context.Background()
	c, err := client.Connect(ctx, client.Config{Cluster: cluster.Config{Name: name, NATS: cluster.NATS{URL: server.URL()}}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	report, err := bench.Overhead(ctx, bench.OverheadConfig{
		Cluster: c,
		Flock:   processes, Workers: workers,
		Partitions: []uint64{1e4, 1e6}, Work: 5 * time.Second, Rounds: 3,
	})
	if err != nil {
		log.Fatal(err)
	}
	report.Table(os.Stdout)
}

// ExampleScale measures the cost of leading with a leader in this process. The command "bellwether
// bench scale" runs the leader in a separate process.
func ExampleScale() {
	dir, err := os.MkdirTemp("", "bellwether-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := natsserver.Start(natsserver.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Shutdown()

	startLeader := func(cluster string) (stop func(), err error) {
		ctx, cancel := context.WithCancel(context.Background())
		var leading sync.WaitGroup
		leading.Go(func() {
			if err := bench.Lead(ctx, server.URL(), cluster, slog.New(slog.DiscardHandler)); err != nil {
				log.Fatal(err)
			}
		})
		return func() { cancel(); leading.Wait() }, nil
	}
	report, err := bench.Scale(context.Background(), bench.ScaleConfig{
		URL: server.URL(), StartLeader: startLeader,
		Workers: []int{1, 20}, FixedPartitions: 1e5, Slots: 2, Lasts: time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	few, many := report.ByWorkers[0], report.ByWorkers[1]
	fmt.Println("more workers, more messages:", few.Messages < many.Messages)
	// Output: more workers, more messages: true
}
