package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// maxIdle is the maximum time for which a server may send no byte of a response that has begun. The
// drivers limit the time until a response begins.
const maxIdle = 30 * time.Second

var errIdle = errors.New("the server has stopped sending")

// request requests the bytes [from, to) of an object. If the server stops sending, the returned
// stream fails with ErrUnavailable.
func (r reader) request(ctx context.Context, o source.Object, from, to int64) (io.ReadCloser, error) {
	bound, cancel := context.WithCancelCause(ctx)
	body, err := r.source.Read(bound, o, from, to)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	timer := time.AfterFunc(r.idle, func() { cancel(errIdle) })
	timer.Stop()
	return &limited{body, o.Name, bound, cancel, timer, r.idle}, nil
}

// limited is the body of a response. A call of Read that gets no byte within the time limit fails.
type limited struct {
	io.ReadCloser
	name   string
	ctx    context.Context // context of the request
	cancel context.CancelCauseFunc
	timer  *time.Timer // cancels ctx with the cause errIdle
	limit  time.Duration
}

func (l *limited) Read(p []byte) (int, error) {
	l.timer.Reset(l.limit)
	n, err := l.ReadCloser.Read(p)
	l.timer.Stop()
	if err != nil && errors.Is(context.Cause(l.ctx), errIdle) {
		err = fmt.Errorf("read %s: %w: %w: no byte arrived within %v", l.name, source.ErrUnavailable, errIdle, l.limit)
	}
	return n, err
}

func (l *limited) Close() error {
	l.timer.Stop()
	defer l.cancel(nil)
	return l.ReadCloser.Close()
}
