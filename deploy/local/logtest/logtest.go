// Package logtest captures the log of the code under test, so that a test can wait for a log line
// and read it. Package logtest is only for Bellwether's own tests.
package logtest

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// timeout is how long [Log.Await] waits.
const timeout = 20 * time.Second

// Log is an io.Writer that keeps the written text. The zero Log is ready for use. A Log may be used
// by several goroutines at once.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Logger returns a logger that writes text lines at level info and above.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the text that was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Reset discards the text that was written so far.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// Count returns how many times a text occurs in the log.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }

// Await waits until a text occurs in the log at least n times, and fails the test after 20 s.
func (l *Log) Await(t testing.TB, n int, text string) {
	t.Helper()
	for end := time.Now().Add(timeout); l.Count(text) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("log has %q %d times, want %d:\n%s", text, l.Count(text), n, l)
		}
	}
}
