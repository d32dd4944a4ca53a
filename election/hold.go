package election

import (
	"context"
	"errors"
	"sync"
)

// Announcer is an optional interface of a [Peers]. An Announcer sends beacons and answers pings
// while this process leads, so that the leading function need not do so.
type Announcer interface {
	// Announce sends beacons for the term and answers pings until ctx is done. It returns early
	// with an error if it cannot listen for pings.
	Announce(ctx context.Context, term *Term) error
}

// holdPingRate is the default of Config.PingRate in Hold. Each single follower pings at
// holdPingRate, because Hold's beacons do not contain the number of processes.
const holdPingRate = 5

// Hold waits until this process holds the lease, runs work, releases the lease and returns work's
// error. It is a distributed mutex for work that does not report beats, send beacons or answer
// pings.
//
// The function work must return when its context is done. The context of work is done if ctx is
// done or if the lease is lost. The context's deadline is the time at which the lease can no longer
// be trusted; each renewal extends the deadline. If work returns an error after the lease was lost
// ([context.Cause] wraps ErrDeposed), Hold waits for the lease again. If ctx is done before work
// has begun, Hold returns the cause of ctx.
//
// The lease is renewed as long as the process runs, even if work hangs. With cfg.Exclusive or
// without peers, work that returns before its context's deadline never overlaps with the next
// holder's work. With peers and without Exclusive, a holder that is cut off may overlap with its
// successor until its next renewal. To be safe despite an overlap, work should send term.Epoch as a
// fencing token with every write.
//
// The parameter peers may be nil (see [Run]). If peers is not nil, it must implement [Announcer],
// because otherwise the other processes would believe that this process is dead.
func Hold(ctx context.Context, lease Lease, peers Peers, cfg Config, work func(ctx context.Context, term *Term) error) error {
	if cfg.PingRate == 0 {
		cfg.PingRate = holdPingRate
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	h := &holder{peers: peers, work: work, stop: stop}
	s := shell{lease: lease, peers: peers, leadFunc: h.lead, beatless: true}
	if err := s.elect(running, cfg); err != nil {
		return err
	}
	if !h.finished {
		return context.Cause(ctx)
	}
	return h.err
}

// holder runs work in the leading function. Only one goroutine at a time runs the leading function,
// and the election ends after the last call has returned.
type holder struct {
	peers    Peers
	work     func(context.Context, *Term) error
	stop     context.CancelFunc // ends the election
	finished bool               // work must not run again
	err      error              // the error that work returned
}

func (h *holder) lead(leaseCtx context.Context, term *Term) (successor string, err error) {
	ctx, cancel := context.WithCancelCause(leaseCtx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	if a, ok := h.peers.(Announcer); ok {
		running.Go(func() {
			if err := a.Announce(ctx, term); err != nil {
				cancel(err)
			}
		})
	}
	running.Go(func() {
		select {
		case <-term.Stopping():
			cancel(context.Canceled)
		case <-ctx.Done():
		}
	})
	err = h.work(ctx, term)
	if err != nil && leaseCtx.Err() != nil {
		return "", err // the lease was lost, so this process waits for the lease again
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	h.finished, h.err = true, err
	h.stop()
	return "", nil
}
