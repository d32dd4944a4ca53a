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

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/natspeers"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startServer(t *testing.T, port int) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { stop(srv) })
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	return srv
}

func stop(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

func connect(t *testing.T, srv *server.Server) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(srv.ClientURL(), nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func subjects(t *testing.T) wire.Subjects {
	t.Helper()
	s, err := wire.NewSubjects("test")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// party is a worker with its own connection.
type party struct {
	*natspeers.Peers
	nc  *nats.Conn
	log *logBuffer
}

func join(t *testing.T, srv *server.Server, worker string) party {
	t.Helper()
	nc, log := connect(t, srv), &logBuffer{}
	peers, err := natspeers.New(nc, subjects(t), worker, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(peers.Close)
	flush(t, nc)
	return party{peers, nc, log}
}

// flush waits until the server has taken all that was sent.
func flush(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if err := nc.FlushTimeout(10 * time.Second); err != nil {
		t.Fatal(err)
	}
}

func (p party) next(t *testing.T) election.Event {
	t.Helper()
	select {
	case event := <-p.Events():
		return event
	case <-time.After(10 * time.Second):
		t.Fatal("no event comes")
		return nil
	}
}

func (p party) mustHear(t *testing.T, want election.Event) {
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
	srv := startServer(t, -1)
	a, b := join(t, srv, "worker-a"), join(t, srv, "worker-b")
	beacon := wire.Beacon{Epoch: 7, Worker: "worker-a", LeaseID: "x", Workers: 2, Next: time.Second}
	if err := a.nc.Publish(subjects(t).Beacon(), wire.Encode(beacon)); err != nil {
		t.Fatal(err)
	}
	a.mustHear(t, election.BeaconHeard{Beacon: beacon})
	b.mustHear(t, election.BeaconHeard{Beacon: beacon})

	b.SendSuspicion(7)
	a.mustHear(t, election.SuspicionHeard{Suspect: wire.Suspect{Epoch: 7, Worker: "worker-b"}})
	b.SendSuspicion(0)
	a.mustHear(t, election.SuspicionHeard{Suspect: wire.Suspect{Epoch: 0, Worker: "worker-b"}})
}

func TestPing(t *testing.T) {
	srv := startServer(t, -1)
	a, b := join(t, srv, "worker-a"), join(t, srv, "worker-b")
	if err := b.Ping(bounded(t), 7); !errors.Is(err, election.ErrNoResponders) {
		t.Fatalf("nobody leads: got error %v, want ErrNoResponders", err)
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
	flush(t, a.nc)
	if err := b.Ping(bounded(t), 7); err != nil {
		t.Fatalf("the leader answers: %v", err)
	}
	for _, wrong := range [][]byte{wire.Encode(wire.Pong{Epoch: 6, Worker: "worker-a"}), []byte("garbage"), {}} {
		mu.Lock()
		answer = wrong
		mu.Unlock()
		if err := b.Ping(bounded(t), 7); err == nil || errors.Is(err, election.ErrNoResponders) {
			t.Errorf("the answer is %q: got error %v", wrong, err)
		}
	}
	mu.Lock()
	answer = nil
	mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Ping(ctx, 7); err == nil || errors.Is(err, election.ErrNoResponders) {
		t.Errorf("the leader is silent: got error %v", err)
	}
	if err := subscription.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	flush(t, a.nc)
	if err := b.Ping(bounded(t), 7); !errors.Is(err, election.ErrNoResponders) {
		t.Fatalf("the leader is gone: got error %v, want ErrNoResponders", err)
	}
}

// The leader's process dies while a ping is under way: that request is never
// answered, and yet the death is certain long before the ping's time is over.
func TestPingUnderWayWhenTheLeaderDies(t *testing.T) {
	srv := startServer(t, -1)
	a, b := join(t, srv, "worker-a"), join(t, srv, "worker-b")
	got := make(chan struct{}, 16) // it asks again
	if _, err := a.nc.Subscribe(subjects(t).Ping(7), func(*nats.Msg) { got <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	flush(t, a.nc)
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
	srv := startServer(t, -1)
	a, b := join(t, srv, "worker-a"), join(t, srv, "worker-b")
	offer := wire.Offer{Epoch: 7, LeaseID: "x"}
	if err := a.Offer(bounded(t), "worker-b", offer); err != nil {
		t.Fatal(err)
	}
	b.mustHear(t, election.OfferReceived{Offer: offer})
	if err := a.Offer(bounded(t), "worker-c", offer); !errors.Is(err, election.ErrNoResponders) {
		t.Errorf("offering to nobody: got error %v, want ErrNoResponders", err)
	}
	if err := a.Offer(bounded(t), "worker.>", offer); err == nil {
		t.Error("offering to an impossible worker: got no error")
	}
	b.Close()
	flush(t, b.nc)
	if err := a.Offer(bounded(t), "worker-b", offer); !errors.Is(err, election.ErrNoResponders) {
		t.Errorf("offering to one that left: got error %v, want ErrNoResponders", err)
	}
	rejoined, err := natspeers.New(b.nc, subjects(t), "worker-b", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	rejoined.Close()
}

func TestRefusals(t *testing.T) {
	srv := startServer(t, -1)
	a := join(t, srv, "worker-a")
	nc, s := connect(t, srv), subjects(t)
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
		{"beacon of nobody", s.Beacon(), wire.Encode(wire.Beacon{Epoch: 1, LeaseID: "x", Worker: "a.b"}), "no worker"},
		{"beacon without lease", s.Beacon(), wire.Encode(wire.Beacon{Epoch: 1, Worker: "worker-b"}), "no lease ID"},
		{"garbage suspicion", s.Suspect(), []byte{1, 0xff}, "malformed"},
		{"suspicion of nobody", s.Suspect(), wire.Encode(wire.Suspect{Epoch: 1}), "no worker"},
		{"garbage offer", s.Offer("worker-a"), bytes.Repeat([]byte{1}, 100_000), "malformed"},
		{"offer without epoch", s.Offer("worker-a"), wire.Encode(wire.Offer{LeaseID: "x"}), "no epoch"},
		{"offer without lease", s.Offer("worker-a"), wire.Encode(wire.Offer{Epoch: 1}), "no lease ID"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a.log.reset()
			if err := nc.Publish(c.subject, c.data); err != nil {
				t.Fatal(err)
			}
			// What comes after it is heard, and nothing before.
			flush(t, nc)
			if err := nc.Publish(s.Beacon(), next); err != nil {
				t.Fatal(err)
			}
			if beacon, ok := a.next(t).(election.BeaconHeard); !ok || beacon.Worker != "worker-b" {
				t.Fatalf("heard %#v", beacon)
			}
			if log := a.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, c.logged) {
				t.Errorf("the log is %q, want one line with %q", log, c.logged)
			}
		})
	}
}

func TestLink(t *testing.T) {
	srv := startServer(t, -1)
	port := srv.Addr().(*net.TCPAddr).Port
	a := join(t, srv, "worker-a")
	stop(srv)
	a.mustHear(t, election.Disconnected{})
	again := startServer(t, port)
	a.mustHear(t, election.Reconnected{})

	// It is subscribed again.
	b := join(t, again, "worker-b")
	flush(t, a.nc)
	b.SendSuspicion(3)
	a.mustHear(t, election.SuspicionHeard{Suspect: wire.Suspect{Epoch: 3, Worker: "worker-b"}})
	a.nc.Close()
	a.mustHear(t, election.Disconnected{})
}

func TestCloseWhileNobodyReads(t *testing.T) {
	srv := startServer(t, -1)
	nc := connect(t, srv)
	peers, err := natspeers.New(nc, subjects(t), "worker-a", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		peers.SendSuspicion(1)
	}
	flush(t, nc)
	peers.Close() // and does not hang, or leak
}

func TestNewRefusesImpossibleWorker(t *testing.T) {
	if _, err := natspeers.New(connect(t, startServer(t, -1)), subjects(t), "a.b", slog.New(slog.DiscardHandler)); err == nil {
		t.Fatal("got no error")
	}
}

// logBuffer is a log that several goroutines may write.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}
