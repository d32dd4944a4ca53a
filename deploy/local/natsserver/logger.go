package natsserver

import (
	"fmt"
	"log/slog"
	"sync"
)

// logger forwards the server's log. The server calls Fatalf and then continues, so logger keeps the
// first fatal error, which [Start] returns.
type logger struct {
	log *slog.Logger

	mu    sync.Mutex
	first error
}

func (l *logger) Noticef(format string, v ...any) { l.log.Debug("NATS: " + fmt.Sprintf(format, v...)) }

func (l *logger) Warnf(format string, v ...any) { l.log.Warn("NATS: " + fmt.Sprintf(format, v...)) }

func (l *logger) Errorf(format string, v ...any) { l.log.Error("NATS: " + fmt.Sprintf(format, v...)) }
func (l *logger) Debugf(string, ...any)          {} // debug output is not enabled
func (l *logger) Tracef(string, ...any)          {}

func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		l.first = fmt.Errorf(format, v...)
	}
}

func (l *logger) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}
