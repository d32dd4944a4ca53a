package natspeers_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/machine"
	"github.com/bellwether-compute/bellwether/election/natspeers"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startServer(t *testing.T, port int) *server.Server {
	t.Helper()
	return natstest.StartOptions(t, server.Options{Port: port})
}

func subjects(t *testing.T) wire.Subjects {
	t.Helper()
	s, err := wire.NewSubjects("test")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// party is a worker with a separate NATS connection.
type party struct {
	*natspeers.Peers
	nc  *nats.Conn
	log *logtest.Log
}

func join(t *testing.T, srv *server.Server, worker string) party { return joinWith(t, srv, worker, "") }

func joinWith(t *testing.T, srv *server.Server, worker, storage string) party {
	t.Helper()
	nc, log := natstest.Connect(t, srv.ClientURL()), &logtest.Log{}
	peers, err := natspeers.New(nc, subjects(t), worker, storage, log.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(peers.Close)
	natstest.Flush(t, nc)
	return party{peers, nc, log}
}

func (p party) next(t *testing.T) machine.Event {
	t.Helper()
	select {
	case event := <-p.Events():
		return event
	case <-time.After(10 * time.Second):
		t.Fatal("no event within 10 s")
		return nil
	}
}

func (p party) mustHear(t *testing.T, want machine.Event) {
	t.Helper()
	if got := p.next(t); got != want {
		t.Fatalf("heard %#v, want %#v", got, want)
	}
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestBeaconAndSuspicion(t *testing.T) {
	srv := startServer(t, 0)
	a, b := join(t, srv, "worker-a"), join(t, srv, "worker-b")
	beacon := wire.Beacon{Epoch: 7, Worker: "worker-a", LeaseID: "x", Workers: 2, Next: time.Second}
	if err := a.nc.Publish(subjects(t).Beacon(), wire.Encode(beacon)); err != nil {
		t.Fatal(err)
	}
	a.mustHear(t, machine.BeaconHeard{Beacon: beacon})
	b.mustHear(t, machine.BeaconHeard{Beacon: beacon})

	b.SendSuspicion(7)
	a.mustHear(t, machine.SuspicionHeard{Suspicion: wire.Suspicion{Epoch: 7, Worker: "worker-b"}})
	b.SendSuspicion(0)
	a.mustHear(t, machine.SuspicionHeard{Suspicion: wire.Suspicion{Epoch: 0, Worker: "worker-b"}})
}

func TestPing(t *testing.T) {
	srv := startServer(t, 0)
	a, b := join(t, srv, "worker-a"), join(t, srv, "worker-b")
	if err := b.Ping(bounded(t), 7); !errors.Is(err, election.ErrNoResponders) {
		t.Fatalf("without a leader: got error %v, want ErrNoResponders", err)
	}

	answer := wire.Encode(wire.Pong{Epoch: 7, Worker: "worker-a"})
	var mu sync.Mutex
	subscription, err := a.nc.Subscribe(subjects(t).Ping(7), func(msg *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if ping, err := wire.Decode[wire.Ping](msg.Data); err != nil || ping.Epoch != 7 {
			t.Errorf("ping %+v, %v", ping, err)
		}
		if answer != nil {
			_ = msg.Respond(answer)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	natstest.Flush(t, a.nc)
	if err := b.Ping(bounded(t), 7); err != nil {
		t.Fatalf("ping of a leader that answers: %v", err)
	}
	for _, wrong := range [][]byte{wire.Encode(wire.Pong{Epoch: 6, Worker: "worker-a"}), []byte("garbage"), {}} {
		mu.Lock()
		answer = wrong
		mu.Unlock()
		if err := b.Ping(bounded(t), 7); err == nil || errors.Is(err, election.ErrNoResponders) {
			t.Errorf("answer %q: got error %v", wrong, err)
		}
	}
	mu.Lock()
	answer = nil
	mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Ping(ctx, 7); err == nil || errors.Is(err, election.ErrNoResponders) {
		t.Errorf("silent leader: got error %v", err)
	}
	if err := subscription.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	natstest.Flush(t, a.nc)
	if err := b.Ping(bounded(t), 7); !errors.Is(err, election.ErrNoResponders) {
		t.Fatalf("leader without subscription: got error %v, want ErrNoResponders", err)
	}
}

// TestLeaderDiesDuringPing closes the leader's connection while a ping is in flight.
// The first request is never answered, but Ping returns long before its timeout.
func TestLeaderDiesDuringPing(t *testing.T) {
	srv := startServer(t, 0)
	a, b := join(t, srv, "worker-a"), join(t, srv, "worker-b")
	got := make(chan struct{}, 16) // Ping sends more than one request
	if _, err := a.nc.Subscribe(subjects(t).Ping(7), func(*nats.Msg) { got <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	natstest.Flush(t, a.nc)
	ctx := bounded(t)
	pinged := make(chan error, 1)
	go func() { pinged <- b.Ping(ctx, 7) }()
	<-got
	a.nc.Close()
	if err := <-pinged; !errors.Is(err, election.ErrNoResponders) {
		t.Errorf("got error %v, want ErrNoResponders", err)
	}
}

func TestOffer(t *testing.T) {
	srv := startServer(t, 0)
	a, b := join(t, srv, "worker-a"), join(t, srv, "worker-b")
	offer := wire.Offer{Epoch: 7, LeaseID: "x"}
	if err := a.Offer(bounded(t), "worker-b", offer); err != nil {
		t.Fatal(err)
	}
	b.mustHear(t, machine.OfferReceived{Offer: offer})
	if err := a.Offer(bounded(t), "worker-c", offer); !errors.Is(err, election.ErrNoResponders) {
		t.Errorf("offer to an unknown worker: got error %v, want ErrNoResponders", err)
	}
	if err := a.Offer(bounded(t), "worker.>", offer); err == nil {
		t.Error("offer to an invalid worker ID: got no error")
	}
	b.Close()
	natstest.Flush(t, b.nc)
	if err := a.Offer(bounded(t), "worker-b", offer); !errors.Is(err, election.ErrNoResponders) {
		t.Errorf("offer to a worker that has closed its Peers: got error %v, want ErrNoResponders", err)
	}
	rejoined, err := natspeers.New(b.nc, subjects(t), "worker-b", "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	rejoined.Close()
}

func TestRefusals(t *testing.T) {
	srv := startServer(t, 0)
	a := join(t, srv, "worker-a")
	nc, s := natstest.Connect(t, srv.ClientURL()), subjects(t)
	next := wire.Encode(wire.Beacon{Epoch: 1, Worker: "worker-b", LeaseID: "x"})
	unknown := append([]byte{99}, next[1:]...)
	for _, c := range []struct {
		name, subject string
		data          []byte
		logged        string
	}{
		{"empty", s.Beacon(), nil, "empty"},
		{"garbage beacon", s.Beacon(), []byte("\x01garbage"), "malformed"},
		{"unknown version", s.Beacon(), unknown, "unknown version"},
		{"beacon without epoch", s.Beacon(), wire.Encode(wire.Beacon{Worker: "worker-b", LeaseID: "x"}), "no epoch"},
		{"beacon of an absurd epoch", s.Beacon(), wire.Encode(wire.Beacon{Epoch: 1<<64 - 1, Worker: "worker-b", LeaseID: "x"}), "no epoch"},
		{"beacon without worker", s.Beacon(), wire.Encode(wire.Beacon{Epoch: 1, LeaseID: "x", Worker: "a.b"}), "no valid worker ID"},
		{"beacon without lease", s.Beacon(), wire.Encode(wire.Beacon{Epoch: 1, Worker: "worker-b"}), "no lease ID"},
		{"garbage suspicion", s.Suspicion(), []byte{1, 0xff}, "malformed"},
		{"suspicion without worker", s.Suspicion(), wire.Encode(wire.Suspicion{Epoch: 1}), "no valid worker ID"},
		{"garbage offer", s.Offer("worker-a"), bytes.Repeat([]byte{1}, 100_000), "malformed"},
		{"offer without epoch", s.Offer("worker-a"), wire.Encode(wire.Offer{LeaseID: "x"}), "no epoch"},
		{"offer without lease", s.Offer("worker-a"), wire.Encode(wire.Offer{Epoch: 1}), "no lease ID"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a.log.Reset()
			if err := nc.Publish(c.subject, c.data); err != nil {
				t.Fatal(err)
			}
			// Only the next message is reported.
			natstest.Flush(t, nc)
			if err := nc.Publish(s.Beacon(), next); err != nil {
				t.Fatal(err)
			}
			if beacon, ok := a.next(t).(machine.BeaconHeard); !ok || beacon.Worker != "worker-b" {
				t.Fatalf("heard %#v", beacon)
			}
			if log := a.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, c.logged) {
				t.Errorf("the log is %q, want one line with %q", log, c.logged)
			}
		})
	}
}

func TestConnectionLost(t *testing.T) {
	srv := startServer(t, 0)
	port := srv.Addr().(*net.TCPAddr).Port
	a := join(t, srv, "worker-a")
	natstest.Stop(srv)
	a.mustHear(t, machine.Disconnected{})
	again := startServer(t, port)
	a.mustHear(t, machine.Reconnected{})

	// The subscriptions work after the reconnect.
	b := join(t, again, "worker-b")
	natstest.Flush(t, a.nc)
	b.SendSuspicion(3)
	a.mustHear(t, machine.SuspicionHeard{Suspicion: wire.Suspicion{Epoch: 3, Worker: "worker-b"}})
	a.nc.Close()
	a.mustHear(t, machine.Disconnected{})
}

func TestCloseWithUnreadEvents(t *testing.T) {
	srv := startServer(t, 0)
	nc := natstest.Connect(t, srv.ClientURL())
	peers, err := natspeers.New(nc, subjects(t), "worker-a", "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		peers.SendSuspicion(1)
	}
	natstest.Flush(t, nc)
	peers.Close() // Close must neither hang nor leak goroutines
}

func TestNewRefusesInvalidWorker(t *testing.T) {
	if _, err := natspeers.New(natstest.Connect(t, startServer(t, 0).ClientURL()), subjects(t), "a.b", "", slog.New(slog.DiscardHandler)); err == nil {
		t.Fatal("got no error")
	}
}

// TestAnnounce runs a leader that answers pings and sends beacons until its term ends.
func TestAnnounce(t *testing.T) {
	srv := startServer(t, 0)
	a, b := join(t, srv, "worker-a"), join(t, srv, "worker-b")
	ctx, cancel := context.WithCancel(t.Context())
	announced := make(chan error, 1)
	term := election.NewTerm(election.Term{Record: election.Record{Epoch: 7, LeaseID: "x"}}, election.TermControl{})
	go func() { announced <- a.Announce(ctx, term) }()
	beacon := machine.BeaconHeard{Beacon: wire.Beacon{Epoch: 7, Worker: "worker-a", LeaseID: "x", Next: time.Second}}
	b.mustHear(t, beacon)
	b.mustHear(t, beacon)
	if err := b.Ping(bounded(t), 7); err != nil {
		t.Errorf("ping: %v", err)
	}
	cancel()
	if err := <-announced; err != nil {
		t.Error(err)
	}
	if err := b.Ping(bounded(t), 7); !errors.Is(err, election.ErrNoResponders) {
		t.Errorf("ping after the term: got %v, want ErrNoResponders", err)
	}
	a.nc.Close()
	if err := a.Announce(t.Context(), term); err == nil {
		t.Error("announced on a closed connection")
	}
}

// TestOtherStorage runs two leaders of one epoch on two storages: each answers only its own
// follower, even if the other leader is dead.
func TestOtherStorage(t *testing.T) {
	srv := startServer(t, 0)
	a, b := joinWith(t, srv, "worker-a", "aa"), joinWith(t, srv, "worker-b", "bb")
	followers := map[string]party{"aa": joinWith(t, srv, "worker-c", "aa"), "bb": joinWith(t, srv, "worker-d", "bb"), "": join(t, srv, "worker-e")}
	term := election.NewTerm(election.Term{Record: election.Record{Epoch: 7, LeaseID: "x"}}, election.TermControl{})
	announce := func(p party, storage string) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		announced := make(chan error, 1)
		go func() { announced <- p.Announce(ctx, term) }()
		for {
			if heard, ok := followers[""].next(t).(machine.BeaconHeard); ok && heard.Storage == storage {
				return func() {
					cancel()
					if err := <-announced; err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
	stopA, stopB := announce(a, "aa"), announce(b, "bb")
	for storage, follower := range followers {
		if err := follower.Ping(bounded(t), 7); err != nil {
			t.Errorf("ping from storage %q: %v", storage, err)
		}
	}
	stopA()
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := followers["aa"].Ping(short, 7); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ping of a leader that ended, while another storage's leader has its epoch: got %v, want no answer", err)
	}
	stopB()
	if err := followers["aa"].Ping(bounded(t), 7); !errors.Is(err, election.ErrNoResponders) {
		t.Errorf("ping after both terms: got %v, want ErrNoResponders", err)
	}
}
