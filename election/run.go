package election

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Run takes part in elections until ctx is done: it follows whoever leads, takes
// over when nobody does, and leads, again and again. When ctx is done while this
// process leads, the leading function is asked to stop (see [Term.Stopping]) and
// leads until it returns; the lease is then handed over or released. Run returns
// an error only for a cfg that does not hold together.
//
// It reads the peers' events at all times but during a bounded call to the lease
// or to a peer.
func Run(ctx context.Context, lease Lease, peers Peers, cfg Config, lead LeadFunc) error {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return err
	}
	e := &elector{
		cfg:    cfg,
		lease:  lease,
		peers:  peers,
		lead:   lead,
		log:    cfg.Logger,
		linked: true,
	}
	for ctx.Err() == nil {
		if c := e.follow(ctx); c != nil {
			e.stand(ctx, c)
		}
	}
	return nil
}

// elector is one process's part in elections. One goroutine owns it.
type elector struct {
	cfg   Config
	lease Lease
	peers Peers
	lead  LeadFunc
	log   *slog.Logger

	leader leader
	known  bool        // leader leads as far as one knows
	offer  *wire.Offer // received and not taken up
	others bool        // another process is about to read the record

	linked     bool
	stableFrom time.Time // what was not heard before this instant is no evidence

	aside    time.Time // until when leading is left to others
	held     int       // times in a row that a claim was refused though nobody was heard to lead
	refused  string    // the lease ID of the leader that the last of those claims was to replace
	failures int       // times in a row that storage could not be reached
	failed   int       // times in a row that this process's leading function returned an error
	troubled bool      // storage failed when last called, and that was logged
}

// rest waits until an instant and reports true, or until something is heard that
// changes what to do, or ctx is done.
func (e *elector) rest(ctx context.Context, until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case event := <-e.peers.Events():
			if e.observe(event) {
				return false
			}
		case <-timer.C:
			return true
		}
	}
}

// catchUp takes in what was heard during a call.
func (e *elector) catchUp() {
	for {
		select {
		case event := <-e.peers.Events():
			e.observe(event)
		default:
			return
		}
	}
}

// complain logs trouble with storage when it begins; what follows is detail.
func (e *elector) complain(doing string, err error) {
	level := slog.LevelWarn
	if e.troubled {
		level = slog.LevelDebug
	}
	e.troubled = true
	e.log.Log(context.Background(), level, "Trouble with the lease's storage", "doing", doing, "error", err)
}

// recovered logs that the trouble is over, if there was any.
func (e *elector) recovered() {
	if e.troubled {
		e.troubled = false
		e.log.Info("The lease's storage answers again")
	}
}

// call bounds a call to the lease. What ends it early is its own context alone:
// a claim or a release that was begun is seen through.
func (e *elector) call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.CallTimeout)
	defer cancel()
	err := do(ctx)
	if err == nil || errors.Is(err, ErrHeld) || errors.Is(err, ErrLost) {
		e.recovered()
	}
	return err
}
