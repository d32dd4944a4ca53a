package election

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// reign runs the leading function under the lease that was acquired by a call
// begun at sent, renews the lease meanwhile, and passes it on afterwards.
func (e *elector) reign(ctx context.Context, term *Term, sent time.Time) {
	now := time.Now()
	e.leader = leader{
		epoch: term.Epoch, worker: e.cfg.ID, leaseID: term.Record.LeaseID,
		workers: e.leader.workers, since: now, sign: now,
	}
	e.known, e.offer = false, nil
	e.held, e.refused = 0, ""
	e.log.Info("Leading", "epoch", term.Epoch, "cause", term.Cause, "over", term.Over,
		"detect", term.Detect, "elect", term.Elect)

	trust := newTrust(ctx, sent.Add(e.cfg.window()))
	term.depose = trust.end
	done := e.guard(ctx, trust, term, sent)
	deposed := context.Cause(trust)
	trust.end(context.Canceled) // ends what the leading function left behind
	if e.leader.epoch == term.Epoch {
		e.known = false
	}
	e.offer = nil

	switch {
	case deposed != nil:
		e.log.Warn("Deposed", "epoch", term.Epoch, "reason", deposed)
	case done.err == nil:
		e.failed = 0
		e.log.Info("Stepped down", "epoch", term.Epoch)
	default:
		e.failed++
		e.log.Error("Leading failed", "epoch", term.Epoch, "error", done.err)
	}
	e.passOn(ctx, term, done.successor, deposed)
	aside := min(e.cfg.StandAside<<min(e.failed, 10), max(maxStandAside, e.cfg.StandAside))
	e.aside = time.Now().Add(aside)
}

// verdict is what the leading function returned.
type verdict struct {
	successor string
	err       error
}

// guard runs the leading function until it returns. Meanwhile it renews the lease
// and ends trust when that is due. Nothing it started runs on when it returns.
func (e *elector) guard(ctx context.Context, trust *trust, term *Term, sent time.Time) verdict {
	returned := make(chan verdict, 1)
	go func() {
		successor, err := e.lead(trust, term)
		returned <- verdict{successor, err}
	}()

	var (
		stop    = ctx.Done()
		ended   = trust.Done()
		due     = time.NewTimer(time.Until(sent.Add(e.cfg.RenewEvery)))
		beat    <-chan struct{} // while a renewal waits for a sign that the loop turns
		renewed = make(chan error, 1)
		busy    = false // a renewal is under way
		misses  = 0
	)
	defer due.Stop()
	renewing, cancel := context.WithCancel(trust)
	defer func() {
		cancel()
		if busy {
			<-renewed
		}
	}()
	for {
		select {
		case done := <-returned:
			return done

		case <-stop:
			stop = nil
			close(term.stopping)

		case <-ended:
			ended, beat = nil, nil
			due.Stop()

		case event := <-e.peers.Events():
			if e.observe(event); e.leader.epoch > term.Epoch {
				trust.end(higherEpoch(e.leader.epoch))
			}

		case <-due.C:
			select {
			case <-term.beat: // an old one says nothing about now
			default:
			}
			beat = term.beat
			trust.expect(errStalled)

		case <-beat:
			beat = nil
			trust.expect(errExpired)
			if trust.Err() != nil {
				continue
			}
			sent, busy = time.Now(), true
			go func() {
				ctx, cancel := context.WithTimeout(renewing, e.cfg.CallTimeout)
				defer cancel()
				renewed <- e.lease.Renew(ctx, term.Record)
			}()

		case err := <-renewed:
			busy = false
			switch {
			case trust.Err() != nil:
			case err == nil:
				misses = 0
				e.recovered()
				trust.extend(sent.Add(e.cfg.window()))
				due.Reset(time.Until(sent.Add(e.cfg.RenewEvery)))
			case errors.Is(err, ErrLost):
				trust.end(errLost)
			default:
				misses++
				e.complain("renew the lease", err)
				due.Reset(min(backoff(misses), e.cfg.RenewEvery))
			}
		}
	}
}

// passOn hands the lease to the successor, or else frees it and says so. Whatever
// fails here, the others find out by themselves a little later.
func (e *elector) passOn(ctx context.Context, term *Term, successor string, deposed error) {
	if errors.Is(deposed, errLost) || e.leader.epoch > term.Epoch {
		return
	}
	held := term.Record
	if to, ok := e.lease.(Transferrer); ok && deposed == nil && successor != "" && successor != e.cfg.ID {
		offer := wire.Offer{Epoch: term.Epoch, LeaseID: newLeaseID()}
		err := e.call(ctx, func(ctx context.Context) error { return to.Transfer(ctx, held, offer.LeaseID) })
		if err == nil {
			held.LeaseID = offer.LeaseID
			err = e.offerTo(ctx, successor, offer)
		}
		if err == nil {
			e.log.Info("Handed over", "epoch", term.Epoch, "successor", successor)
			return
		}
		e.log.Warn("Could not hand over: freeing the lease", "epoch", term.Epoch, "successor", successor, "error", err)
	}
	if err := e.call(ctx, func(ctx context.Context) error { return e.lease.Release(ctx, held) }); err != nil {
		e.log.Info("Could not free the lease", "epoch", term.Epoch, "error", err)
		return
	}
	e.peers.Suspect(term.Epoch)
}

// offerTo waits no longer than a ping would for a process to take its offer.
func (e *elector) offerTo(ctx context.Context, successor string, offer wire.Offer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.PingTimeout)
	defer cancel()
	return e.peers.Offer(ctx, successor, offer)
}
