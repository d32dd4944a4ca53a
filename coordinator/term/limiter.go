package term

// limiter bounds the number of concurrent operations. Further operations wait in the order in which
// they called acquire.
type limiter struct {
	limit   int
	running int
	waiting []func()
}

// acquire calls begin as soon as the limit allows it, immediately or during a later call of
// release.
func (l *limiter) acquire(begin func()) {
	if !l.tryAcquire() {
		l.waiting = append(l.waiting, begin)
		return
	}
	begin()
}

// tryAcquire counts one more operation as running if the limit allows it, and reports whether it
// did.
func (l *limiter) tryAcquire() bool {
	if l.running >= l.limit {
		return false
	}
	l.running++
	return true
}

// release ends an operation. If operations are waiting, release begins the operation that has
// waited longest.
func (l *limiter) release() {
	if len(l.waiting) == 0 {
		l.running--
		return
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	next()
}
