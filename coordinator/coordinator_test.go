package coordinator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestJobRunsToItsEnd(t *testing.T) {
	for _, params := range [][]string{
		{"partitions=1"},
		{"partitions=1000"},
		{"partitions=20", "pad=5000"},   // larger than the limit of a manifest
		{"partitions=5", "pad=300_000"}, // larger than the leader's limit of partials in memory
		{"partitions=1", "pad=300_000"}, // in a blob that no merge and no checkpoint names
	} {
		t.Run(strings.Join(params, " "), func(t *testing.T) {
			c := newCluster(t)
			c.lead(1)
			job := c.submit(params...)
			announced, err := c.nc.SubscribeSync(c.subjects.Ended(job))
			if err != nil {
				t.Fatal(err)
			}
			w := newWorker(c, "w1", digits)
			w.follow(1)
			w.workUntilEnded(job)
			m := c.wantResult(job, params...)
			if _, err := announced.NextMsg(10 * time.Second); err != nil {
				t.Errorf("announcement of the end: %v", err)
			}
			if m.Executed != m.Partitions {
				t.Errorf("executed %d of %d partitions", m.Executed, m.Partitions)
			}
		})
	}
}

func TestOldLeaderIsFenced(t *testing.T) {
	c := newCluster(t)
	old := c.lead(1)
	job := c.submit("partitions=100")
	w := newWorker(c, "w1", digits)
	w.follow(1)
	w.reportUntilHeld()
	c.lead(2) // the old leader does not notice the new leader
	c.await(job, "the fence", func(m store.Manifest) bool { return m.Epoch == 2 })
	w.work(10)
	// The old leader cannot make this report durable, and may already know that it was deposed.
	if err := c.nc.Publish(c.subjects.Report(1), wire.Encode(w.next())); err != nil {
		t.Fatal(err)
	}
	<-old.done
	if old.deposed.Load() != 2 {
		t.Errorf("the old leader was deposed by epoch %d, want 2", old.deposed.Load())
	}
	w.follow(2)
	w.workUntilEnded(job)
	c.wantResult(job, "partitions=100")
}

func TestErrorsOfTheJobsCodeFailTheJob(t *testing.T) {
	for fail, want := range map[string]string{
		"plan": "no plan", "finish": "cannot finish", "merge": "cannot merge", "map": "partition 3 failed 2 times",
	} {
		t.Run(fail, func(t *testing.T) {
			c := newCluster(t)
			c.lead(1)
			job := c.submit("partitions=50", "fail="+fail)
			w := newWorker(c, "w1", digits)
			w.follow(1)
			for {
				if m, _, err := c.store.Manifest(context.Background(), job); err == nil && m.State.Final() {
					break
				}
				w.report()
				w.workWithoutMerging()
			}
			m := c.awaitEnd(job)
			if m.State != store.Failed || !strings.Contains(m.Error, want) {
				t.Errorf("job is %s: %q, want it failed with %q", m.State, m.Error, want)
			}
			c.awaitCleanUp()
		})
	}
}

func TestCancel(t *testing.T) {
	c := newCluster(t)
	c.lead(1)
	job := c.submit("partitions=100")
	w := newWorker(c, "w1", digits)
	w.follow(1)
	w.reportUntilHeld()
	if err := c.cancel(job); err != nil {
		t.Fatal(err)
	}
	if m := c.awaitEnd(job); m.State != store.Cancelled {
		t.Errorf("job is %s, want cancelled", m.State)
	}
	w.work(10)
	w.report()
	if !w.ended[job] {
		t.Error("the worker was not told that the job has ended")
	}
	c.awaitCleanUp()
	if err := c.cancel(job); err != nil {
		t.Errorf("cancel again: %v", err)
	}
	if err := c.cancel("nosuchjob0000000"); err == nil {
		t.Error("cancelled a job that does not exist")
	}
	other := c.submit("partitions=1")
	w.workUntilEnded(other)
	if err := c.cancel(other); err == nil || !strings.Contains(err.Error(), "completed") {
		t.Errorf("cancel a completed job: %v", err)
	}
}

func TestMalformedMessagesAreRefused(t *testing.T) {
	c := newCluster(t)
	c.lead(1)
	job := c.submit("partitions=100")
	w := newWorker(c, "w1", digits)
	w.follow(1)
	w.reportUntilHeld()
	garbage := [][]byte{nil, []byte("garbage"), {99, 1, 2, 3}, {1, 0xff}, make([]byte, 1<<20)}
	for _, subject := range []string{
		c.subjects.Report(1), c.subjects.Ping(1), c.subjects.Beacon(), c.subjects.Suspicion(),
		c.subjects.Ask(wire.AskLeader), c.subjects.Ask(wire.AskWorkers), c.subjects.Ask(wire.AskJobs), c.subjects.Ask(wire.AskCancel),
	} {
		for _, data := range garbage {
			if err := c.nc.Publish(subject, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if receipt := w.send(wire.Report{Epoch: 1, Worker: "stranger", Sequence: 7}); receipt.Refused == "" {
		t.Error("a report out of sequence was accepted")
	}
	outside := wire.NewPartial(engine.Node{Level: 40, Index: 3}, []byte("x"))
	damaged := wire.NewPartial(engine.Leaf(99), []byte("99,"))
	damaged.Sum++
	unknown := wire.NewPartial(engine.Leaf(0), []byte("x"))
	w.work(5)
	w.items[job] = append(w.items[job], wire.Item{Partial: &outside}, wire.Item{Partial: &damaged})
	w.items["nosuchjob0000000"] = []wire.Item{{Partial: &unknown}}
	w.workUntilEnded(job)
	m := c.wantResult(job, "partitions=100")
	if m.Executed != 100 {
		t.Errorf("executed %d partitions, want 100", m.Executed)
	}
}

func TestStopTakesTheLastCheckpointAndNamesASuccessor(t *testing.T) {
	c := newCluster(t)
	leader := c.lead(1)
	job := c.submit("partitions=1000")
	w := newWorker(c, "w1", digits)
	w.follow(1)
	w.reportUntilHeld()
	w.work(50)
	w.report()
	leader.stop()
	<-leader.done
	if leader.err != nil || leader.successor != "w1" {
		t.Errorf("successor %q, error %v, want w1", leader.successor, leader.err)
	}
	m, _, err := c.store.Manifest(context.Background(), job)
	if err != nil || m.Executed != 50 {
		t.Errorf("the last checkpoint has %d partitions, error %v, want 50", m.Executed, err)
	}
}
