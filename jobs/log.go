package jobs

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// LogLine is a line that the code of a job has logged, or that one of its programs has written to standard error.
type LogLine struct {
	At     time.Time
	Stderr bool // a program has written the line to standard error
	Again  bool // an earlier attempt has failed; only in a run in one process
	Text   string
}

// logAgain returns a context in which the lines of the log belong to a repeated attempt.
func logAgain(ctx context.Context) context.Context {
	add, ok := ctx.Value(logKey{}).(func(LogLine))
	if !ok {
		return ctx
	}
	return WithLog(ctx, func(l LogLine) {
		l.Again = true
		add(l)
	})
}

type logKey struct{}

// WithLog returns a context with which the functions of a definition log to the function add. Several goroutines
// call add, which must not block.
func WithLog(ctx context.Context, add func(LogLine)) context.Context {
	return context.WithValue(ctx, logKey{}, add)
}

// Logger returns a logger for the code of a job. On a cluster, the command logs shows what a function of the
// definition logs with the context that it gets, by partition and attempt; the amount is bounded. A run in one
// process writes it to standard error. Logs never change a result. The logger must not be used after the function
// has returned, because its lines would get a wrong partition.
func Logger(ctx context.Context) *slog.Logger {
	add, ok := ctx.Value(logKey{}).(func(LogLine))
	if !ok {
		return slog.New(slog.DiscardHandler)
	}
	out := &lineWriter{add: func(text string) { add(LogLine{At: time.Now(), Text: text}) }}
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
}

// StderrLog returns a writer for what a program of the job writes to standard error, which the command logs shows by
// line. The caller must close the writer when the program has ended, which logs a last line without a line end.
func StderrLog(ctx context.Context) io.WriteCloser {
	add, ok := ctx.Value(logKey{}).(func(LogLine))
	if !ok {
		add = func(LogLine) {}
	}
	return &lineWriter{add: func(text string) { add(LogLine{At: time.Now(), Stderr: true, Text: text}) }}
}

// maxLogLine is the size in bytes at which a line is cut into two.
const maxLogLine = 1 << 10

// lineWriter divides text into lines.
type lineWriter struct {
	add func(string)

	mu   sync.Mutex
	rest []byte // beginning of a line whose end was not written
}

func (w *lineWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, text...)
	for {
		end := bytes.IndexByte(w.rest, '\n')
		switch {
		case end >= 0 && end <= maxLogLine:
			w.line(w.rest[:end])
			w.rest = w.rest[end+1:]
		case len(w.rest) > maxLogLine:
			w.line(w.rest[:maxLogLine])
			w.rest = w.rest[maxLogLine:]
		default:
			return len(text), nil
		}
	}
}

func (w *lineWriter) line(text []byte) {
	w.add(strings.ToValidUTF8(strings.TrimSuffix(string(text), "\r"), "\ufffd"))
}

func (w *lineWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		w.line(w.rest)
		w.rest = nil
	}
	return nil
}
