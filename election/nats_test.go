package election_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/kvlease"
	"github.com/bellwether-compute/bellwether/election/natspeers"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestTakeoverOverNATS runs elections on a NATS server, and closes the leader's connection to
// simulate the death of its process.
func TestTakeoverOverNATS(t *testing.T) {
	url := natstest.StartOptions(t, server.Options{JetStream: true}).ClientURL()
	led := make(chan led, 100)
	workers := make(map[string]*natsWorker)
	for i := range 4 {
		w := startNATSWorker(t, url, fmt.Sprintf("worker-%d", i), led)
		workers[w.id] = w
	}
	leader := nextLed(t, led)
	for epoch := uint64(2); epoch <= 6; epoch++ {
		for range 10 { // repeat until all followers have had an answer
			<-workers[leader.worker].answered
		}
		workers[leader.worker].nc.Close()
		workers[leader.worker].stop()
		w := startNATSWorker(t, url, fmt.Sprintf("worker-new-%d", epoch), led)
		workers[w.id] = w
		next := nextLed(t, led)
		if next.epoch != epoch || next.cause != election.Died || next.over != leader.worker {
			t.Fatalf("got %+v after %+v", next, leader)
		}
		leader = next
	}

	var successor string
	for id, w := range workers {
		if id != leader.worker && id != "worker-new-6" && w.ctx.Err() == nil { // the last worker may not listen for offers yet
			successor = id
		}
	}
	workers[leader.worker].successor <- successor
	workers[leader.worker].stop()
	next := nextLed(t, led)
	if next.cause != election.Handover || next.worker != successor {
		t.Fatalf("got %+v, want a handover to %s", next, successor)
	}
}

// led is sent when a term begins.
type led struct {
	worker, over string
	epoch        uint64
	cause        election.Cause
}

func nextLed(t *testing.T, all <-chan led) led {
	t.Helper()
	select {
	case l := <-all:
		return l
	case <-time.After(20 * time.Second):
		t.Fatal("no process leads")
		return led{}
	}
}

type natsWorker struct {
	id        string
	nc        *nats.Conn
	ctx       context.Context
	stop      func()
	successor chan string
	answered  chan struct{} // while leading, receives a value for each ping if a receiver waits
}

// startNATSWorker starts a worker whose leading function sends beacons and
// answers pings.
func startNATSWorker(t *testing.T, url, id string, leds chan<- led) *natsWorker {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := kvlease.Open(t.Context(), js, kvlease.Config{Bucket: "test_lease"})
	if err != nil {
		t.Fatal(err)
	}
	subjects, err := wire.NewSubjects("test")
	if err != nil {
		t.Fatal(err)
	}
	peers, err := natspeers.New(nc, subjects, id, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	cfg := election.Config{ID: id}
	if testing.Verbose() {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	w := &natsWorker{id: id, nc: nc, successor: make(chan string, 1), answered: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	exited := make(chan struct{})
	w.ctx = ctx
	w.stop = func() {
		cancel()
		<-exited
		peers.Close()
		nc.Close()
	}
	t.Cleanup(w.stop)
	go func() {
		defer close(exited)
		if err := election.Run(ctx, lease, peers, cfg, w.lead(subjects, leds)); err != nil {
			t.Error(err)
		}
	}()
	return w
}

func (w *natsWorker) lead(subjects wire.Subjects, leds chan<- led) election.LeadFunc {
	return func(ctx context.Context, term *election.Term) (string, error) {
		pings := make(chan *nats.Msg, 100)
		subscription, err := w.nc.ChanSubscribe(subjects.Ping(term.Epoch), pings)
		if err != nil {
			return "", err
		}
		defer func() { _ = subscription.Unsubscribe() }()
		beacon := wire.Encode(wire.Beacon{
			Epoch: term.Epoch, Worker: w.id, LeaseID: term.Record.LeaseID, Workers: 4, Next: time.Second,
		})
		leds <- led{w.id, term.Predecessor, term.Epoch, term.Cause}
		beat := time.NewTicker(100 * time.Millisecond)
		defer beat.Stop()
		for n := 0; ; {
			if n%10 == 0 {
				_ = w.nc.Publish(subjects.Beacon(), beacon) // Publish fails after the connection was closed
			}
			term.Beat()
			select {
			case <-ctx.Done():
				return "", context.Cause(ctx)
			case <-term.Stopping():
				select {
				case successor := <-w.successor:
					return successor, nil
				default:
					return "", nil
				}
			case ping := <-pings:
				_ = ping.Respond(wire.Encode(wire.Pong{Epoch: term.Epoch, Worker: w.id}))
				select {
				case w.answered <- struct{}{}:
				default:
				}
			case <-beat.C:
				n++
			}
		}
	}
}
