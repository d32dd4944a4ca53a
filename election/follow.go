package election

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// candidacy is the decision to try to lead.
type candidacy struct {
	cause   Cause
	waited  bool      // a random moment, or needs none
	epoch   uint64    // of the leader to replace
	worker  string    // that led it
	leaseID string    // under which it did
	over    string    // the lease ID to claim over; empty: only a free lease
	sign    time.Time // the leader's last sign of life; zero where none was looked for
	decided time.Time
}

// follow returns when there is reason to try to lead, or with nil when ctx is
// done.
func (e *elector) follow(ctx context.Context) *candidacy {
	for ctx.Err() == nil {
		var c *candidacy
		switch {
		case e.offer != nil:
			c, e.offer = e.takeUp(*e.offer), nil
		case !e.known:
			c = e.search(ctx)
		default:
			c = e.watch(ctx)
		}
		if c != nil {
			return c
		}
	}
	return nil
}

// takeUp makes a candidacy of an offer. The lease was changed for this worker
// alone, so there is nothing to wait for.
func (e *elector) takeUp(offer wire.Offer) *candidacy {
	c := &candidacy{
		cause: Handover, waited: true,
		epoch: offer.Epoch, leaseID: offer.LeaseID, over: offer.LeaseID,
		decided: time.Now(),
	}
	if offer.Epoch == e.leader.epoch {
		c.worker = e.leader.worker
	}
	return c
}

// search finds out who leads. It waits briefly for a beacon, then reads the
// record once. It returns nil when something was found out or may be tried again.
func (e *elector) search(ctx context.Context) *candidacy {
	if !e.linked { // nobody could be asked
		e.rest(ctx, time.Now().Add(time.Hour))
		return nil
	}
	e.others = false
	deferred := false
	look := e.whenToLook()
	for !e.rest(ctx, look) {
		if ctx.Err() != nil || e.known || e.offer != nil || !e.linked {
			return nil
		}
		// One that looks finds a leader, whose beacon will be heard, or becomes it.
		// Waiting for that once saves storage many reads.
		if e.others && !deferred {
			deferred = true
			look = e.whenToLook()
		}
	}
	e.peers.Suspect(0)
	record, err := e.read(ctx)
	e.catchUp()
	if e.known || e.offer != nil || ctx.Err() != nil {
		return nil
	}
	if err != nil {
		e.failures++
		e.complain("read the lease's record", err)
		return nil
	}
	e.failures = 0
	now := time.Now()
	found := leader{epoch: record.Epoch, worker: record.Holder, leaseID: record.LeaseID, next: now}
	if record.Held {
		e.adopt(found, now)
		return nil
	}
	found.workers = e.leader.workers
	e.leader = found
	c := &candidacy{
		cause: Free, waited: true,
		epoch: record.Epoch, worker: record.Holder, leaseID: record.LeaseID,
		decided: now,
	}
	switch {
	case record.Epoch == 0:
		c.cause = First
	case e.wasRefused(record.LeaseID):
		c.cause = Expired
	}
	return c
}

func (e *elector) read(ctx context.Context) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.CallTimeout)
	defer cancel()
	record, err := e.lease.Read(ctx)
	if err == nil {
		e.recovered()
	}
	return record, err
}

// wasRefused reports whether the last claim failed though the lease is still held
// under that ID. If the next one succeeds, it is because the lease has expired.
func (e *elector) wasRefused(leaseID string) bool { return e.held > 0 && e.refused == leaseID }

// whenToLook is when to read the record if nothing is heard until then.
func (e *elector) whenToLook() time.Time {
	wait := listen + e.chance(listen)
	if again := backoff(max(e.held-1, e.failures)); again > 0 {
		wait += again/2 + e.chance(again)
	}
	return later(time.Now().Add(wait), e.aside)
}

// watch pings the known leader until it has reason to replace it, or something
// else is to be done.
func (e *elector) watch(ctx context.Context) *candidacy {
	epoch := e.leader.epoch
	due := e.leader.next
	if !e.linked { // until LinkRestored is heard
		due = time.Now().Add(time.Hour)
	}
	if !e.rest(ctx, due) {
		return nil
	}
	sent, err := e.ping(ctx)
	if ctx.Err() != nil || !e.known || e.leader.epoch != epoch || e.offer != nil {
		return nil
	}
	return e.judge(sent, err)
}

// ping asks the leader for a sign of life, and takes in what was heard meanwhile.
func (e *elector) ping(ctx context.Context) (sent time.Time, err error) {
	sent = time.Now()
	ctx, cancel := context.WithTimeout(ctx, e.cfg.PingTimeout)
	defer cancel()
	epoch := e.leader.epoch
	err = e.peers.Ping(ctx, epoch)
	e.catchUp()
	if e.leader.epoch == epoch {
		e.leader.pinged = sent
	}
	return sent, err
}

// judge decides what the outcome of a ping means.
func (e *elector) judge(sent time.Time, err error) *candidacy {
	now := time.Now()
	l := &e.leader
	switch {
	case err == nil:
		e.signOfLife(now)
		l.next = now.Add(e.pingInterval())
		return nil

	case !e.linkedSince(sent):
		l.silence = 0
		l.next = later(e.stableFrom, now.Add(pingGap))
		return nil

	case errors.Is(err, ErrNoResponders):
		if !l.answered && now.Sub(l.since) < settle { // it may have begun just now
			l.next = now.Add(pingGap)
			return nil
		}
		return e.giveUpOn(Died)

	default:
		l.next = now.Add(pingGap)
		// A process that slept while it pinged has waited no longer than the ping may
		// take.
		l.silence += min(now.Sub(sent), e.cfg.PingTimeout) + pingGap
		if l.silence < e.cfg.SilentAfter {
			return nil
		}
		if !l.answered { // it may be this process that is cut off
			return e.giveUpOn(Expired)
		}
		return e.giveUpOn(Silent)
	}
}

// giveUpOn makes a candidacy to replace the leader, and tells the others to look.
// Expired means to claim the lease only if it has expired.
func (e *elector) giveUpOn(cause Cause) *candidacy {
	l := e.leader
	c := &candidacy{
		cause: cause,
		epoch: l.epoch, worker: l.worker, leaseID: l.leaseID, over: l.leaseID,
		sign: l.sign, decided: time.Now(),
	}
	switch {
	case cause == Expired:
		c.over = ""
	case e.wasRefused(l.leaseID):
		c.cause = Expired
	case l.resigned:
		c.cause = Free
	}
	if c.over != "" && !l.suspected {
		e.leader.suspected = true
		e.peers.Suspect(l.epoch)
	}
	e.log.Info("The leader seems gone", "epoch", l.epoch, "leader", l.worker, "cause", c.cause,
		"detect", c.decided.Sub(c.sign))
	return c
}
