package term_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// words is the job letters under another name.
var words = func() jobs.Job {
	d := lettersDefinition(func() {})
	d.Name = "words"
	return jobs.MustNew(d)
}()

// knowing configures a leader that knows other kinds of jobs.
func knowing(known ...jobs.Job) func(*term.Config) {
	return func(cfg *term.Config) {
		plain(cfg)
		cfg.Jobs = known
	}
}

func kindOf(j jobs.Job) wire.JobKind { return wire.JobKind{Name: j.Name(), Version: j.Version()} }

// A leader leads a job whose definition its program lacks, and workers merge. When such a leader
// stops, a worker that can merge for the job is the successor.
func TestLeaderLeadsAJobThatItDoesNotKnow(t *testing.T) {
	c := newCluster(t)
	other, able := c.addWorker("w1"), c.addWorker("w2")
	other.knows = []wire.JobKind{kindOf(words)}
	first := c.lead(knowing(words))
	job := c.submit("partitions=8", "pad=300_000") // merged partials are larger than the limit of a report
	c.until("a merge", func() bool { return slices.Contains(able.called, "Merge") })
	first.turn(first.term.Stop)
	successor := ""
	c.until("the leader to leave", func() (left bool) { successor, left = first.term.Left(); return left })
	if successor != "w2" {
		t.Errorf("the successor is %q, want w2", successor)
	}
	first.depose()
	c.lead(knowing(words))
	c.wantCompleted(job, localResult(t, "partitions=8"))
	if len(other.called) > 0 {
		t.Errorf("a worker that does not know the job called %v", other.called)
	}
}

// If a whole cluster is stopped, the workers are told within a short time, but not simultaneously.
// A leader that stops chooses no successor that drains shortly afterwards.
func TestClusterStopsAsAWhole(t *testing.T) {
	c := newCluster(t)
	first, last := c.addWorker("w1"), c.addWorker("w2")
	leader := c.lead(func(cfg *term.Config) { plain(cfg); cfg.StopWithin = 5 * time.Second })
	states := func() (list []string) {
		for _, w := range leader.term.Workers().Workers {
			list = append(list, w.State)
		}
		return list
	}
	c.until("the workers to join", func() bool { return len(states()) == 2 })
	stopped := c.now
	first.drains = true
	c.until("a worker to drain", func() bool { return slices.Contains(states(), "draining") })
	leader.turn(leader.term.Stop)
	left := func() bool { _, left := leader.term.Left(); return left }
	for c.now.Sub(stopped) < 100*time.Millisecond {
		if left() {
			t.Fatalf("the leader left %v after the other worker was told to stop", c.now.Sub(stopped))
		}
		c.pass(step)
	}
	last.drains = true
	c.until("the leader to leave", left)
	if successor, _ := leader.term.Left(); successor != "" {
		t.Errorf("the successor is %q, which drains", successor)
	}
}

// A leader that stops together with all others waits for a worker that still runs partitions,
// because the worker needs a leader for its results.
func TestLeaderWaitsForDrainingWorkers(t *testing.T) {
	c := newCluster(t)
	w := c.addWorker("w1")
	leader := c.lead(func(cfg *term.Config) { plain(cfg); cfg.StopWithin = time.Minute })
	c.submit("partitions=1000")
	c.until("the worker to run a span", func() bool { return len(w.held) > 0 })
	w.drains = true
	leader.turn(leader.term.Stop)
	for len(w.held) > 0 {
		if _, left := leader.term.Left(); left {
			t.Fatalf("the leader left while the worker holds %v", w.held)
		}
		c.pass(step)
	}
	c.until("the leader to leave", func() bool { _, left := leader.term.Left(); return left })
}

// A leader whose own worker drains hands over as soon as another worker can lead, although its worker
// still runs partitions. The next leader receives the results of that worker.
func TestLeaderYieldsWhenItsWorkerDrains(t *testing.T) {
	c := newCluster(t)
	own := c.addWorker("leader-1")
	first := c.lead(func(cfg *term.Config) { plain(cfg); cfg.StopWithin = 4 * step })
	job := c.submit("partitions=1000")
	c.until("the leader's worker to run partitions", func() bool { return own.ran[job] > 0 })
	own.drains = true
	drained := c.now
	for c.now.Sub(drained) < 40*step {
		if _, left := first.term.Left(); left {
			t.Fatal("the leader left although no other worker can lead")
		}
		c.pass(step)
	}
	c.addWorker("w2").follow(first)
	successor := ""
	c.until("the leader to leave", func() (left bool) { successor, left = first.term.Left(); return left })
	if successor != "w2" || len(own.held) == 0 {
		t.Errorf("the successor is %q and the leader's worker holds %v, want w2 and a span", successor, own.held)
	}
	first.depose()
	c.lead(plain)
	c.wantCompleted(job, localResult(t, "partitions=1000"))
}

