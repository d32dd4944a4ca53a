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
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream/embedded"
)

// What leading costs, with the leader in this process as well. The command has it in
// a process of its own.
func ExampleScale() {
	dir, err := os.MkdirTemp("", "bellwether-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := embedded.Start(embedded.Config{Dir: dir})
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
