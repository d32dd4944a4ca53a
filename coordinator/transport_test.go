package coordinator

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestMessagesThatCannotBeSentAreLogged sends messages that are too large for the server.
func TestMessagesThatCannotBeSentAreLogged(t *testing.T) {
	conn := natstest.Connect(t, natstest.StartOptions(t, server.Options{MaxPayload: 1000}).ClientURL())
	var log logtest.Log
	transport := newTransport(Config{Config: term.Config{Logger: log.Logger()}, Conn: conn}, 1)
	transport.publish("nudge", "some.worker", make([]byte, 1001))
	if n := log.Count("Message cannot be sent"); n != 1 {
		t.Errorf("logged %d lines, want 1", n)
	}
	sub, err := conn.SubscribeSync("ask.jobs")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.PublishRequest("ask.jobs", "inbox", nil); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsgWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	transport.respond(m, make([]byte, 1001))
	if n := log.Count("Message cannot be sent"); n != 2 {
		t.Errorf("logged %d lines, want 2", n)
	}
}

// TestProbe probes workers whose processes are alive, dead, or without one of their connections.
func TestProbe(t *testing.T) {
	s := natstest.StartOptions(t, server.Options{})
	conn := natstest.Connect(t, s.ClientURL())
	subjects, err := wire.NewSubjects("c")
	if err != nil {
		t.Fatal(err)
	}
	transport := newTransport(Config{Config: term.Config{Logger: slog.New(slog.DiscardHandler)}, Conn: conn, Subjects: subjects}, 1)
	here := conn.ConnectedServerId()
	serve := func(subject string) *nats.Conn {
		t.Helper()
		nc := natstest.Connect(t, s.ClientURL())
		if _, err := nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond(nil) }); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		return nc
	}
	end := func(nc *nats.Conn) {
		t.Helper()
		clients := s.NumClients()
		natstest.Close(nc)
		for deadline := time.Now().Add(10 * time.Second); s.NumClients() == clients; {
			if time.Now().After(deadline) {
				t.Fatal("the server has not noticed the end of a connection")
			}
			time.Sleep(time.Millisecond)
		}
	}
	control, bulk := serve(subjects.Probe("w")), serve(subjects.Bulk("w"))
	want := func(what, server string, sign term.Sign) {
		t.Helper()
		if got := transport.Probe(t.Context(), "w", server); got != sign {
			t.Errorf("%s: got %v, want %v", what, got, sign)
		}
	}
	want("alive", here, term.Possible)
	end(control)
	want("only the control connection has ended", here, term.Absent)
	end(bulk)
	want("both connections to this server have ended", here, term.Dead)
	want("the worker was connected to another server", "other", term.Absent)
	want("the server is unknown", "", term.Absent)
	transport.reconnects++ // as after a reconnect
	want("this process has just reconnected", here, term.Possible)
}
