package coordinator_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestJobRunsToItsEnd(t *testing.T) {
	for _, params := range [][]string{
		{"partitions=1"},
		{"partitions=1000"},
		{"partitions=20", "pad=5000"},   // larger than a manifest holds
		{"partitions=5", "pad=300_000"}, // larger than the leader keeps in memory
	} {
		t.Run(strings.Join(params, " "), func(t *testing.T) {
			c := newTestCluster(t)
			c.lead(1)
			job := c.submit(params...)
			w := newTestWorker(c, "w1", digits)
			w.follow(1)
			w.workUntilEnded(job)
			m := c.wantResult(job, params...)
			if m.Executed != m.Partitions {
				t.Errorf("executed %d of %d partitions", m.Executed, m.Partitions)
			}
		})
	}
}

func TestNewLeaderResumesFromWhatWorkersAndStorageHold(t *testing.T) {
	c := newTestCluster(t)
	first := c.lead(1)
	job := c.submit("partitions=5000")
	w1, w2 := newTestWorker(c, "w1", digits), newTestWorker(c, "w2", digits)
	for _, w := range []*testWorker{w1, w2} {
		w.follow(1)
		w.reportUntilHeld()
	}
	for range 3 {
		for _, w := range []*testWorker{w1, w2} {
			w.report()
			w.work(100)
		}
	}
	w1.report()
	c.await(job, "a checkpoint", func(m store.Manifest) bool { return m.Executed > 0 })
	first.kill()
	<-first.done

	w1.work(100) // nobody leads, and work goes on
	c.lead(2)
	for _, w := range []*testWorker{w1, w2} {
		w.follow(2)
	}
	for !w1.ended[job] {
		for _, w := range []*testWorker{w1, w2} {
			w.report()
			w.work(100)
		}
	}
	m := c.wantResult(job, "partitions=5000")
	if m.Executed != 5000 {
		t.Errorf("executed %d partitions, want each once", m.Executed)
	}
	if got := mustJSON(t, m.Epochs); got != "[1,2]" {
		t.Errorf("epochs %s, want [1,2]", got)
	}
}

func TestOldLeaderIsFenced(t *testing.T) {
	c := newTestCluster(t)
	old := c.lead(1)
	job := c.submit("partitions=100")
	w := newTestWorker(c, "w1", digits)
	w.follow(1)
	w.reportUntilHeld()
	c.lead(2) // the old one knows nothing of it
	c.await(job, "the fence", func(m store.Manifest) bool { return m.Epoch == 2 })
	w.work(10)
	// The old leader cannot make this durable, and may have noticed already.
	if err := c.nc.Publish(c.subjects.Report(1), wire.Encode(w.next())); err != nil {
		t.Fatal(err)
	}
	<-old.done
	if old.deposed.Load() != 2 {
		t.Errorf("the old leader saw epoch %d, want 2", old.deposed.Load())
	}
	w.follow(2)
	w.workUntilEnded(job)
	c.wantResult(job, "partitions=100")
}

func TestLostAnswersOfStorage(t *testing.T) {
	c := newTestCluster(t)
	var calls atomic.Int64
	c.blobs.Inject(func(call memory.Call) error {
		if call.Operation == memory.Put && call.Done && calls.Add(1)%2 == 0 {
			return store.ErrUnavailable
		}
		return nil
	})
	c.lead(1)
	job := store.NewID(time.Now())
	for job == "" || c.store.Submit(context.Background(), spec(t, job, "partitions=300")) != nil {
		t.Log("submitting again")
	}
	w := newTestWorker(c, "w1", digits)
	w.follow(1)
	for !w.ended[job] {
		w.report()
		w.work(20)
	}
	c.wantResult(job, "partitions=300")
}

func spec(t *testing.T, id string, params ...string) store.Spec {
	t.Helper()
	p, err := digits.Params(nil, params...)
	if err != nil {
		t.Fatal(err)
	}
	return store.Spec{ID: id, Job: "digits", Version: "1", Params: p, MaxAttempts: 2}
}

func TestStorageOutage(t *testing.T) {
	c := newTestCluster(t)
	leader := c.lead(1)
	job := c.submit("partitions=300")
	w := newTestWorker(c, "w1", digits)
	w.follow(1)
	w.report()
	var refused atomic.Int64
	c.blobs.Inject(func(memory.Call) error { refused.Add(1); return store.ErrUnavailable })
	for refused.Load() < 3 {
		w.report()
		w.work(10)
	}
	durable := w.durable[job]
	w.report()
	if w.durable[job] != durable {
		t.Error("something was called durable while storage was out of reach")
	}
	c.blobs.Inject(nil)
	w.workUntilEnded(job)
	c.wantResult(job, "partitions=300")
	leader.kill()
}

