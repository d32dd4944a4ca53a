package executor

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// sizedMapper maps every partition to a large partial, whose size it gives in advance.
type sizedMapper struct {
	blockMapper
	running, most *atomic.Int64
}

func (sizedMapper) PartialBytes() int64 { return 1 << 20 }

func (m sizedMapper) Map(ctx context.Context, partition uint64) ([]byte, error) {
	running := m.running.Add(1)
	defer m.running.Add(-1)
	for most := m.most.Load(); running > most && !m.most.CompareAndSwap(most, running); most = m.most.Load() {
	}
	time.Sleep(20 * time.Millisecond) // long enough for all slots to begin, if they do not wait
	return m.blockMapper.Map(ctx, partition)
}

// The first partitions count against the memory limit if the job gives the size of its partials.
func TestSizerBoundsFirstPartitions(t *testing.T) {
	var running, most atomic.Int64
	job := blocksOf(sizedMapper{running: &running, most: &most}, nil)
	url := startServer(t, -1).ClientURL()
	nc := connect(t, url)
	l := startLeader(t, nc, 1)
	l.holds = true
	startWorker(t, nc, noStore{t}, 4, []jobs.Job{job}, nil, func(c *Config) {
		c.Bulk, c.Memory, c.SpillDir = connect(t, url), 5<<19, t.TempDir() // 2.5 MiB
	})
	l.wait("the worker's first report", func() bool { return len(l.reports) > 0 })
	var spans []engine.Span
	for p := range uint64(8) {
		spans = append(spans, engine.Span{Lo: p, Hi: p + 1})
	}
	l.assign("j", job, 0, 8, spans...)
	l.wait("eight held nodes", func() bool { return len(l.last().Nodes) == 8 })
	if n := most.Load(); n > 2 {
		t.Errorf("%d partitions ran at the same time, want at most 2: memory has space for two and a half", n)
	}
}
