package worker_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/worker"
)

// TestAudit has a worker whose values are those of the others, or not. Each of two workers has one slot.
func TestAudit(t *testing.T) {
	for _, differs := range []bool{false, true} {
		c := newCluster(t)
		c.start(nil)
		c.start(func(cfg *worker.Config) {
			d := c.squares()
			open := d.Open
			d.Open = func(ctx context.Context, p squaresParams, plan jobs.Plan) (jobs.Mapper[uint64], error) {
				m, err := open(ctx, p, plan)
				if differs {
					m = otherMapper{m}
				}
				return m, err
			}
			cfg.Jobs = []jobs.Job{jobs.MustNew(d)}
		})
		id := c.submitEdited(func(s *store.Spec) { s.Audit = jobs.MaxAudit }, "partitions=2000", "sleep=1ms")
		if !differs {
			c.await(id, "partitions=2000")
			if runs := c.runs.Load(); runs < 4000 {
				t.Errorf("%d partitions ran, want each of 2000 twice", runs)
			}
			continue
		}
		m := c.checkpoint(id, "the job has failed", func(m store.Manifest) bool { return m.State == store.Failed })
		if !strings.Contains(m.Error, "audit: the partition was computed twice, by worker ") || !strings.Contains(m.Error, " failed permanently ") {
			t.Errorf("the job failed with %q", m.Error)
		}
	}
}

type otherMapper struct{ jobs.Mapper[uint64] }

func (m otherMapper) Map(ctx context.Context, partition uint64) (uint64, error) {
	value, err := m.Mapper.Map(ctx, partition)
	return value + 1, err
}
