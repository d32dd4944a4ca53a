package executor

import "time"

// complaint limits the lines that one kind of trouble gets in the log.
type complaint struct {
	last  time.Time
	since int // not logged since
}

// complain logs trouble of a kind now and then.
func (l *link) complain(kind, text string, attrs ...any) {
	c := l.complaints[kind]
	if c == nil {
		c = new(complaint)
		l.complaints[kind] = c
	}
	if time.Since(c.last) < l.w.pace.complain {
		c.since++
		return
	}
	l.w.cfg.Logger.Warn(text, append(attrs, "unlogged", c.since)...)
	c.last, c.since = time.Now(), 0
}
