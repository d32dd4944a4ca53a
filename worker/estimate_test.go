package worker_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// estimating lets the cluster's job have estimates.
func (c *testCluster) estimating(stop func(n uint64) (bool, error)) {
	d := c.squares()
	d.Limits.Estimate = time.Second
	d.Estimate = func(_ context.Context, _ squaresParams, prefix, _ uint64) (any, error) { return prefix, nil }
	d.Stop = func(_ context.Context, _ squaresParams, _, n uint64) (bool, error) { return stop(n) }
	c.job = jobs.MustNew(d)
}

func estimates(s *store.Spec) { s.Estimates = true }

// TestStop stops a job at the same prefix with any number of workers, and when the leader changes before the stop.
func TestStop(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		c := newCluster(t)
		c.estimating(func(n uint64) (bool, error) { return n >= 25, nil })
		var list []*testWorker
		for range workers {
			list = append(list, c.start(nil))
		}
		id := c.submitEdited(estimates, "partitions=3000", "sleep=5ms")
		if workers > 1 {
			c.checkpoint(id, "a rung is judged", func(m store.Manifest) bool { return len(m.Judged) > 0 || m.State.Final() })
			list[0].end()
		}
		m := c.await(id, "partitions=3000")
		if m.State != store.Completed || m.Stopped == nil || *m.Stopped != (jobs.Stopped{At: 28, Rung: 15}) || len(m.Judged) != 15 {
			t.Errorf("%d workers: the job is %s: %s; stopped %+v with %d estimates", workers, m.State, m.Error, m.Stopped, len(m.Judged))
		}
	}
}

// TestStopsThatDoHarm checks that a job ends by a rule whatever its Stop does.
func TestStopsThatDoHarm(t *testing.T) {
	c := newCluster(t)
	release := make(chan struct{})
	var stop atomic.Pointer[func(n uint64) (bool, error)]
	c.estimating(func(n uint64) (bool, error) { return (*stop.Load())(n) })
	c.start(nil)
	c.start(nil)
	for _, test := range []struct {
		name, want string
		stop       func(n uint64) (bool, error)
	}{
		{"never true", "", func(uint64) (bool, error) { return false, nil }},
		{"always true", "", func(uint64) (bool, error) { return true, nil }},
		{"panics", "Stop of the first 3 partitions of job squares: panic: oops", func(n uint64) (bool, error) {
			if n == 3 {
				panic("oops")
			}
			return false, nil
		}},
		{"hangs", "Estimate or Stop of the first 2 partitions failed once", func(n uint64) (bool, error) {
			if n == 2 {
				<-release
			}
			return false, nil
		}},
	} {
		stop.Store(&test.stop)
		id := c.submitEdited(estimates, "partitions=100")
		m := c.checkpoint(id, test.name+": the job has ended", func(m store.Manifest) bool { return m.State.Final() })
		switch {
		case test.want == "" && m.State != store.Completed, test.want != "" && (m.State != store.Failed || !strings.Contains(m.Error, test.want)):
			t.Errorf("%s: the job is %s: %s, want %q", test.name, m.State, m.Error, test.want)
		case test.want == "" && (m.Stopped != nil) != (test.name == "always true"):
			t.Errorf("%s: stopped %+v", test.name, m.Stopped)
		}
	}
	close(release)
}

// TestRetryInheritsPrefixes retries a job of which a partition has failed after some rungs were judged.
func TestRetryInheritsPrefixes(t *testing.T) {
	c := newCluster(t)
	var fails atomic.Bool
	var judgedAgain atomic.Int64 // judgements of the second job for prefixes that the first job has judged
	fails.Store(true)
	d := c.squares()
	d.Open = func(_ context.Context, p squaresParams, _ jobs.Plan) (jobs.Mapper[uint64], error) {
		return failingSquares{squaresMapper{p, c}, &fails}, nil
	}
	d.Estimate = func(_ context.Context, _ squaresParams, prefix, _ uint64) (any, error) { return prefix, nil }
	d.Stop = func(_ context.Context, _ squaresParams, _, n uint64) (bool, error) {
		if !fails.Load() && n <= brokenSquare {
			judgedAgain.Add(1)
		}
		return n >= 50, nil
	}
	c.job = jobs.MustNew(d)
	c.start(nil)
	first := c.submitEdited(estimates, "partitions=1000", "sleep=2ms")
	c.checkpoint(first, "a checkpoint has partials", func(m store.Manifest) bool { return len(m.Nodes) > 0 })
	close(c.release)
	old := c.checkpoint(first, "the job has failed", func(m store.Manifest) bool { return m.State.Final() })
	if old.State != store.Failed || len(old.Judged) == 0 || old.Judged[len(old.Judged)-1].Partitions != brokenSquare {
		t.Fatalf("the first job is %s: %s; it has %d estimates", old.State, old.Error, len(old.Judged))
	}
	fails.Store(false)
	id := c.submitEdited(func(s *store.Spec) { s.Estimates, s.Retries = true, first }, "partitions=1000", "sleep=2ms")
	m := c.checkpoint(id, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
	if m.State != store.Completed || m.Stopped == nil || *m.Stopped != (jobs.Stopped{At: 56, Rung: 19}) {
		t.Fatalf("the job is %s: %s; stopped %+v", m.State, m.Error, m.Stopped)
	}
	if m.Inherited == 0 || judgedAgain.Load() > 0 || len(m.Judged) != 19 || !slices.Equal(m.Judged[0].Value, old.Judged[0].Value) {
		t.Errorf("inherited %d partitions; %d prefixes were judged again; %d estimates, want 19", m.Inherited, judgedAgain.Load(), len(m.Judged))
	}
	if got, err := c.store.Result(c.patient(), id, ""); err != nil || string(got) != sumOfSquares(56) {
		t.Errorf("the result is %s, %v, want %s", got, err, sumOfSquares(56))
	}
}

// brokenSquare is the partition that a failingSquares fails. It is a rung.
const brokenSquare = 40

type failingSquares struct {
	squaresMapper
	fails *atomic.Bool
}

func (m failingSquares) Map(ctx context.Context, partition uint64) (uint64, error) {
	if partition == brokenSquare && m.fails.Load() {
		select {
		case <-m.cluster.release:
		case <-ctx.Done():
		}
		return 0, jobs.Permanent(errors.New("broken"))
	}
	return m.squaresMapper.Map(ctx, partition)
}

// TestStopInTime ends a job that has run for long enough.
func TestStopInTime(t *testing.T) {
	c := newCluster(t)
	c.estimating(func(uint64) (bool, error) { return false, nil })
	c.start(nil)
	id := c.submitEdited(func(s *store.Spec) { s.Estimates, s.StopAfter = true, time.Second }, "partitions=1000000", "sleep=1ms")
	m := c.checkpoint(id, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
	if m.State != store.Completed || m.Stopped == nil || !m.Stopped.Timed {
		t.Fatalf("the job is %s: %s; stopped %+v", m.State, m.Error, m.Stopped)
	}
	n := m.Stopped.At
	if got, err := c.store.Result(c.patient(), id, ""); err != nil || string(got) != sumOfSquares(n) {
		t.Errorf("the result of %d partitions is %s, %v, want %s", n, got, err, sumOfSquares(n))
	}
}

// sumOfSquares returns the result of the first n partitions.
func sumOfSquares(n uint64) string { return strconv.FormatUint((n-1)*n*(2*n-1)/6, 10) }
