package coordinator_test

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// other is a kind of job that is never submitted.
var other = jobs.MustNew(jobs.Definition[struct{}, int, int]{
	Name: "other", Version: "1",
	Plan:   func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{}, nil },
	Open:   func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[int], error) { return nil, nil },
	Merge:  func(int, int) (int, error) { return 0, nil },
	Finish: func(context.Context, struct{}, int) (int, error) { return 0, nil },
})

// A leader whose program lacks the definition of a job can still lead the job.
func TestLeaderLeadsAJobThatItDoesNotKnow(t *testing.T) {
	c := newCluster(t)
	first := c.lead(1)
	job := c.submit("partitions=1000")
	w := newWorker(c, "w1", digits)
	w.follow(1)
	w.reportUntilHeld()
	first.kill()
	<-first.done

	w.work(100)
	c.lead(2, other)
	w.follow(2)
	w.workUntilEnded(job)
	if m := c.wantResult(job, "partitions=1000"); m.Executed != 1000 {
		t.Errorf("executed %d partitions, want each once", m.Executed)
	}
}

// A leader that was replaced may begin a job after the new leader has listed the active jobs. The
// new leader learns of such a job from a worker's report.
func TestNewLeaderResumesAJobThatTheOldOneBeganLate(t *testing.T) {
	c := newCluster(t)
	c.queue = memory.NewQueue(time.Hour) // no submission is delivered twice
	c.store = store.New(store.Config{Blobs: c.blobs, Queue: c.queue})
	c.lead(1)
	other := c.submit("partitions=10")
	w := newWorker(c, "w1", digits)
	w.follow(1)
	w.workUntilEnded(other) // leader 1 leads, and there are no active jobs to list
	c.awaitCleanUp()
	hold := make(chan struct{})
	listed := make(chan struct{})
	once := sync.OnceFunc(func() { close(listed) })
	c.blobs.Inject(func(call memory.Call) error {
		if call.Operation == memory.List && call.Done {
			once()
			<-hold
		}
		return nil
	})
	c.leadAs(2, func(*coordinator.Config) {})
	<-listed
	job := c.submit("partitions=1000")
	w.reportUntilHeld()
	w.work(100)
	close(hold)
	w.follow(2)
	w.workUntilEnded(job)
	m := c.awaitEnd(job)
	if m.State != store.Completed || m.Executed != 1000 {
		t.Errorf("job is %s, executed %d partitions, want each once", m.State, m.Executed)
	}
	if got := mustJSON(t, m.Epochs); got != "[1,2]" {
		t.Errorf("epochs %s, want [1,2]", got)
	}
}

// A confirmed cancellation remains effective if it arrives while a new leader resumes the job.
func TestCancelWhileResumed(t *testing.T) {
	c := newCluster(t)
	first := c.lead(1)
	job := c.submit("partitions=100")
	c.await(job, "a manifest", func(m store.Manifest) bool { return m.State == store.Running })
	first.kill()
	<-first.done
	fenced, hold := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c.blobs.Inject(func(call memory.Call) error {
		if call.Operation == memory.Put && call.Done && strings.HasPrefix(call.Key, "manifest/") {
			once.Do(func() { close(fenced); <-hold })
		}
		return nil
	})
	c.lead(2)
	<-fenced
	cancelled := make(chan error, 1)
	go func() { cancelled <- c.cancel(job) }()
	time.AfterFunc(50*time.Millisecond, func() { close(hold) })
	if err := <-cancelled; err != nil {
		t.Fatal(err)
	}
	w := newWorker(c, "w1", digits)
	w.follow(2)
	for range 10 {
		w.report()
		w.work(100)
	}
	if m := c.awaitEnd(job); m.State != store.Cancelled {
		t.Errorf("job is %s, want cancelled", m.State)
	}
	c.awaitCleanUp()
}

