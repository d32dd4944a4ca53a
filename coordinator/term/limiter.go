package term

// limiter bounds the number of concurrent operations. Further operations wait, in the order of
// their calls of acquire.
type limiter struct {
	limit   int
	running int
	waiting []func()
}

// acquire calls begin as soon as the limit allows it: now, or during a later call of release.
func (l *limiter) acquire(begin func()) {
	if !l.tryAcquire() {
		l.waiting = append(l.waiting, begin)
		return
	}
	begin()
}

// tryAcquire reports whether the limit allows one more operation, and if so counts the operation as
// running.
func (l *limiter) tryAcquire() bool {
	if l.running >= l.limit {
		return false
	}
	l.running++
	return true
}

// release ends an operation. If operations are waiting, the operation that has waited longest begins.
func (l *limiter) release() {
	if len(l.waiting) == 0 {
		l.running--
		return
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	next()
}
