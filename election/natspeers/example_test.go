package natspeers_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/kvlease"
	"github.com/bellwether-compute/bellwether/election/natspeers"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// A distributed mutex: only one of the processes that run this program prints at a time. The lease
// is a key in a JetStream bucket. NATS tells the other processes at once when the lease is
// released.
func Example_mutex() {
	server, stop := startExampleServer()
	defer stop()

	nc, err := nats.Connect(server.URL())
	check(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	check(err)
	lease, err := kvlease.Open(context.Background(), js, kvlease.Config{Bucket: "locks", Key: "nightly-report"})
	check(err)
	subjects, err := wire.NewSubjects("nightly-report")
	check(err)
	peers, err := natspeers.New(nc, subjects, "host-1", "", slog.New(slog.DiscardHandler))
	check(err)
	defer peers.Close()
	cfg := election.Config{ID: "host-1", Exclusive: true}
	err = election.Hold(context.Background(), lease, peers, cfg, func(ctx context.Context, term *election.Term) error {
		fmt.Println("holding the lease, fencing token", term.Epoch)
		return ctx.Err() // the error is not nil if the lease was lost
	})
	fmt.Println("released, error:", err)
	// Output:
	// holding the lease, fencing token 1
	// released, error: <nil>
}

func startExampleServer() (server *natsserver.Server, stop func()) {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	server, err = natsserver.Start(natsserver.Config{Dir: dir})
	check(err)
	return server, func() {
		server.Shutdown()
		check(os.RemoveAll(dir))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
