package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/worker"
)

// bulky is a job with a result of 600 KB.
var bulky = jobs.Definition[struct{}, int, string]{
	Name: "bulky", Version: "1",
	Plan:   func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 1}, nil },
	Open:   func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[int], error) { return bulkyMapper{}, nil },
	Merge:  func(left, right int) (int, error) { return left + right, nil },
	Finish: func(_ context.Context, _ struct{}, root int) (string, error) { return strings.Repeat("x", root), nil },
}

type bulkyMapper struct{}

func (bulkyMapper) Map(context.Context, uint64) (int, error) { return 600_000, nil }

// TestFullStorage fills storage with the results of jobs. The leader continues to lead, a job can
// be cancelled, and the other jobs complete after the results of ended jobs are removed.
func TestFullStorage(t *testing.T) {
	t.Parallel()
	c := &testCluster{t: t, job: jobs.MustNew(bulky)}
	server := natstest.Start(t, natsserver.Config{MaxStore: 16 << 20})
	c.cfg.NATS.URL = server.URL()
	storage, err := c.cfg.OpenStorage(c.patient(), natstest.Connect(t, server.URL()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(storage.Close)
	c.store = storage.Store(nil)
	var workers []*testWorker
	for range 2 {
		workers = append(workers, c.start(func(cfg *worker.Config) { cfg.Lease = 2 * time.Second }))
	}
	user, err := client.Connect(t.Context(), client.Config{Cluster: c.cfg, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	for range 50 { // twice as many jobs as fit into storage
		_, err := user.Submit(t.Context(), c.job, client.SubmitOptions{})
		if errors.Is(err, client.ErrUnavailable) && strings.Contains(err.Error(), "it is full") {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	until(t, "a result does not fit", func() bool {
		return slices.ContainsFunc(workers, func(w *testWorker) bool { return strings.Contains(w.log.String(), "it is full") })
	})
	list, _, err := user.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open := slices.IndexFunc(list, func(j client.Status) bool { return !j.State.Final() })
	if err := user.Cancel(t.Context(), list[open].ID); err != nil && !errors.Is(err, client.ErrEnded) {
		t.Errorf("Cancel: %v", err)
	}
	until(t, "all jobs have ended and are removed", func() bool {
		if _, _, err := user.RemoveEndedBefore(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
		left, err := user.IDs(t.Context())
		return err == nil && len(left) == 0
	})
	for _, w := range workers {
		for line := range strings.Lines(w.log.String()) {
			// On a slow machine a renewal may also take too long.
			if strings.Contains(line, "Lease storage unavailable") && !strings.Contains(line, context.DeadlineExceeded.Error()) {
				t.Errorf("the storage refused the lease: %s", line)
			}
		}
	}
}
