package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// translate turns errors of NATS into errors of package store. If the caller's context
// was cancelled, the returned error is the context's error. The parameter ctx may also be a context
// of begin.
func translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		if errors.Is(context.Cause(ctx), errLost) {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, errLost)
		}
		return ctx.Err()
	}
	switch {
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrTooLarge),
		errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt):
		return err
	case full(err):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case hasCode(err, messageExceedsMaximum):
		return fmt.Errorf("%w: %w", store.ErrTooLarge, err)
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return fmt.Errorf("%w: %w", store.ErrConflict, err)
	case unavailable(err):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// These constants are error codes of JetStream that have no names in the client library.
const (
	accountResourcesExceeded jetstream.ErrorCode = 10002
	insufficientResources    jetstream.ErrorCode = 10023
	storageResourcesExceeded jetstream.ErrorCode = 10047
	messageExceedsMaximum    jetstream.ErrorCode = 10054
	streamStoreFailed        jetstream.ErrorCode = 10077 // the error's description contains the reason
)

func hasCode(err error, codes ...jetstream.ErrorCode) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && slices.Contains(codes, api.ErrorCode)
}

// full reports whether a limit of stored bytes or messages is reached.
func full(err error) bool {
	return hasCode(err, accountResourcesExceeded, insufficientResources, storageResourcesExceeded) ||
		hasCode(err, streamStoreFailed) && strings.Contains(err.Error(), "maximum ")
}

func unavailable(err error) bool {
	for _, known := range []error{
		context.DeadlineExceeded, nats.ErrTimeout,
		nats.ErrNoResponders, jetstream.ErrNoStreamResponse, jetstream.ErrNoHeartbeat,
		nats.ErrConnectionClosed, nats.ErrConnectionDraining, nats.ErrConnectionReconnecting,
		nats.ErrDisconnected, nats.ErrNoServers, nats.ErrReconnectBufExceeded, nats.ErrStaleConnection,
		jetstream.ErrStreamNotFound, jetstream.ErrBucketNotFound, // some servers may not know a new stream yet
		jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDeleted,
		jetstream.ErrServerShutdown, jetstream.ErrConsumerLeadershipChanged,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code >= http.StatusInternalServerError
	}
	return broken(err)
}

// broken reports whether an error comes from the socket. The NATS client writes a message that is
// too large for its buffer directly to the socket. The call that sends a large message may
// therefore notice a broken socket before the client's goroutines do.
func broken(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// bounded returns ctx with the call timeout if ctx has no deadline.
func (d *Driver) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d.cfg.CallTimeout)
}

// connected waits until NATS is connected, but at most for the call timeout. Without a connection,
// a request would wait in the client's buffer, and might be sent long after its caller got an
// error.
func (d *Driver) connected(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.nc.IsConnected() {
		return nil
	}
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	changes := d.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer d.nc.RemoveStatusListener(changes)
	for !d.nc.IsConnected() {
		if d.nc.IsClosed() {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, nats.ErrConnectionClosed)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for NATS: %w", ctx.Err())
		case <-changes:
		}
	}
	return nil
}

// errLost means that the connection was lost during a call. The outcome of the call is unknown, as
// after a timeout.
var errLost = errors.New("the connection to NATS was lost")

// begin waits until NATS is connected. The returned context also ends with the cause errLost when
// the connection is lost, because no answer to an earlier request comes over the next connection.
// Without an error, the caller must call end; with an error, begin returns its own ctx.
func (d *Driver) begin(ctx context.Context) (call context.Context, end func(), err error) {
	if err := d.connected(ctx); err != nil {
		return ctx, nil, err
	}
	call, cancel := context.WithCancelCause(ctx)
	lost := d.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	if !d.nc.IsConnected() { // the connection was lost before StatusChanged
		cancel(errLost)
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-lost:
			cancel(errLost)
		case <-call.Done():
		}
	})
	return call, func() {
		cancel(nil)
		watch.Wait()
		d.nc.RemoveStatusListener(lost)
	}, nil
}

// call calls do between begin and end, and translates the error.
func (d *Driver) call(ctx context.Context, do func(context.Context) error) error {
	ctx, end, err := d.begin(ctx)
	if err == nil {
		defer end()
		err = do(ctx)
	}
	return translate(ctx, err)
}
