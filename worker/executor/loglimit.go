package executor

import (
	"log/slog"
	"time"
)

// logLimiter limits the number of log lines about each kind of trouble.
type logLimiter struct {
	log   *slog.Logger
	every time.Duration // shortest time between two lines about one kind of trouble
	kinds map[string]*limited
}

type limited struct {
	last  time.Time
	since int // number of events of this kind that were not logged since the last line
}

// warn logs trouble, unless a line of the same kind was logged less than l.every ago.
func (l *logLimiter) warn(kind, text string, attrs ...any) {
	k := l.kinds[kind]
	if k == nil {
		if l.kinds == nil {
			l.kinds = make(map[string]*limited)
		}
		k = new(limited)
		l.kinds[kind] = k
	}
	if time.Since(k.last) < l.every {
		k.since++
		return
	}
	l.log.Warn(text, append(attrs, "unlogged", k.since)...)
	k.last, k.since = time.Now(), 0
}