// A job whose planning takes longer than its submission stays hidden is planned only once.
func TestSlowPlanRunsOnce(t *testing.T) {
	var plans atomic.Int64
	slow := jobs.MustNew(jobs.Definition[digitsParams, string, string]{
		Name: "digits", Version: "1", Defaults: digitsParams{Partitions: 1, Fail: "no"},
		Plan: func(ctx context.Context, p digitsParams) (jobs.Plan, error) {
			plans.Add(1)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			return jobs.Plan{Partitions: p.Partitions}, nil
		},
		Open: func(_ context.Context, p digitsParams, _ jobs.Plan) (jobs.Mapper[string], error) {
			return digitsMapper{p}, nil
		},
		Merge:  func(left, right string) (string, error) { return left + right, nil },
		Finish: func(_ context.Context, _ digitsParams, root string) (string, error) { return root, nil },
	})
	c := newCluster(t)
	c.queue = memory.NewQueue(100 * time.Millisecond)
	c.store = store.New(store.Config{Blobs: c.blobs, Queue: c.queue})
	c.leadAs(1, func(cfg *coordinator.Config) { cfg.ExtendEvery = 30 * time.Millisecond })
	job := c.submit("partitions=10")
	w := newWorker(c, "w1", slow)
	w.follow(1)
	w.workUntilEnded(job)
	c.wantResult(job, "partitions=10")
	if plans.Load() != 1 {
		t.Errorf("planned %d times, want once", plans.Load())
	}
	poison, err := c.store.PoisonList(context.Background())
	if err != nil || len(poison) > 0 {
		t.Errorf("poison list: %v, error %v", poison, err)
	}
}

// A damaged partial fails its job. A damaged partial neither stops the leader nor the leaders after
// it.
func TestDamagedRootFailsItsJobOnly(t *testing.T) {
	c := newCluster(t)
	leader := c.lead(1)
	job := c.submit("partitions=1", "pad=300_000")
	w := newWorker(c, "w1", digits)
	w.follow(1)
	w.reportUntilHeld()
	w.work(1)
	items := w.items[job]
	key := "partial/" + job + "/" + items[len(items)-1].Partial.Blob
	if _, err := c.blobs.Put(context.Background(), key, []byte("garbage"), store.Always); err != nil {
		t.Fatal(err)
	}
	w.workUntilEnded(job)
	if m := c.awaitEnd(job); m.State != store.Failed || !strings.Contains(m.Error, "corrupt") {
		t.Errorf("job is %s: %s, want it failed because a partial is corrupt", m.State, m.Error)
	}
	c.awaitCleanUp(key)
	other := c.submit("partitions=10")
	w.workUntilEnded(other)
	select {
	case <-leader.done:
		t.Errorf("the leader stepped down: %v", leader.err)
	default:
	}
}

// A damaged plan parks its job, and the other jobs continue.
func TestDamagedPlanParksItsJobOnly(t *testing.T) {
	c := newCluster(t)
	first := c.lead(1)
	damaged, job := c.submit("partitions=10"), c.submit("partitions=10")
	planner := newWorker(c, "w0", digits)
	planner.follow(1)
	for _, id := range []string{damaged, job} {
		for _, err := c.store.Plan(context.Background(), id); err != nil; _, err = c.store.Plan(context.Background(), id) {
			planner.report()
			planner.makeCalls()
		}
	}
	first.kill()
	<-first.done
	if _, err := c.blobs.Put(context.Background(), "plan/"+damaged, []byte("garbage"), store.Always); err != nil {
		t.Fatal(err)
	}
	c.lead(2)
	w := newWorker(c, "w1", digits)
	w.follow(2)
	w.workUntilEnded(job)
	if m := c.awaitEnd(job); m.State != store.Completed {
		t.Errorf("job is %s", m.State)
	}
	answer, err := wire.Decode[wire.Jobs](c.ask(c.subjects.Ask(wire.AskJobs), wire.Encode(wire.JobQuery{Job: damaged})).Data)
	if err != nil || len(answer.Jobs) != 1 || !strings.Contains(answer.Jobs[0].Trouble, "corrupt") {
		t.Errorf("status of the damaged job: %+v, error %v", answer.Jobs, err)
	}
}

