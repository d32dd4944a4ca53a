package election

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Announcer is a Peers that can send beacons and answer pings for a leader whose
// leading function does not.
type Announcer interface {
	// Announce sends beacons for the term and answers pings until ctx is done. It
	// returns early with an error if it cannot listen for pings.
	Announce(ctx context.Context, term *Term) error
}

// holdPingRate is the default PingRate of Hold, where each follower pings at this
// rate: the beacons of Hold do not say how many processes there are.
const holdPingRate = 5

// Hold waits until this process holds the lease, runs work, releases the lease and
// returns work's error. It is a distributed mutex: use it if there is no leading
// loop that would report beats, send beacons and answer pings.
//
// Work's context is done if ctx is done or if the lease is lost, and its deadline is
// the instant at which the lease can no longer be trusted; each renewal extends it.
// Work must then return. If work returns an error after the lease was lost
// ([context.Cause] wraps ErrDeposed), Hold waits for the lease again. If ctx is done
// before work has begun, Hold returns the cause of ctx.
//
// The lease is renewed as long as the process runs, even if work hangs. With
// cfg.Exclusive or without peers, a process that returns from work in time never
// overlaps with the next holder. Otherwise a holder that is cut off from its peers
// may overlap with its successor until its next renewal: pass term.Epoch to
// whatever work writes to, as a fencing token.
//
// Peers may be nil, see [Run]. If peers is not nil, it must implement [Announcer]:
// otherwise the other processes would believe that this process is dead.
func Hold(ctx context.Context, lease Lease, peers Peers, cfg Config, work func(ctx context.Context, term *Term) error) error {
	if cfg.PingRate == 0 {
		cfg.PingRate = holdPingRate
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	h := &holder{peers: peers, beatEvery: cfg.withDefaults().RenewEvery / 10, work: work, stop: stop}
	if err := Run(running, lease, peers, cfg, h.lead); err != nil {
		return err
	}
	if !h.finished {
		return context.Cause(ctx)
	}
	return h.err
}

// holder leads by running work. The leading function runs in one goroutine at a
// time, and Run returns after the last.
type holder struct {
	peers     Peers
	beatEvery time.Duration
	work      func(context.Context, *Term) error
	stop      context.CancelFunc // ends Run
	finished  bool               // work is not to be run again
	err       error              // the error that work returned
}

func (h *holder) lead(leaseCtx context.Context, term *Term) (successor string, err error) {
	ctx, cancel := context.WithCancelCause(leaseCtx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	running.Go(func() { beatUntilDone(ctx, term, h.beatEvery) })
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
		return "", err // the lease was lost: wait for it again
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	h.finished, h.err = true, err
	h.stop()
	return "", nil
}

func beatUntilDone(ctx context.Context, term *Term, every time.Duration) {
	turn := time.NewTicker(every)
	defer turn.Stop()
	for {
		term.Beat()
		select {
		case <-turn.C:
		case <-ctx.Done():
			return
		}
	}
}
