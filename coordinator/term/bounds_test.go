package term_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// waiting reports whether the only task is waiting for a submission.
func (l *leader) waiting() bool { return len(l.tasks) == 1 && len(l.inbox) == 0 }

// A large number of cancellations of different jobs does not block the leader.
func TestCancellationsInFlightAreBounded(t *testing.T) {
	c := newCluster(t)
	l := c.lead(plain)
	c.until("the leader waits for submissions", func() bool { return l.waiting() })
	answered, unknown := 0, 0
	for i := range 5000 {
		l.turn(func() {
			l.term.Cancel(fmt.Sprintf("0%015d", i), func(err error) {
				if answered++; errors.Is(err, store.ErrNotFound) {
					unknown++
				}
			})
		})
		if len(l.tasks) > 200 {
			t.Fatalf("%d tasks are running after %d requests", len(l.tasks), i+1)
		}
	}
	c.until("the answers", func() bool { return answered > 0 && l.waiting() })
	if unknown != answered || answered > 200 {
		t.Errorf("%d were answered, %d of them by %v", answered, unknown, store.ErrNotFound)
	}
	again := make(chan error, 1)
	l.turn(func() { l.term.Cancel(fmt.Sprintf("1%015d", 0), func(err error) { again <- err }) })
	c.until("the answer to a later request", func() bool { return len(again) > 0 })
}

// The first reports of all workers that a leader admits are answered when it has loaded the jobs.
func TestReportsBeforeTheJobsAreLoaded(t *testing.T) {
	const workers = 10_500
	c := newCluster(t)
	l := c.lead(func(cfg *term.Config) {
		cfg.Logger = slog.New(slog.DiscardHandler)
		cfg.Ledger.MaxWorkers = workers
	})
	answered := 0
	for i := range workers {
		r := wire.Report{Epoch: l.epoch, Worker: fmt.Sprint("w", i), Sequence: 1, Hello: &wire.Hello{Slots: 1}}
		l.turn(func() { l.term.Report(r, 100, func(wire.Receipt) { answered++ }) })
	}
	if answered > 0 {
		t.Fatalf("%d reports were answered before the jobs were loaded", answered)
	}
	c.until("the jobs are loaded", func() bool { return answered > 0 })
	if answered != workers {
		t.Errorf("%d reports were answered, want %d", answered, workers)
	}
}

func TestCancelRefusesAnInvalidIDAtOnce(t *testing.T) {
	c := newCluster(t)
	l := c.lead(plain)
	c.until("the leader waits for submissions", func() bool { return l.waiting() })
	var refused error
	l.turn(func() { l.term.Cancel(strings.Repeat("x", 1000), func(err error) { refused = err }) })
	if !errors.Is(refused, store.ErrNotFound) || len(refused.Error()) > 200 || !l.waiting() {
		t.Errorf("got %v and %d tasks", refused, len(l.tasks))
	}
}

func TestCancellationsOfOneJobAreBounded(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	l := c.lead(plain)
	job := c.submit("partitions=8")
	c.until("the job is active", func() bool { return len(l.term.Jobs(wire.JobQuery{}).Jobs) > 0 })
	answers := 0
	for range 1000 {
		l.turn(func() { l.term.Cancel(job, func(error) { answers++ }) })
	}
	c.until("the end", func() bool { return c.manifest(job).State == store.Cancelled && answers > 0 })
	if answers > 100 {
		t.Errorf("%d requests waited, want at most 100", answers)
	}
}

// The list of jobs fits into a message for any number of parked jobs.
func TestListOfJobsFitsInAMessage(t *testing.T) {
	c := newCluster(t)
	const many = wire.MaxListed + 100
	for i := range many {
		spec := store.Spec{ID: fmt.Sprintf("0%015d", i), Job: strings.Repeat("k", 40), Version: strings.Repeat("v", 40), Params: jobs.Params(`{}`), MaxAttempts: 1}
		if err := c.store.Submit(context.Background(), spec); err != nil {
			t.Fatal(err)
		}
		if err := c.store.Activate(context.Background(), spec.ID); err != nil {
			t.Fatal(err)
		}
		queued := store.Manifest{Epoch: 1, Sequence: 1, State: store.Queued}
		if _, err := c.store.PutManifest(context.Background(), spec.ID, queued, store.IfAbsent); err != nil {
			t.Fatal(err)
		}
	}
	l := c.lead(func(cfg *term.Config) {
		plain(cfg)
		cfg.Logger = slog.New(slog.DiscardHandler)
	})
	c.until("all are seen", func() bool {
		list := l.term.Jobs(wire.JobQuery{})
		return len(list.Jobs)+list.More == many
	})
	list := l.term.Jobs(wire.JobQuery{})
	if size := len(wire.Encode(list)); len(list.Jobs) != wire.MaxListed || size > wire.MaxMessage {
		t.Errorf("%d are listed in %d bytes, %d left out", len(list.Jobs), size, list.More)
	}
	last := fmt.Sprintf("0%015d", many-1)
	if one := l.term.Jobs(wire.JobQuery{Job: last}); len(one.Jobs) != 1 || one.Jobs[0].Job != last {
		t.Errorf("a query for %s alone got %v", last, one.Jobs)
	}
}
