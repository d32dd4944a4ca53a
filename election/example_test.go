package election_test

import (
	"context"
	"fmt"
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
			case <-turn.C:
				fmt.Println("working")
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
