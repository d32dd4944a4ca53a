package election

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
		log:    cfg.Logger.With("worker", cfg.ID),
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

	linked    bool
	trustFrom time.Time // what was not heard before this instant is no evidence

	aside    time.Time // until when leading is left to others
	held     int       // times in a row that a claim was refused though nobody was heard to lead
	refused  string    // the lease ID of the leader that the last of those claims was to replace
	failures int       // times in a row that storage could not be reached
	failed   int       // leading functions in a row that returned an error in this process
	trouble  string    // the last one logged
}

// leader is what is known of one who leads or led last.
type leader struct {
	epoch   uint64
	worker  string
	leaseID string
	workers int // in the cluster; 0: unknown

	since      time.Time // first heard of
	sign       time.Time // last sign of life; since, if there was none
	answered   bool      // gave a sign of life
	resigned   bool      // said itself that it has stopped
	suspected  bool      // the others were told by somebody
	pinged     time.Time // when the last ping was sent
	next       time.Time // when the next is due
	unanswered time.Time // when the first ping without any answer since the last sign of life was sent
}

// observe takes in an event and reports whether it changes what to do next.
func (e *elector) observe(event Event) bool {
	now := time.Now()
	switch ev := event.(type) {
	case BeaconHeard:
		return e.observeBeacon(ev.Beacon, now)
	case SuspicionHeard:
		return e.observeSuspicion(ev.Suspect, now)
	case OfferReceived:
		if ev.Epoch < e.leader.epoch {
			return false
		}
		e.offer = &ev.Offer
		return true
	case LinkLost:
		if e.linked {
			e.log.Warn("Lost the connection: following blindly", "epoch", e.leader.epoch)
		}
		e.linked = false
		return true
	case LinkRestored:
		if !e.linked {
			e.log.Info("Connected again", "epoch", e.leader.epoch)
		}
		e.linked = true
		e.trustFrom = now.Add(e.cfg.StableFor)
		e.leader.unanswered = time.Time{}
		e.leader.next = e.trustFrom
		return true
	}
	return false
}

func (e *elector) observeBeacon(b wire.Beacon, now time.Time) bool {
	switch {
	case b.Worker == e.cfg.ID: // heard late, if this process no longer leads
		return false
	case b.Epoch < e.leader.epoch: // of one deposed that has not noticed
		return false
	}
	fresh := !e.known || b.Epoch > e.leader.epoch
	if fresh {
		e.adopt(leader{epoch: b.Epoch, worker: b.Worker, leaseID: b.LeaseID}, now)
		e.leader.next = now.Add(e.pingInterval())
	}
	e.leader.workers = b.Workers
	e.signOfLife(now)
	return fresh
}

func (e *elector) observeSuspicion(s wire.Suspect, now time.Time) bool {
	switch {
	case s.Worker == e.cfg.ID:
		return false
	case s.Epoch == 0:
		e.others = true
		return !e.known
	case !e.known || s.Epoch != e.leader.epoch:
		return false
	}
	e.leader.suspected = true
	e.leader.resigned = e.leader.resigned || s.Worker == e.leader.worker
	if soon := later(now, e.leader.pinged.Add(pingGap)); soon.Before(e.leader.next) {
		e.leader.next = soon
	}
	return true
}

// adopt begins to follow a leader.
func (e *elector) adopt(l leader, now time.Time) {
	l.since, l.sign = now, now
	l.workers = e.leader.workers
	e.leader, e.known = l, true
	e.log.Info("Following", "epoch", l.epoch, "leader", l.worker)
}

// signOfLife notes that the leader lives.
func (e *elector) signOfLife(now time.Time) {
	e.leader.sign, e.leader.answered = now, true
	e.leader.unanswered = time.Time{}
	e.leader.suspected, e.leader.resigned = false, false
	e.held, e.refused, e.failures = 0, "", 0
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

// linkedSince reports whether what was not heard since the instant is evidence.
func (e *elector) linkedSince(sent time.Time) bool { return e.linked && !sent.Before(e.trustFrom) }

// followers is how many processes follow, about.
func (e *elector) followers() int { return min(max(e.leader.workers-1, 1), maxFollowers) }

// pingInterval is when this follower's next ping is due, from 0.5 to 1.5 times
// the mean, so that pings spread.
func (e *elector) pingInterval() time.Duration {
	mean := float64(e.followers()) / e.cfg.PingRate * float64(time.Second)
	return max(time.Duration(mean*(0.5+e.cfg.Rand.Float64())), pingGap)
}

// chance is a random duration in [0, d).
func (e *elector) chance(d time.Duration) time.Duration {
	return time.Duration(e.cfg.Rand.Float64() * float64(d))
}

// complain logs trouble with storage once, until it is another or over.
func (e *elector) complain(doing string, err error) {
	if text := doing + err.Error(); text != e.trouble {
		e.trouble = text
		e.log.Warn("Trouble with the lease's storage", "doing", doing, "error", err)
	}
}

func (e *elector) recovered() {
	if e.trouble != "" {
		e.trouble = ""
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

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// backoff grows from 100 ms to maxBackoff with the number of tries that failed.
func backoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(50*time.Millisecond<<min(failures, 10), maxBackoff)
}

// newLeaseID returns a random UUID (RFC 9562, version 4).
func newLeaseID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
