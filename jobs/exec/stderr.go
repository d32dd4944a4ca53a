package exec

import (
	"context"
	"io"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs"
)

// stderrLog gets what a program writes to standard error. A program that makes many calls logs to the call that it is
// making.
type stderrLog struct {
	tail *Tail

	mu  sync.Mutex
	out io.WriteCloser // log of the current call; nil before the first call
}

// begin begins the log of a call.
func (l *stderrLog) begin(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
	l.out = jobs.StderrLog(ctx)
}

func (l *stderrLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(text) // cannot fail
	return l.tail.Write(text)
}

// end ends the log of the last call, when the program has ended.
func (l *stderrLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
}

func (l *stderrLog) close() {
	if l.out != nil {
		_ = l.out.Close() // cannot fail
	}
}
