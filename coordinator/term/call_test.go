package term_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// failing returns the job letters with a function that fails.
func failing(function wire.Function) jobs.Job {
	d := lettersDefinition(func() {})
	switch function {
	case wire.Plan:
		d.Plan = func(context.Context, lettersParams) (jobs.Plan, error) { return jobs.Plan{}, errors.New("no disk") }
	case wire.Finish:
		d.Finish = func(context.Context, lettersParams, string) (string, error) { return "", errors.New("no disk") }
	}
	return jobs.MustNew(d)
}

// A failed call is retried on another worker. A job fails after MaxAttempts failures of a call.
func TestFailedCallIsRetried(t *testing.T) {
	for _, function := range []wire.Function{wire.Plan, wire.Finish} {
		t.Run(function.String(), func(t *testing.T) {
			c := newCluster(t)
			bad := c.addWorker("w1")
			bad.job = failing(function)
			c.lead(plain)
			job := c.submit("partitions=4")
			c.until("the failure", func() bool { return bad.calls(function) > 0 })
			good := c.addWorker("w2")
			good.follow(c.leaders[0])
			c.wantCompleted(job, localResult(t, "partitions=4"))
			if good.calls(function) != 1 {
				t.Errorf("the other worker called %v", good.called)
			}

			good.job = bad.job
			job = c.submit("partitions=4")
			c.until("the end", func() bool { return c.manifest(job).State.Final() && c.cleanedUp() })
			want := fmt.Sprintf("%v failed 2 times, last on worker ", function)
			if m := c.manifest(job); m.State != store.Failed || !strings.HasPrefix(m.Error, want) || !strings.HasSuffix(m.Error, "no disk") {
				t.Errorf("job is %s: %s", m.State, m.Error)
			}
		})
	}
}

// A leader whose predecessor died does not run code of the resumed jobs, which may have killed the
// predecessor.
func TestResumeRunsNoCodeOfTheJob(t *testing.T) {
	d := lettersDefinition(func() { t.Error("the leader merged") })
	d.Plan = func(context.Context, lettersParams) (jobs.Plan, error) {
		t.Error("the leader planned")
		return jobs.Plan{}, nil
	}
	d.Open = func(context.Context, lettersParams, jobs.Plan) (jobs.Mapper[string], error) {
		t.Error("the leader opened the job")
		return nil, nil
	}
	d.Finish = func(context.Context, lettersParams, string) (string, error) {
		t.Error("the leader finished")
		return "", nil
	}
	forbidden := knowing(jobs.MustNew(d))
	for name, ready := range map[string]func(c *cluster, job string) bool{
		"unplanned": func(c *cluster, job string) bool { return len(c.manifest(job).Workers) > 0 },
		"planned":   func(c *cluster, job string) bool { return len(c.manifest(job).Nodes) > 0 },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.addWorker("w1").hangs = name == "unplanned"
			first := c.lead(plain)
			job := c.submit("partitions=8")
			c.until("the leader's death", func() bool { return ready(c, job) })
			first.kill()
			c.workers[0].hangs = false
			c.lead(forbidden)
			c.wantCompleted(job, localResult(t, "partitions=8"))
		})
	}
}

// Plans and results may be larger than a message.
func TestLargePlanAndResult(t *testing.T) {
	for _, size := range []string{"10_000", "300_000", "3_000_000"} {
		params := []string{"partitions=3", "plandata=" + size, "result=" + size}
		c := newCluster(t)
		c.addWorker("w1")
		first := c.lead(plain)
		job := c.submit(params...)
		c.until("the plan", func() bool { return c.manifest(job).Partitions > 0 })
		first.kill() // the next leader reads the plan
		c.lead(plain)
		c.wantCompleted(job, localResult(t, params...))
		c.until("no partials", func() bool { return len(c.partials()) == 0 })
	}
}

// A job can be cancelled while its planning takes long, and other jobs continue.
func TestCancelWhilePlanned(t *testing.T) {
	c := newCluster(t)
	planner := c.addWorker("w1")
	planner.hangs = true
	leader := c.lead(plain)
	job := c.submit("partitions=8")
	c.until("the plan to begin", func() bool { return len(planner.held) > 0 })
	c.addWorker("w2").follow(leader)
	other := c.submit("partitions=4")
	c.until("the other job's end", func() bool { return c.manifest(other).State == store.Completed })
	began, answered := c.now, false
	leader.turn(func() {
		leader.term.Cancel(job, func(err error) {
			answered = true
			if err != nil {
				t.Error(err)
			}
		})
	})
	c.until("the answer", func() bool { return answered })
	if took := c.now.Sub(began); took > 10*step {
		t.Errorf("the answer took %v", took)
	}
	c.until("the end", func() bool {
		return c.manifest(job).State == store.Cancelled && c.cleanedUp() && len(planner.held) == 0
	})
}

// After a merge in the leader has exceeded its time limit, workers do this merge and all other
// merges of the job. Other jobs continue after a slow merge, and the leader can stop.
func TestSlowMergeGoesToAWorker(t *testing.T) {
	c := newCluster(t)
	hung := 0
	hanging := jobs.MustNew(lettersDefinition(func() {
		if hung++; hung == 1 {
			c.wait(func() bool { return false })
		}
	}))
	w := c.addWorker("w1")
	leader := c.lead(func(cfg *term.Config) { cfg.Jobs = []jobs.Job{hanging} })
	slow := c.submit("partitions=8")
	c.until("the merge to hang", func() bool { return hung > 0 })
	job := c.submit("partitions=10")
	c.wantCompleted(slow, localResult(t, "partitions=8"))
	if w.calls(wire.Merge) != 7 {
		t.Errorf("the worker called %v, want all 7 merges of the slow job", w.called)
	}
	c.wantCompleted(job, localResult(t, "partitions=10"))
	if w.calls(wire.Merge) != 7 {
		t.Error("the worker merged for the other job")
	}
	leader.turn(leader.term.Stop)
	if _, left := leader.term.Left(); !left {
		t.Error("the leader has not left, although nothing is left to checkpoint")
	}
}

// A worker reports an item of a job without a plan at this leader, because an earlier leader
// planned the job. The worker keeps the reported item.
func TestItemOfUnplannedJob(t *testing.T) {
	c := newCluster(t)
	l := c.lead(plain)
	planner := c.addWorker("w1")
	planner.hangs = true
	planner.follow(l)
	job := c.submit("partitions=5")
	c.until("the call of Plan", func() bool { return len(planner.held) > 0 })
	partial := wire.NewPartial(engine.Leaf(0), []byte("partial"))
	report := wire.Report{
		Epoch: l.epoch, Worker: "w2", Sequence: 1, Hello: &wire.Hello{Host: "host", PID: 1, Slots: 1, Knows: planner.knows},
		Jobs: []wire.JobReport{{Job: job, First: 1, Items: []wire.Item{{Partial: &partial}}}},
	}
	var receipt *wire.Receipt
	l.turn(func() {
		l.term.Report(report, 100, func(r wire.Receipt) { receipt = &r })
	})
	c.until("the receipt", func() bool { return receipt != nil })
	for _, j := range receipt.Jobs {
		if j.Received != 0 {
			t.Errorf("the leader has received %d items of job %s, want 0", j.Received, j.Job)
		}
	}
}
