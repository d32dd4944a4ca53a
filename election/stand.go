package election

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// stand tries to become the leader, and leads.
func (e *elector) stand(ctx context.Context, c *candidacy) {
	if !c.waited && !e.confirm(ctx, c) {
		return
	}
	term, sent := e.claim(ctx, c)
	if term == nil {
		return
	}
	if ctx.Err() != nil { // told to stop while it claimed
		e.passOn(ctx, term, "", nil)
		return
	}
	e.reign(ctx, term, sent)
}

// confirm waits a random moment, so that few try at once, and as long as this
// process stands aside; then it looks again whether there is still reason to.
func (e *elector) confirm(ctx context.Context, c *candidacy) bool {
	moment := e.chance(min(e.cfg.Jitter*time.Duration(e.followers()), maxMoment))
	for at := later(time.Now().Add(moment), e.aside); !e.rest(ctx, at); {
		if ctx.Err() != nil || !e.stillWanted(c) {
			return false
		}
	}
	if c.cause == Silent || c.over == "" {
		return true // another ping would take its time to say the same
	}
	sent, err := e.ping(ctx)
	if ctx.Err() != nil || !e.stillWanted(c) {
		return false
	}
	if errors.Is(err, ErrNoResponders) && e.linkedSince(sent) {
		return true
	}
	e.judge(sent, err)
	return false
}

// stillWanted reports whether nothing was heard that speaks against a candidacy.
func (e *elector) stillWanted(c *candidacy) bool {
	return e.linked && e.offer == nil && e.leader.epoch <= c.epoch && !e.leader.sign.After(c.decided)
}

// claim acquires the lease. It tries the same claim again as long as storage
// cannot be reached: the first try may have had its effect.
func (e *elector) claim(ctx context.Context, c *candidacy) (term *Term, sent time.Time) {
	claim := Claim{Holder: e.cfg.ID, LeaseID: newLeaseID(), Over: c.over}
	for {
		sent = time.Now()
		var record Record
		err := e.call(ctx, func(ctx context.Context) (err error) {
			record, err = e.lease.Acquire(ctx, claim)
			return err
		})
		now := time.Now()
		switch {
		case err == nil:
			e.failures = 0
			term = &Term{
				Epoch:    record.Epoch,
				Record:   record,
				Cause:    c.cause,
				Over:     c.worker,
				Since:    now,
				Elect:    now.Sub(c.decided),
				beat:     make(chan struct{}, 1),
				stopping: make(chan struct{}),
			}
			if !c.sign.IsZero() {
				term.Detect = c.decided.Sub(c.sign)
			}
			return term, sent
		case errors.Is(err, ErrHeld):
			e.log.Info("Somebody else has the lease", "epoch", c.epoch, "cause", c.cause)
			e.failures = 0
			e.held++
			e.refused = c.leaseID
			e.known = e.leader.epoch > c.epoch
			return nil, sent
		}
		e.failures++
		e.complain("acquire the lease", err)
		again := backoff(e.failures)
		for at := now.Add(again/2 + e.chance(again)); !e.rest(ctx, at); {
			if ctx.Err() != nil || !e.stillWanted(c) {
				return nil, sent
			}
		}
	}
}

// newLeaseID returns a random UUID (RFC 9562, version 4).
func newLeaseID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