func TestDurableOnlyAfterTheManifestHasIt(t *testing.T) {
	c := newTestCluster(t)
	c.lead(1)
	job := c.submit("partitions=200")
	w := newTestWorker(c, "w1", digits)
	w.follow(1)
	for !w.ended[job] {
		w.report()
		m, _, err := c.store.Manifest(context.Background(), job)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		through := uint64(0)
		for _, contributor := range m.Workers {
			if contributor.Worker == w.id {
				through = contributor.Through
			}
		}
		if w.durable[job] > through {
			t.Fatalf("items up to %d were called durable, storage has those up to %d", w.durable[job], through)
		}
		w.work(5)
	}
	c.wantResult(job, "partitions=200")
}

func TestFaultsOfTheJobsCode(t *testing.T) {
	for fail, want := range map[string]string{
		"plan": "no plan", "finish": "cannot finish", "merge": "cannot merge", "map": "partition 3 failed 2 times",
	} {
		t.Run(fail, func(t *testing.T) {
			c := newTestCluster(t)
			c.lead(1)
			job := c.submit("partitions=50", "fail="+fail)
			w := newTestWorker(c, "w1", digits)
			w.follow(1)
			for {
				if m, _, err := c.store.Manifest(context.Background(), job); err == nil && m.State.Final() {
					break
				}
				w.report()
				w.workSingly()
			}
			m := c.awaitEnd(job)
			if m.State != store.Failed || !strings.Contains(m.Error, want) {
				t.Errorf("job is %s: %q, want it failed with %q", m.State, m.Error, want)
			}
			c.awaitTidy()
		})
	}
}

// workSingly runs what is held without merging in the worker.
func (w *testWorker) workSingly() {
	for i := range w.held {
		h := &w.held[i]
		for ; !h.Span.Empty(); h.Span.Lo++ {
			w.run(h, jobs.Span{Lo: h.Span.Lo, Hi: h.Span.Lo + 1})
		}
	}
	w.forgetEmpty()
}

func TestCancel(t *testing.T) {
	c := newTestCluster(t)
	c.lead(1)
	job := c.submit("partitions=100")
	w := newTestWorker(c, "w1", digits)
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
	c.awaitTidy()
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

func TestJobThatTheLeaderDoesNotKnowWaitsForOneThatDoes(t *testing.T) {
	c := newTestCluster(t)
	ignorant := c.lead(1, jobs.MustNew(jobs.Definition[struct{}, int, int]{
		Name: "other", Version: "1",
		Plan:   func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{}, nil },
		Open:   func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[int], error) { return nil, nil },
		Merge:  func(int, int) (int, error) { return 0, nil },
		Finish: func(context.Context, struct{}, int) (int, error) { return 0, nil },
	}))
	job := c.submit("partitions=10")
	c.await(job, "the job to be seen", func(m store.Manifest) bool { return m.State == store.Queued })
	deadline := time.Now().Add(10 * time.Second)
	for {
		answer, err := wire.Decode[wire.Jobs](c.ask(c.subjects.Ask(wire.AskJobs), wire.Encode(wire.JobQuery{Job: job})).Data)
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.Jobs) == 1 && strings.Contains(answer.Jobs[0].Trouble, "does not know digits version 1") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("status of the job: %+v", answer.Jobs)
		}
	}
	ignorant.stop()
	<-ignorant.done
	c.lead(2)
	w := newTestWorker(c, "w1", digits)
	w.follow(2)
	for m := c.await(job, "a manifest", func(store.Manifest) bool { return true }); !m.State.Final(); {
		w.report()
		w.work(10)
		m = c.await(job, "a manifest", func(store.Manifest) bool { return true })
	}
	if m := c.awaitEnd(job); m.State != store.Completed {
		t.Errorf("job is %s: %s", m.State, m.Error)
	}
}

func TestSenselessMessagesAreRefused(t *testing.T) {
	c := newTestCluster(t)
	c.lead(1)
	job := c.submit("partitions=100")
	w := newTestWorker(c, "w1", digits)
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
		t.Error("a report out of sequence was taken")
	}
	outside := wire.NewPartial(jobs.Node{Level: 40, Index: 3}, []byte("x"))
	damaged := wire.NewPartial(jobs.Leaf(99), []byte("99,"))
	damaged.Sum++
	unknown := wire.NewPartial(jobs.Leaf(0), []byte("x"))
	w.work(5)
	w.items[job] = append(w.items[job], wire.Item{Partial: &outside}, wire.Item{Partial: &damaged})
	w.items["nosuchjob0000000"] = []wire.Item{{Partial: &unknown}}
	w.workUntilEnded(job)
	m := c.wantResult(job, "partitions=100")
	if m.Executed != 100 {
		t.Errorf("executed %d partitions, want 100", m.Executed)
	}
}

func TestStopTakesLastCheckpointAndNamesSuccessor(t *testing.T) {
	c := newTestCluster(t)
	leader := c.lead(1)
	job := c.submit("partitions=1000")
	w := newTestWorker(c, "w1", digits)
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
