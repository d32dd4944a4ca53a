package procs

import (
	"bytes"
	"io"
	"sync"
)

// lines writes the output of several processes to one writer, without mixing their lines.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

// maxLine is the length in bytes above which a line is split.
const maxLine = 64 << 10

// from returns a writer for the output of one process.
func (l *lines) from(name string) io.Writer {
	return &lineWriter{lines: l, prefix: []byte(name + " | ")}
}

// lineWriter receives the output of one process. Only the goroutine that copies the output uses a
// lineWriter.
type lineWriter struct {
	lines  *lines
	prefix []byte
	rest   []byte // beginning of an incomplete line
}

// Write never returns an error, because a process must not end when its log cannot be written.
func (w *lineWriter) Write(data []byte) (int, error) {
	w.rest = append(w.rest, data...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			break
		}
		w.emit(line)
		w.rest = rest
	}
	if len(w.rest) > maxLine {
		w.emit(w.rest)
		w.rest = nil
	}
	return len(data), nil
}

func (w *lineWriter) emit(line []byte) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	_, _ = w.lines.to.Write(bytes.Join([][]byte{w.prefix, line, []byte("\n")}, nil))
}
