package page

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// oneConn is a listener with one connection.
type oneConn struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, io.EOF
	}
}
func (l oneConn) Close() error   { return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowViewer opens a stream and reads nothing, so the stream ends after the write timeout.
func TestSlowViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Config{Cluster: cluster.Config{NATS: cluster.NATS{URL: "nats://127.0.0.1:1"}}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		l := oneConn{make(chan net.Conn, 1), make(chan struct{})}
		viewer, conn := net.Pipe()
		defer viewer.Close()
		l.conns <- conn
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = (&http.Server{Handler: p.Handler()}).Serve(l) // Serve returns when the listener is closed
		}()
		if _, err := io.WriteString(viewer, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for len(p.viewers) == 0 && time.Since(began) < time.Minute {
			time.Sleep(time.Millisecond)
		}
		began = time.Now()
		for len(p.viewers) > 0 && time.Since(began) < time.Minute {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(began); took > 2*writeTimeout || took < writeTimeout/2 {
			t.Errorf("the viewer was dropped after %v, want about %v", took, writeTimeout)
		}
		close(l.done)
		<-ended
	})
}
