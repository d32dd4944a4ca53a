package page

import (
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	headerTimeout = 5 * time.Second  // time in which a request's header must arrive
	bodyTimeout   = 10 * time.Second // time in which a whole request must arrive
	sendTimeout   = time.Minute      // time from a request's header to the end of the answer; event streams extend it
	idleTimeout   = 30 * time.Second // time for which a connection stays open without a request
	// maxConnections bounds the file descriptors that HTTP takes from the jobs. It allows several
	// connections for each of maxViewers viewers.
	maxConnections = 4 * maxViewers
)

// newServer returns an HTTP server for the page, or for a handler of which the page is a part. The
// server bounds the time of each request and the number of open connections: a new connection above
// the limit replaces the connection that has waited longest for a request.
func newServer(handler http.Handler) *http.Server {
	c := connections{waiting: map[net.Conn]time.Time{}, open: map[net.Conn]bool{}}
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Body == http.NoBody { // the deadline would end an event stream
				_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // an error means that the connection has ended
			}
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: sendTimeout, IdleTimeout: idleTimeout,
		ConnState: c.changed,
	}
}

// connections are the open connections of a server.
type connections struct {
	mu      sync.Mutex
	open    map[net.Conn]bool
	waiting map[net.Conn]time.Time // time since which a connection without a request waits
}

// changed notes the state of a connection, and closes one if there are too many.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, conn)
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn], c.waiting[conn] = true, time.Now()
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
	if len(c.open) <= maxConnections {
		return
	}
	oldest := conn
	for other, since := range c.waiting {
		if since.Before(c.waiting[oldest]) {
			oldest = other
		}
	}
	delete(c.open, oldest)
	delete(c.waiting, oldest)
	_ = oldest.Close() // an error means that the connection is closed already
}
