package bulk

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Source provides the partials that a worker serves to other workers. ReadAt fills the slice to
// with the bytes of a partial from offset on. ReadAt returns [ErrNotHeld] if the source does not
// contain the partial. Several goroutines may call it.
type Source interface {
	ReadAt(job string, node engine.Node, to []byte, offset int64) error
}

// Server serves a worker's partials.
type Server struct {
	sub    *nats.Subscription
	closed chan struct{}
	socket *socket // nil if workers on the same machine cannot connect
}

// Serve answers requests on a subject until Close is called.
func Serve(nc *nats.Conn, subject string, source Source) (*Server, error) {
	s := &Server{closed: make(chan struct{}), socket: listen(source)}
	answered := make([]byte, 0, 1+chunkSize) // one buffer is enough, because requests are answered one after the other and Respond copies the answer
	var err error
	s.sub, err = nc.Subscribe(subject, func(m *nats.Msg) {
		if len(m.Data) == 0 {
			_ = m.Respond(s.socket.offer()) // if the answer is lost, the fetcher uses NATS
			return
		}
		_ = m.Respond(answer(source, m.Data, answered)) // if the answer is lost, the fetcher repeats the request
	})
	if err != nil {
		s.socket.close()
		return nil, fmt.Errorf("serve partials on %s: %w", subject, err)
	}
	s.sub.SetClosedHandler(func(string) { close(s.closed) })
	return s, nil
}

// Close stops serving and waits until no request is being answered.
func (s *Server) Close() {
	if s.sub.Unsubscribe() == nil {
		<-s.closed
	}
	s.socket.close()
}
