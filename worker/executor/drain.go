package executor

import "time"

// drain begins the worker's orderly end: no new work, and what runs ends at the
// next partition boundary.
func (l *link) drain(now time.Time) {
	l.draining, l.wanted = true, true
	l.killAt = now.Add(l.w.cfg.DrainTimeout)
	l.leaveAt = l.killAt.Add(l.w.pace.farewell)
	l.w.mu.Lock()
	l.w.book.Drain()
	l.w.ask(nil)
	running := l.w.book.Busy()
	l.w.mu.Unlock()
	l.w.cfg.Logger.Info("Draining", "running", running)
}

// mayLeave reports whether the worker's end has come: all is in good hands, or
// nobody is there to tell and nothing to lose, or it has taken too long.
func (l *link) mayLeave(now time.Time) bool {
	l.w.mu.Lock()
	b := l.w.book
	nobody := b.Epoch() == 0 || l.alone || !l.nc.IsConnected()
	done := b.Drained() || nobody && b.Empty()
	running := b.Busy()
	items, _ := b.Kept()
	l.w.mu.Unlock()
	switch {
	case done:
		return true
	case !l.killAt.IsZero() && now.Before(l.killAt):
		return false
	case !l.killAt.IsZero():
		l.killAt = time.Time{}
		l.wanted = true
		if running > 0 {
			l.w.cfg.Logger.Warn("Draining takes too long, running partitions are cancelled", "running", running)
		}
		l.w.kill()
	}
	if now.Before(l.leaveAt) && (running > 0 || !nobody) {
		return false
	}
	l.w.cfg.Logger.Warn("Leaving before a leader has made everything durable; it is computed again", "items", items, "running", running)
	return true
}
