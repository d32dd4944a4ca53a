package servers

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// NATS is a NATS server that runs in this process.
type NATS struct{ server *server.Server }

// NATSVersion is the version of the embedded server.
const NATSVersion = "NATS " + server.VERSION

// maxPending is the number of bytes that a server may buffer for a slow client. With the default of
// 64 MB the server would disconnect slow clients.
const maxPending = 4 << 30

// StartNATS runs a NATS server with JetStream. If syncAlways is true, the server syncs each message
// to disk before it acknowledges the message. Otherwise the server syncs messages within two
// minutes, which is the default.
// https://docs.nats.io/running-a-nats-service/configuration#jetstream
func StartNATS(dir string, syncAlways bool) (*NATS, error) {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT,
		JetStream: true, StoreDir: dir, SyncAlways: syncAlways,
		MaxPending: maxPending,
		NoLog:      true, NoSigs: true,
	})
	if err != nil {
		return nil, fmt.Errorf("start NATS server: %w", err)
	}
	s.Start()
	n := &NATS{s}
	if !s.ReadyForConnections(10 * time.Second) {
		n.Stop()
		return nil, errors.New("start NATS server: it is not ready in time")
	}
	return n, nil
}

// URL returns the URL for clients.
func (n *NATS) URL() string { return n.server.ClientURL() }

// Stop ends the server and waits until it has ended.
func (n *NATS) Stop() {
	n.server.Shutdown()
	n.server.WaitForShutdown()
}
