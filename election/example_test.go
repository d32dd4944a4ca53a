package election_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/memlease"
)

// A leading loop reports beats, and stops in an orderly way when its process is told to stop.
func ExampleRun() {
	storage := memlease.New(15 * time.Second)
	ctx, stop := context.WithCancel(context.Background())
	lead := func(ctx context.Context, term *election.Term) (successor string, err error) {
		fmt.Printf("leading epoch %d, cause: %s\n", term.Epoch, term.Cause)
		stop() // stop has the same effect as a signal
		turn := time.NewTicker(100 * time.Millisecond)
		defer turn.Stop()
		for {
			term.Beat()
			select {
			case <-ctx.Done():
				return "", context.Cause(ctx)
			case <-term.Stopping():
				fmt.Println("taking the last checkpoint")
				return "", nil
			case <-turn.C: // the next piece of work
			}
		}
	}
	err := election.Run(ctx, storage.Open(nil), nil, election.Config{ID: "worker-1"}, lead)
	fmt.Println("error:", err, "held:", storage.Record().Held)
	// Output:
	// leading epoch 1, cause: first
	// taking the last checkpoint
	// error: <nil> held: false
}

// Three processes want to print the same report. Only one process at a time holds the lease, and
// each holder has a higher epoch than the holder before. A program opens a real lease by
// leases.OpenNamed, or by a driver such as kvlease.
func ExampleHold() {
	storage := memlease.New(time.Second)
	report := func(ctx context.Context, term *election.Term) error {
		fmt.Println("printing the report with fencing token", term.Epoch)
		return ctx.Err() // the error is not nil if the lease was lost
	}
	var processes sync.WaitGroup
	for _, id := range []string{"host-1", "host-2", "host-3"} {
		processes.Go(func() {
			cfg := election.Config{ID: id, Duration: time.Second}
			if err := election.Hold(context.Background(), storage.Open(nil), nil, cfg, report); err != nil {
				fmt.Println(err)
			}
		})
	}
	processes.Wait()
	fmt.Println("held:", storage.Record().Held)
	// Output:
	// printing the report with fencing token 1
	// printing the report with fencing token 2
	// printing the report with fencing token 3
	// held: false
}
