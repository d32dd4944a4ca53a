package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// ended returns a channel that delivers at most one message, when a leader announces that the job
// has ended. The caller should then read the job at once. The message proves nothing, because it may
// come from a process that is no leader. Only one message is delivered, so false messages cause at
// most one additional read. The channel may deliver nothing, because the message may be lost, older
// leaders do not announce ends, and the user may not be permitted to subscribe. The caller must call
// stop.
func (c *Client) ended(id string) (ended <-chan *nats.Msg, stop func()) {
	if c.unheard.Load() || !store.ValidID(id) {
		return nil, func() {}
	}
	one := make(chan *nats.Msg, 1)
	sub, err := c.nc.ChanSubscribe(c.subjects.Ended(id), one)
	if err != nil { // the connection is closed, which the next request reports
		return nil, func() {}
	}
	_ = sub.AutoUnsubscribe(1) // AutoUnsubscribe and Unsubscribe fail only if the connection is closed
	return one, func() { _ = sub.Unsubscribe() }
}

// await returns true when a job's end is announced, false after d, or an error when ctx is done.
func await(ctx context.Context, ended <-chan *nats.Msg, d time.Duration) (announced bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ended:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// onError handles an error of the NATS connection that belongs to no call. If the user may not
// subscribe to announcements of ends, onError stops further attempts. onError prints other errors
// as a connection without an error handler does.
func (c *Client) onError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), c.subjects.Ended("")) {
		c.unheard.Store(true)
		return
	}
	fmt.Fprintln(os.Stderr, err)
}
