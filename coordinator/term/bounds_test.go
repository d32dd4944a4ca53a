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

// waits reports whether nothing is under way but waiting for a submission.
func (l *leader) waits() bool { return len(l.tasks) == 1 && len(l.inbox) == 0 }

// Whoever asks to cancel ever new jobs keeps the leader from nothing.
func TestCancellationsThatAreUnderWayAreBounded(t *testing.T) {
	s := newStage(t)
	l := s.lead(plain)
	s.until("the leader waits for submissions", func() bool { return l.waits() })
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
			t.Fatalf("%d tasks are under way after %d questions", len(l.tasks), i+1)
		}
	}
	s.until("the answers", func() bool { return answered > 0 && l.waits() })
	if unknown != answered || answered > 200 {
		t.Errorf("%d were answered, %d of them by %v", answered, unknown, store.ErrNotFound)
	}
	again := make(chan error, 1)
	l.turn(func() { l.term.Cancel(fmt.Sprintf("1%015d", 0), func(err error) { again <- err }) })
	s.until("the answer to a later question", func() bool { return len(again) > 0 })
}

func TestCancellingWhatIsNoJobIsRefusedAtOnce(t *testing.T) {
	s := newStage(t)
	l := s.lead(plain)
	s.until("the leader waits for submissions", func() bool { return l.waits() })
	var refused error
	l.turn(func() { l.term.Cancel(strings.Repeat("x", 1000), func(err error) { refused = err }) })
	if !errors.Is(refused, store.ErrNotFound) || len(refused.Error()) > 200 || !l.waits() {
		t.Errorf("got %v and %d tasks", refused, len(l.tasks))
	}
}

// Those who wait for one job's end are no more than a few.
func TestThoseWhoWaitForAnEndAreBounded(t *testing.T) {
	s := newStage(t)
	s.hire("w1")
	l := s.lead(plain)
	job := s.submit("partitions=8")
	s.until("the job is active", func() bool { return len(l.term.Jobs(wire.JobQuery{}).Jobs) > 0 })
	answers := 0
	for range 1000 {
		l.turn(func() { l.term.Cancel(job, func(error) { answers++ }) })
	}
	s.until("the end", func() bool { return s.manifest(job).State == store.Cancelled && answers > 0 })
	if answers > 100 {
		t.Errorf("%d waited", answers)
	}
}

// However many jobs wait, the answer fits in a message.
func TestListOfJobsFitsInAMessage(t *testing.T) {
	s := newStage(t)
	const many = wire.MaxListed + 100
	for i := range many {
		spec := store.Spec{ID: fmt.Sprintf("0%015d", i), Job: strings.Repeat("k", 40), Version: strings.Repeat("v", 40), Params: jobs.Params(`{}`), MaxAttempts: 1}
		if err := s.store.Submit(context.Background(), spec); err != nil {
			t.Fatal(err)
		}
		if err := s.store.Activate(context.Background(), spec.ID); err != nil {
			t.Fatal(err)
		}
	}
	l := s.lead(func(cfg *term.Config) {
		plain(cfg)
		cfg.Logger = slog.New(slog.DiscardHandler)
	})
	s.until("all are seen", func() bool {
		list := l.term.Jobs(wire.JobQuery{})
		return len(list.Jobs)+list.More == many
	})
	list := l.term.Jobs(wire.JobQuery{})
	if size := len(wire.Encode(list)); len(list.Jobs) != wire.MaxListed || size > wire.MaxMessage {
		t.Errorf("%d are listed in %d bytes, %d left out", len(list.Jobs), size, list.More)
	}
	last := fmt.Sprintf("0%015d", many-1)
	if one := l.term.Jobs(wire.JobQuery{Job: last}); len(one.Jobs) != 1 || one.Jobs[0].Job != last {
		t.Errorf("asked for %s alone, got %v", last, one.Jobs)
	}
}
