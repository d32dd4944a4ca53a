package term

// limiter bounds how many operations run at once. Other operations wait in the order of
// their acquire calls.
type limiter struct {
	limit   int
	running int
	waiting []func()
}

// acquire calls begin as soon as a place is free: now, or during a later release.
func (l *limiter) acquire(begin func()) {
	if !l.tryAcquire() {
		l.waiting = append(l.waiting, begin)
		return
	}
	begin()
}

// tryAcquire takes a place if one is free.
func (l *limiter) tryAcquire() bool {
	if l.running >= l.limit {
		return false
	}
	l.running++
	return true
}

// release gives a place back, or passes it to the operation that waits longest.
func (l *limiter) release() {
	if len(l.waiting) == 0 {
		l.running--
		return
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	next()
}
