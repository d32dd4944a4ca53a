package procs

import (
	"bytes"
	"io"
	"sync"
)

// lines mixes what several processes write into one writer, whole lines at a
// time.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

// maxLine is the longest line that is kept together, in bytes.
const maxLine = 64 << 10

// from is the writer of one process.
func (l *lines) from(name string) io.Writer {
	return &lineWriter{lines: l, prefix: []byte(name + " | ")}
}

// lineWriter is used by one goroutine, the one that copies the process' output.
type lineWriter struct {
	lines  *lines
	prefix []byte
	rest   []byte // of a line whose end has not come
}

// Write never fails: a process must not die because nobody can read its log.
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
