package nats_test

import (
	"io"
	"strings"
	"testing"
)

func TestSubmitterSubmitsAndWorkersWork(t *testing.T) {
	f := startFlock(t, 2)
	f.workWhole(t)

	// Partials and results that are too large for one message go another way.
	var large outcome
	f.must(submitter, &large, "submit", "probe", "-p", "partitions=20", "-p", "partial-size=2000000", "--wait")
	if large.State != "completed" {
		t.Errorf("large partials: %+v", large)
	}
	f.must(submitter, &large, "submit", "bulky", "--wait")
	if large.State != "completed" {
		t.Errorf("large result: %+v", large)
	}
	f.removeAll()
	f.refusedNothing()
}

// removeAll removes the jobs, which have all ended, as an operator does. Nobody else may.
func (f *flock) removeAll() {
	f.t.Helper()
	var before, after, removed []outcome
	f.must(observer, &before, "list")
	for _, user := range []string{submitter, observer} {
		if status := f.status(user, "remove", "--ended-before", "0s"); status != 3 {
			f.t.Errorf("remove as %s: status %d, want 3", user, status)
		}
	}
	f.must(observer, &after, "list")
	if len(before) == 0 || len(after) != len(before) {
		f.t.Errorf("of %d jobs %d are left after others' remove", len(before), len(after))
	}
	f.must(worker, &removed, "remove", "--ended-before", "0s")
	f.must(observer, &after, "list")
	if len(removed) != len(before) || len(after) != 0 {
		f.t.Errorf("of %d jobs %d were removed, and %d are left", len(before), len(removed), len(after))
	}
}

// TestAnotherName follows README.md to a cluster of another name.
func TestAnotherName(t *testing.T) {
	f := &flock{t: t, flags: []string{"--cluster", "blue-1"}}
	f.url = startServer(t, "bellwether.default", "bellwether.blue-1", "bellwether-default", "bellwether-blue-1", "bellwether_default", "bellwether_blue-1")
	f.startWorkers(1)
	var done outcome
	f.must(submitter, &done, "submit", "probe", "-p", "partitions=10", "--wait")
	if done.State != "completed" {
		t.Errorf("got %+v", done)
	}
	f.refusedNothing()
}

// workWhole has a submitter and an observer do all that they can.
func (f *flock) workWhole(t *testing.T) {
	t.Helper()
	var here, done, again outcome
	f.must("", &here, "run", "probe", "-p", "partitions=1000")
	f.must(submitter, &done, "submit", "probe", "-p", "partitions=1000", "--wait")
	if done.State != "completed" || done.Partitions != 1000 || done.SHA256 != here.SHA256 {
		t.Fatalf("got %+v, here %+v", done, here)
	}
	for _, user := range []string{submitter, observer} {
		f.must(user, &again, "result", done.ID)
		if again.SHA256 != done.SHA256 {
			t.Errorf("result says to %s %+v, submit --wait said %+v", user, again, done)
		}
		var list []outcome
		f.must(user, &list, "list")
		if len(list) != 1 || list[0].ID != done.ID {
			t.Errorf("list as %s: %+v", user, list)
		}
		var status outcome
		f.must(user, &status, "status", done.ID)
		if status.State != "completed" {
			t.Errorf("status as %s: %+v", user, status)
		}
		var leader struct{ Epoch uint64 }
		f.must(user, &leader, "leader")
		var history []struct{ Epoch uint64 }
		f.must(user, &history, "history")
		if len(history) != 1 || history[0].Epoch != leader.Epoch {
			t.Errorf("history as %s: %+v, leader %+v", user, history, leader)
		}
		if status := f.run(t.Context(), user, io.Discard, io.Discard, "watch", done.ID); status != 0 {
			t.Errorf("watch as %s: status %d", user, status)
		}
	}

	var long, status outcome
	f.must(submitter, &long, "submit", "probe", "-p", "partitions=1000000", "-p", "sleep=20ms")
	f.until("the long job runs", func() bool {
		f.must(observer, &status, "status", long.ID)
		return status.State == "running"
	})
	if status := f.status(observer, "cancel", long.ID); status != 3 {
		t.Errorf("an observer's cancel: status %d, want 3", status)
	}
	f.must(observer, &status, "status", long.ID)
	if status.State != "running" {
		t.Errorf("after an observer's cancel: %+v", status)
	}
	if status := f.run(t.Context(), submitter, io.Discard, io.Discard, "cancel", long.ID); status != 0 {
		t.Errorf("cancel: status %d", status)
	}
	f.must(submitter, &status, "status", long.ID)
	if status.State != "cancelled" {
		t.Errorf("after cancel: %+v", status)
	}
}

func TestLeadershipChanges(t *testing.T) {
	f := startFlock(t, 2)
	var before, after struct {
		Epoch  uint64
		Worker string
	}
	f.must(submitter, &before, "leader")
	for _, user := range []string{submitter, observer} {
		if status := f.status(user, "leader", "step-down"); status != 3 {
			t.Errorf("step-down as %s: status %d, want 3", user, status)
		}
	}
	f.must(submitter, &after, "leader")
	if after != before {
		t.Errorf("a submitter made the leader step down: %+v, then %+v", before, after)
	}
	if status := f.run(t.Context(), worker, io.Discard, io.Discard, "leader", "step-down"); status != 0 {
		t.Errorf("a worker's step-down: status %d", status)
	}
	f.until("another leads", func() bool { return f.ask(submitter, &after, "leader") == nil && after.Epoch > before.Epoch })
	var done outcome
	f.must(submitter, &done, "submit", "probe", "-p", "partitions=100", "--wait")
	if done.State != "completed" || after.Worker == before.Worker {
		t.Errorf("job %+v, leaders %+v, %+v", done, before, after)
	}
	f.refusedNothing()
}

// TestObserverChangesNothing: what submitting takes, an observer is refused.
func TestObserverChangesNothing(t *testing.T) {
	f := startFlock(t, 1)
	if status := f.status(observer, "submit", "probe"); status == 0 {
		t.Error("an observer submitted a job")
	}
	nc, refused := f.connect(observer)
	for _, subject := range []string{
		"$KV.bellwether-default.spec.0123456789abcdef", "bellwether.default.store.queue",
		"bellwether.default.ask.cancel", "_INBOX.answer",
	} {
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		flush(t, nc)
		f.until("the server refuses "+subject, func() bool {
			return strings.Contains(refused.String(), `Publish to "`+subject+`"`)
		})
	}
}
