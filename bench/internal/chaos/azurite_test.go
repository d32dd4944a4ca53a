//go:build unix

package chaos

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
)

// azuriteServer runs one Azurite process at a time, with proxies for the requests of workers.
type azuriteServer struct {
	cfg       azurite.Config
	server    *azurite.Server
	transport *faults.Transport // transport that injects faults into requests
	blobs     *httptest.Server
	queues    *httptest.Server
	history   *history
}

// startWithin is the longest time that Azurite may take to start. The first start includes the
// installation of Azurite by npm.
const startWithin = 5 * time.Minute

func (c *cluster) startAzurite(ctx context.Context) (err error) {
	s := &azuriteServer{history: c.history, cfg: azurite.Config{Dir: c.dir.azurite}}
	for _, port := range []*int{&s.cfg.BlobPort, &s.cfg.QueuePort, &s.cfg.TablePort} {
		if *port, err = freePort(); err != nil {
			return fmt.Errorf("find a port for Azurite: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if s.server, err = azurite.Start(ctx, s.cfg); err != nil {
		return err
	}
	c.azurite = s
	if s.transport, err = faults.New(s.server.QueueURL()); err != nil {
		return err
	}
	if s.blobs, err = newProxy(s.transport, s.server.BlobURL()); err != nil {
		return err
	}
	s.queues, err = newProxy(s.transport, s.server.QueueURL())
	return err
}

// stop stops Azurite by SIGTERM. Azurite must not be killed, because it acknowledges writes
// without syncing them.
func (s *azuriteServer) stop() {
	if err := s.server.Stop(); err != nil {
		s.history.violation("Azurite: %v", err)
	}
}

// start starts another Azurite process with the same addresses.
func (s *azuriteServer) start() {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	server, err := azurite.Start(ctx, s.cfg)
	if err != nil {
		s.history.violation("Azurite: %v", err)
		return
	}
	s.server = server
}

func (s *azuriteServer) close() {
	s.stop()
	for _, p := range []*httptest.Server{s.blobs, s.queues} {
		if p != nil {
			p.CloseClientConnections()
			p.Close()
		}
	}
	if s.transport != nil {
		s.transport.Close()
	}
}

func account(l *faults.TCPProxy) string { return "http://" + l.Address() + "/" + azurite.AccountName }

func newProxy(transport *faults.Transport, endpoint string) (*httptest.Server, error) {
	handler, err := transport.Handler(endpoint)
	if err != nil {
		return nil, err
	}
	return httptest.NewServer(handler), nil
}
