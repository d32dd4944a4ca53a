package sim

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

type trace struct {
	sim *Sim
	out io.Writer
}

func (t *trace) printf(p *process, format string, args ...any) {
	if t.out == nil {
		return
	}
	who := "-"
	if p != nil {
		who = p.name
	}
	fmt.Fprintf(t.out, "%9.3fs %-4s %s\n", t.sim.now.Seconds(), who, fmt.Sprintf(format, args...))
}

// logger returns the logger of a process's real code. Each logged message counts as an event in Coverage.
func (t *trace) logger(p *process) *slog.Logger { return slog.New(lines{trace: t, process: p}) }

type lines struct {
	trace   *trace
	process *process
	attrs   string
}

func (l lines) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || l.trace.out != nil
}

func (l lines) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		l.trace.sim.cover("log: " + normalize(r.Message))
	}
	if l.trace.out == nil {
		return nil
	}
	text := r.Message + l.attrs
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	l.trace.printf(l.process, "  %s", text)
	return nil
}

// normalize cuts a message at the colon and replaces numbers by #, so that jobs and workers count together.
func normalize(message string) string {
	message, _, _ = strings.Cut(message, ":")
	var b strings.Builder
	digits := false
	for _, c := range message {
		isDigit := c >= '0' && c <= '9'
		if !isDigit {
			b.WriteRune(c)
		} else if !digits {
			b.WriteByte('#')
		}
		digits = isDigit
	}
	return b.String()
}

func (l lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	if l.trace.out != nil {
		for _, a := range attrs {
			l.attrs += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		}
	}
	return l
}

func (l lines) WithGroup(string) slog.Handler { return l }