// A leader that hands over because its worker drains keeps leading if its successor drains too before the
// lease is handed over. When it is told to stop, it leaves as any other leader.
func TestLeaderLosesItsSuccessor(t *testing.T) {
	c := newCluster(t)
	own, other := c.addWorker("leader-1"), c.addWorker("w2")
	leader := c.lead(plain)
	drains := func(worker int) func() bool {
		return func() bool {
			list := leader.term.Workers().Workers
			return len(list) == 2 && list[worker].State == "draining"
		}
	}
	c.until("the workers to join", func() bool { return len(leader.term.Workers().Workers) == 2 })
	own.drains = true
	c.until("the leader's worker to drain", drains(0))
	other.drains = true
	c.until("the other worker to drain", drains(1))
	for drained := c.now; c.now.Sub(drained) < time.Second; c.pass(step) {
		if _, left := leader.term.Left(); left {
			t.Fatalf("the leader left after %v although no other worker can lead", c.now.Sub(drained))
		}
	}
	leader.turn(leader.term.Stop)
	c.until("the leader to leave", func() bool { _, left := leader.term.Left(); return left })
}

// A job of an unknown kind is parked until a worker that knows the kind says hello.
func TestParkedJobBeginsWhenAWorkerKnowsIt(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1").knows = []wire.JobKind{kindOf(words)}
	leader := c.lead(plain)
	job := c.submit("partitions=8")
	var parked []wire.JobProgress
	c.until("the job to be parked", func() bool { parked = leader.term.Jobs(wire.JobQuery{}).Jobs; return len(parked) == 1 })
	c.pass(3 * hideFor)
	if !strings.Contains(parked[0].Trouble, "no worker knows letters version 1") {
		t.Errorf("the job's trouble is %q", parked[0].Trouble)
	}
	c.addWorker("w2").follow(leader)
	c.wantCompleted(job, localResult(t, "partitions=8"))
}

// If the limit of active jobs is reached when a worker that knows a parked job says hello, the job
// begins when its submission is delivered again.
func TestParkedJobWaitsForAPlace(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1").knows = []wire.JobKind{kindOf(words)}
	leader := c.lead(func(cfg *term.Config) { cfg.MaxActive = 2 })
	var ids []string
	for range 6 {
		ids = append(ids, c.submit("partitions=8"))
	}
	c.until("the jobs to be parked", func() bool { return len(leader.term.Jobs(wire.JobQuery{}).Jobs) == len(ids) })
	c.addWorker("w2").follow(leader)
	for _, id := range ids {
		c.wantCompleted(id, localResult(t, "partitions=8"))
	}
}

// A leader that is told to stop as soon as it has begun leaves only when its record is in the
// history.
func TestShortTermIsInTheHistory(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	var written time.Time // when the write of the record takes effect; zero until the leader is told to stop
	c.fault = func(call memory.Call) error {
		if call.Operation == memory.Put && strings.HasPrefix(call.Key, "term/") {
			c.wait(func() bool { return !written.IsZero() && !c.now.Before(written) })
		}
		return nil
	}
	leader := c.lead(plain)
	c.until("the worker to join", func() bool { return len(leader.term.Workers().Workers) == 1 })
	written = c.now.Add(stopWithin / 2)
	leader.turn(leader.term.Stop)
	c.until("the leader to leave", func() bool { _, left := leader.term.Left(); return left })
	leader.kill()
	terms, err := c.store.Terms(t.Context())
	if err != nil || len(terms) != 1 || terms[0].Epoch != 1 {
		t.Errorf("history: %+v, %v, want one record, of epoch 1", terms, err)
	}
}

// A leader that stops while storage is unavailable waits at most StopWithin for the write of its
// record.
func TestRecordHoldsUpNoHandover(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	c.fault = func(call memory.Call) error {
		if call.Operation == memory.Put && strings.HasPrefix(call.Key, "term/") {
			return store.ErrUnavailable
		}
		return nil
	}
	leader := c.lead(plain)
	c.until("the worker to join", func() bool { return len(leader.term.Workers().Workers) == 1 })
	stopped := c.now
	leader.turn(leader.term.Stop)
	c.until("the leader to leave", func() bool { _, left := leader.term.Left(); return left })
	if took := c.now.Sub(stopped); took > stopWithin+step {
		t.Errorf("the leader left after %v, want at most %v", took, stopWithin+step)
	}
}
