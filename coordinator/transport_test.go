package coordinator

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
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
