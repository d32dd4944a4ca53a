// Package natstest starts NATS servers for tests and connects to them. Package natstest is only for
// Bellwether's own tests.
package natstest

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
)

// startTimeout bounds the start of a server on a machine that is busy with other tests.
const startTimeout = time.Minute

// Start starts the NATS server that Bellwether embeds and stops it when the test ends. If Dir is
// empty, the server uses a temporary directory.
func Start(t testing.TB, cfg natsserver.Config) *natsserver.Server {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	s, err := natsserver.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

// StartOptions starts a plain NATS server on 127.0.0.1 and stops it when the test ends. Port 0
// means any free port. If JetStream is enabled and StoreDir is empty, the server uses a temporary
// directory.
func StartOptions(t testing.TB, options server.Options) *server.Server {
	t.Helper()
	options.Host, options.NoLog, options.NoSigs = "127.0.0.1", true, true
	if options.Port == 0 {
		options.Port = server.RANDOM_PORT
	}
	if options.JetStream && options.StoreDir == "" {
		options.StoreDir = t.TempDir()
	}
	s, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { Stop(s) })
	if !s.ReadyForConnections(startTimeout) {
		t.Fatalf("NATS server is not ready after %v", startTimeout)
	}
	return s
}

// Stop stops a NATS server and returns when it has stopped. It may be called twice.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// Port returns the port in a server's URL.
func Port(t testing.TB, url string) (port int) {
	t.Helper()
	if _, err := fmt.Sscanf(url, "nats://127.0.0.1:%d", &port); err != nil {
		t.Fatalf("read port of %s: %v", url, err)
	}
	return port
}

// Connect connects to a server, reconnects within 20 ms after the connection is lost, and closes
// the connection when the test ends.
func Connect(t testing.TB, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, append([]nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.Timeout(time.Minute), // a busy machine needs more than the default of 2 s
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(nc) })
	return nc
}

// Close closes a connection and returns when the connection's goroutines have ended. It may be
// called twice.
func Close(nc *nats.Conn) {
	closed := nc.StatusChanged(nats.CLOSED)
	if !nc.IsClosed() {
		nc.Close()
		<-closed
	}
}

// Flush waits until the server has processed all messages that the connection has
// sent.
func Flush(t testing.TB, nc *nats.Conn) {
	t.Helper()
	if err := nc.FlushTimeout(startTimeout); err != nil {
		t.Fatal(err)
	}
}