func TestCancelOfAParkedJob(t *testing.T) {
	c := newCluster(t)
	c.lead(1)
	job := c.submit("partitions=10") // no worker knows the job
	c.await(job, "the job to be seen", func(m store.Manifest) bool { return m.State == store.Running })
	if err := c.cancel(job); err != nil {
		t.Fatal(err)
	}
	c.awaitCleanUp() // the clean-up happens when the job's submission is delivered again
	answer, err := wire.Decode[wire.Jobs](c.ask(c.subjects.Ask(wire.AskJobs), wire.Encode(wire.JobQuery{})).Data)
	if err != nil || len(answer.Jobs) != 0 {
		t.Errorf("jobs: %+v, error %v, want none", answer.Jobs, err)
	}
}

// Jobs that a leader resumes count towards MaxActive.
func TestResumedJobsCountAsActive(t *testing.T) {
	c := newCluster(t)
	two := func(cfg *coordinator.Config) { cfg.MaxActive = 2 }
	var ids []string
	for epoch := uint64(1); epoch <= 3; epoch++ {
		l := c.leadAs(epoch, two)
		w := newWorker(c, "w1", digits) // the worker makes no calls, so the jobs stay active
		w.follow(epoch)
		w.report()
		for len(ids) < 6 {
			ids = append(ids, c.submit("partitions=10"))
		}
		active := func() (ids []string) {
			ids, err := c.store.Active(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return ids
		}
		for deadline := time.Now().Add(10 * time.Second); len(active()) < 2 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		for range 20 {
			w.report()
		}
		if n := len(active()); n != 2 {
			t.Fatalf("%d jobs are active under epoch %d, want 2", n, epoch)
		}
		for _, id := range active() {
			c.await(id, "a checkpoint", func(m store.Manifest) bool { return len(m.Workers) > 0 })
		}
		l.kill()
		<-l.done
	}
	c.leadAs(4, two)
	w := newWorker(c, "w1", digits)
	w.follow(4)
	for _, id := range ids {
		for m, _, err := c.store.Manifest(context.Background(), id); err != nil || !m.State.Final(); m, _, err = c.store.Manifest(context.Background(), id) {
			w.report()
			w.work(10)
		}
	}
	c.awaitCleanUp()
}

// deadlineSpy counts the storage calls whose context has a deadline.
type deadlineSpy struct {
	store.Blobs
	calls atomic.Int64
}

func (d *deadlineSpy) Get(ctx context.Context, key string) ([]byte, store.Version, error) {
	d.count(ctx)
	return d.Blobs.Get(ctx, key)
}

func (d *deadlineSpy) Put(ctx context.Context, key string, value []byte, cond store.Condition) (store.Version, error) {
	d.count(ctx)
	return d.Blobs.Put(ctx, key, value, cond)
}

func (d *deadlineSpy) count(ctx context.Context) {
	if _, ok := ctx.Deadline(); ok {
		d.calls.Add(1)
	}
}

// Each renewal extends the leadership's deadline. A driver that used the deadline as a call's
// timeout could wait for a lost answer for the rest of the term.
func TestStorageCallsDoNotHaveTheLeadershipsDeadline(t *testing.T) {
	c := newCluster(t)
	spy := &deadlineSpy{Blobs: c.blobs}
	c.store = store.New(store.Config{Blobs: spy, Queue: c.queue})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	c.leadUnder(ctx, 1, func(*coordinator.Config) {})
	job := c.submit("partitions=10")
	w := newWorker(c, "w1", digits)
	w.follow(1)
	w.workUntilEnded(job)
	c.wantResult(job, "partitions=10")
	if n := spy.calls.Load(); n > 0 {
		t.Errorf("%d calls had the leadership's deadline", n)
	}
}

// The number of a job's blobs depends on the blobs that the job still needs, not on its running
// time. A new leader finds all blobs that it needs.
func TestSupersededBlobsAreDeleted(t *testing.T) {
	for _, pad := range []string{"pad=5_000", "pad=270_000"} { // written by the leader or by workers
		t.Run(pad, func(t *testing.T) {
			c := newCluster(t)
			const partitions, needed = 32, 16 // the tree of 32 partitions has 5 levels, and the worker reports 5 partitions between two checks
			job := c.submit("partitions=32", pad)
			var written atomic.Int64
			c.blobs.Inject(func(call memory.Call) error {
				if call.Operation == memory.Put && call.Done && strings.HasPrefix(call.Key, "partial/") {
					written.Add(1)
				}
				return nil
			})
			w := newWorker(c, "w1", digits)
			leader := c.lead(1)
			w.follow(1)
			abandoned := make(map[string]bool) // blobs of a checkpoint that a killed leader had not finished; they stay until the job ends
			for epoch := uint64(1); !w.ended[job]; {
				w.report()
				w.work(1)
				ran := w.ran(job)
				if ran >= 10*epoch {
					leader.kill()
					<-leader.done
					c.noteUnnamed(job, abandoned)
					epoch++
					leader = c.lead(epoch)
					w.follow(epoch)
				} else if ran%5 == 0 {
					c.await(job, "a checkpoint, and deletions", func(m store.Manifest) bool {
						w.report() // the worker makes merges while it waits
						w.makeCalls()
						blobs, err := c.blobs.List(context.Background(), "partial/")
						blobs = slices.DeleteFunc(blobs, func(key string) bool { return abandoned[key] })
						return m.State.Final() || m.Executed >= ran && err == nil && len(blobs) <= needed
					})
				}
			}
			m := c.wantResult(job, "partitions=32", pad)
			if m.Executed != partitions {
				t.Errorf("executed %d partitions, want %d", m.Executed, partitions)
			}
			if written.Load() <= needed {
				t.Errorf("%d blobs were written, want more than %d", written.Load(), needed)
			}
		})
	}
}

// noteUnnamed adds the keys of the blobs of a job that its manifest does not name.
func (c *cluster) noteUnnamed(job string, keys map[string]bool) {
	c.t.Helper()
	m, _, err := c.store.Manifest(context.Background(), job)
	if err != nil {
		c.t.Fatal(err)
	}
	blobs, err := c.blobs.List(context.Background(), "partial/")
	if err != nil {
		c.t.Fatal(err)
	}
	named := m.Blobs()
	for _, key := range blobs {
		if !named[path.Base(key)] {
			keys[key] = true
		}
	}
}

// A merge that does not return within the leader's limit goes to a worker.
func TestMergeThatHangsInTheLeader(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	hanging := jobs.MustNew(jobs.Definition[digitsParams, string, string]{
		Name: "digits", Version: "1", Defaults: digitsParams{Partitions: 1, Fail: "no"},
		Plan: func(_ context.Context, p digitsParams) (jobs.Plan, error) {
			return jobs.Plan{Partitions: p.Partitions}, nil
		},
		Open: func(_ context.Context, p digitsParams, _ jobs.Plan) (jobs.Mapper[string], error) {
			return digitsMapper{p}, nil
		},
		Merge:  func(left, right string) (string, error) { <-release; return left + right, nil },
		Finish: func(_ context.Context, _ digitsParams, root string) (string, error) { return root, nil },
	})
	c := newCluster(t)
	c.lead(1, hanging)
	job := c.submit("partitions=10")
	w := newWorker(c, "w1", digits)
	w.follow(1)
	for !w.ended[job] {
		w.report()
		w.workWithoutMerging()
	}
	c.wantResult(job, "partitions=10")
}
