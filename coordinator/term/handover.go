package term

import "github.com/bellwether-compute/bellwether/coordinator/ledger"

// Stop ends the term in an orderly way, with a last checkpoint of each job.
func (t *Term) Stop() {
	if !t.told {
		t.told = true
		t.stop()
	}
}

// yield begins to hand over if the worker in the leader's process drains and another worker can lead. The
// process will soon end, so the leader does not wait until its worker has drained: the next leader
// receives what the worker still runs and keeps. A leader without a successor leads until it is told to stop.
func (t *Term) yield() {
	if t.times.stopping.IsZero() && t.ledger.SelfDrains() && t.successor() != "" {
		t.stop()
	}
}

func (t *Term) stop() {
	t.times.stopping = t.env.Now()
	t.log.Info("Leader is stopping")
	t.step(ledger.Stopping{})
	t.recordTerm()
}

// Left reports whether a stopping term may end. It may end when StopWithin has passed, or when all state and
// the term's record are durable and no other draining worker needs the leader. A term that has not yet
// loaded the active jobs may end at once. The result successor is the worker that should lead next, or
// empty for any worker, as after a failure. A term that was not told to stop, but yields, ends only if it has a
// successor. The loop calls Left after each call of another method.
func (t *Term) Left() (successor string, left bool) {
	if t.times.stopping.IsZero() {
		return "", false
	}
	if t.ledger != nil && t.since(t.times.stopping) <= t.cfg.StopWithin && t.isNeeded() {
		return "", false
	}
	successor = t.successor()
	return successor, t.told || successor != ""
}

// isNeeded reports whether a stopping leader still has something to do.
func (t *Term) isNeeded() bool {
	return !t.ledger.AllDurable() || t.timeline.recording || t.ledger.OthersDrain()
}

// Leave sends a last beacon, so that followers wait for the handover. The loop calls Leave when
// Left has reported true.
func (t *Term) Leave() { t.sendBeacon(true) }

// successor returns the worker that should lead next, or "" for any worker, as after a failure.
func (t *Term) successor() string {
	if t.ledger == nil || t.failure != nil {
		return ""
	}
	return t.ledger.Successor()
}
