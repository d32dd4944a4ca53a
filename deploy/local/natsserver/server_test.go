package natsserver_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStartAndShutdown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on", "the", "way")
	for range 2 { // Shutdown releases the directory
		server, err := natsserver.Start(natsserver.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan struct{})
		nc, err := nats.Connect(server.URL(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
		if err != nil {
			t.Fatal(err)
		}
		if host, _, err := net.SplitHostPort(nc.ConnectedAddr()); err != nil || host != "127.0.0.1" {
			t.Errorf("connected to %s, %v", nc.ConnectedAddr(), err)
		}
		nc.Close()
		<-closed
		server.Shutdown()
		server.Shutdown()
	}
}

func TestDirectoryInUse(t *testing.T) {
	dir := t.TempDir()
	server, err := natsserver.Start(natsserver.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	if second, err := natsserver.Start(natsserver.Config{Dir: dir}); !errors.Is(err, natsserver.ErrInUse) {
		if err == nil {
			second.Shutdown()
		}
		t.Errorf("second server: %v, want ErrInUse", err)
	}
}

func TestPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dir := t.TempDir()
	port := listener.Addr().(*net.TCPAddr).Port
	if server, err := natsserver.Start(natsserver.Config{Dir: dir, Port: port}); err == nil {
		server.Shutdown()
		t.Errorf("started on port %d, which is in use", port)
	} else {
		t.Log(err)
	}
	server, err := natsserver.Start(natsserver.Config{Dir: dir}) // the failed start has released the directory
	if err != nil {
		t.Fatal(err)
	}
	server.Shutdown()
}

func TestBadConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []natsserver.Config{
		{},
		{Dir: file},
		{Dir: t.TempDir(), Port: -2},
		{Dir: t.TempDir(), Port: 65536},
		{Dir: t.TempDir(), MaxStore: -1},
	} {
		if server, err := natsserver.Start(cfg); err == nil {
			server.Shutdown()
			t.Errorf("started with %s", fmt.Sprint(cfg))
		}
	}
}
