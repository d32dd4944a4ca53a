package executor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/worker/session"
)

func TestGuardClaim(t *testing.T) {
	for _, c := range []struct {
		partitions uint64
		limit      time.Duration
		recorded   bool
	}{
		{999, time.Hour, true},
		{1000, time.Hour, false},
		{1000, time.Hour - 1, true},
		{999, 0, false},
	} {
		s := &slot{core: &core{timing: defaultTiming}}
		t.Run(fmt.Sprint(c.partitions, c.limit), func(t *testing.T) {
			g, progress := s.guardClaim(&task{limits: jobs.Limits{Map: c.limit}}, engine.Span{Lo: 5, Hi: 5 + c.partitions})
			if (progress != nil) != c.recorded || g.limit != c.limit {
				t.Fatalf("got limit %v and recorded %v, want %v", g.limit, progress != nil, c.recorded)
			}
			if c.recorded || c.limit == 0 {
				return
			}
			if g.late() || !s.stop.Load() {
				t.Error("the limit has passed once: want the claim to end after the running partition")
			}
			if !g.late() {
				t.Error("the limit has passed twice: want a failure")
			}
		})
	}
}

// TestHangInFastClaim checks that a partition that hangs among fast ones fails the job with a range that
// contains the partition, because a retry would not find it.
func TestHangInFastClaim(t *testing.T) {
	const hung = 500
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	d := definition("sum", func(_ context.Context, p uint64) error {
		if p == hung {
			<-release
		}
		return nil
	}, nil)
	d.Limits.Map = 20 * time.Millisecond
	job := jobs.MustNew(d)
	nc := connect(t, startServer(t, -1).ClientURL())
	startWorker(t, nc, noStore{t}, 2, []jobs.Job{job}, func(own *timing, _ *session.Timing) {
		own.fast, own.coarse, own.stopTimeout = 1, time.Millisecond, 10*time.Millisecond
	})
	l := startLeader(t, nc, 1)
	l.assign("j", job, 0, 1000, all(1000))
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	f := l.failures[0]
	var lo, hi uint64
	if _, err := fmt.Sscanf(f.Error, "one of the partitions %d to %d: did not return", &lo, &hi); err != nil || lo != f.Partition || lo > hung || hi < hung {
		t.Errorf("got partition %d: %s", f.Partition, f.Error)
	}
	if !f.Permanent || !strings.Contains(f.Error, "limit of 20ms") {
		t.Errorf("got %+v, want a permanent failure that names the limit", f)
	}
}
