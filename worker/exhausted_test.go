package worker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/worker"
)

// exhausted is a Mapper of a process that has no more file descriptors.
type exhausted struct{ runs *atomic.Int64 }

func (m exhausted) Map(context.Context, uint64) (uint64, error) {
	m.runs.Add(1)
	return 0, fmt.Errorf("open input: %w", syscall.EMFILE)
}

// TestExhaustedWorker runs a job on a worker without file descriptors and on another worker. The
// first worker says why it pauses, and fails few attempts.
func TestExhaustedWorker(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	definition := c.squares()
	broken := new(atomic.Int64)
	definition.Open = func(context.Context, squaresParams, jobs.Plan) (jobs.Mapper[uint64], error) {
		return exhausted{broken}, nil
	}
	w := c.start(func(cfg *worker.Config) { cfg.Jobs = []jobs.Job{jobs.MustNew(definition)} })
	w.awaitReady()
	began := time.Now()
	params := []string{"partitions=2000", "sleep=1ms"}
	id := c.submitEdited(func(s *store.Spec) { s.MaxAttempts = 100 }, params...)
	w.logged(`(This worker lacks file descriptors, memory or processes).*too many open files`)
	c.start(nil)
	c.await(id, params...)
	if most := int64(time.Since(began)/(2*time.Second)) + 2; broken.Load() > most {
		t.Errorf("the worker without file descriptors failed %d attempts, want at most %d", broken.Load(), most)
	}
}
