package executor

import (
	"log/slog"
	"time"
)

// logLimiter limits the number of log lines about each kind of problem.
type logLimiter struct {
	log   *slog.Logger
	every time.Duration // shortest time between two log lines about the same kind of problem
	kinds map[string]*limited
}

type limited struct {
	last  time.Time
	since int // number of events of this kind since the last log line about them
}

// warn logs a problem, unless a line about the same kind of problem was logged less than l.every ago.
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
