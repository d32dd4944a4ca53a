package executor

import (
	"context"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

func TestTurnsAsLongAsItRuns(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{sum("sum", nil)}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.Turns(ctx); err != nil {
		t.Errorf("a worker that runs: %v", err)
	}
	if err := w.leave(); err != nil {
		t.Errorf("run: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := w.Turns(ctx); err == nil {
		t.Error("a worker that has ended turns")
	}
}
