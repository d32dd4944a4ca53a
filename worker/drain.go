package worker

import "time"

// drain begins the worker's orderly end: no new work, and what runs ends at the
// next partition boundary.
func (l *link) drain(now time.Time) {
	l.draining, l.wanted = true, true
	l.killAt = now.Add(l.w.cfg.DrainTimeout)
	l.leaveAt = l.killAt.Add(l.w.pace.farewell)
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.book.Drain()
	l.w.ask(nil)
	l.w.cfg.Logger.Info("draining", "running", l.w.book.Busy())
}

// mayLeave reports whether the worker's end has come: all is in good hands, or
// nobody is there to tell and nothing to lose, or it has taken too long.
func (l *link) mayLeave(now time.Time) bool {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	b := l.w.book
	nobody := b.Epoch() == 0 || l.alone || !l.nc.IsConnected()
	if b.Drained() || nobody && b.Empty() {
		return true
	}
	if !l.killAt.IsZero() && !now.Before(l.killAt) {
		l.killAt = time.Time{}
		l.wanted = true
		l.w.cfg.Logger.Warn("draining takes too long, running partitions are cancelled", "running", b.Busy())
		l.w.kill()
	}
	lastWords := now.Before(l.leaveAt) && !(nobody && b.Busy() == 0)
	if !l.killAt.IsZero() || lastWords {
		return false
	}
	items, _ := b.Kept()
	l.w.cfg.Logger.Warn("leaving before a leader has made everything durable; it is computed again", "items", items, "running", b.Busy())
	return true
}
