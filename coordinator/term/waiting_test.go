package term_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// active returns the IDs of the jobs that the leader lists as active, sorted.
func (l *leader) active() (ids []string) {
	for _, j := range l.term.Jobs(wire.JobQuery{}).Jobs {
		if !strings.Contains(j.Trouble, "maximum of active jobs") {
			ids = append(ids, j.Job)
		}
	}
	slices.Sort(ids)
	return ids
}

func two(cfg *term.Config) { cfg.MaxActive = 2 }

// hello introduces a worker that knows the job's definition and reports only once.
func (l *leader) hello() {
	r := wire.Report{
		Epoch: l.epoch, Worker: "idle", Sequence: 1,
		Hello: &wire.Hello{Slots: 1, Knows: []wire.JobKind{{Name: "letters", Version: "1"}}},
	}
	l.cluster.until("the active jobs are loaded", func() bool { return l.waiting() })
	l.turn(func() { l.term.Report(r, 100, func(wire.Receipt) {}) })
}

// allReceived waits until the leader has received all submissions.
func (c *cluster) allReceived(l *leader) {
	c.t.Helper()
	c.until("all submissions are received", func() bool {
		return l.waiting() && !slices.ContainsFunc(c.queue.messages, func(m *message) bool { return m.deliveries == 0 })
	})
}

// A job begins before jobs of lower priority that were submitted earlier, even if these jobs are
// active and the limit of active jobs is reached.
func TestPriorityCountsBeyondMaxActive(t *testing.T) {
	c := newCluster(t)
	l := c.lead(two)
	l.hello()
	var low []string
	for range 5 {
		low = append(low, c.submitWith(0, "partitions=3"))
	}
	c.allReceived(l)
	if got := l.active(); !slices.Equal(got, low[:2]) {
		t.Fatalf("active: %v, want the first two of %v", got, low)
	}
	answer := l.term.Jobs(wire.JobQuery{Job: low[3]}).Jobs
	if len(answer) != 1 || answer[0].State != string(store.Queued) || !strings.Contains(answer[0].Trouble, "2 of the same or a higher priority; waiting jobs that begin earlier: 1") {
		t.Errorf("a waiting job is shown as %+v", answer)
	}
	if all := l.term.Jobs(wire.JobQuery{}).Jobs; len(all) != len(low) {
		t.Errorf("the list has %d jobs, want the waiting jobs too, %d in all", len(all), len(low))
	}
	urgent, other, third := c.submitWith(5), c.submitWith(5), c.submitWith(5)
	middle := c.submitWith(1)
	c.allReceived(l)
	if got, want := l.active(), []string{low[0], low[1], urgent, other}; !slices.Equal(got, want) {
		t.Fatalf("active: %v, want %v", got, want)
	}
	// The jobs begin in the order of their priority and, within a priority, of their age.
	c.addWorker("w1").follow(l)
	var begun []string
	c.until("the end", func() bool {
		for _, id := range l.active() {
			if !slices.Contains(begun, id) {
				begun = append(begun, id)
			}
		}
		return c.cleanedUp()
	})
	order := []string{third, middle, low[2], low[3], low[4]}
	if got := begun[4:]; !slices.Equal(got, order) {
		t.Errorf("the waiting jobs began in the order %v, want %v", got, order)
	}
}

// The number of active jobs is bounded even if each new job has a higher priority.
func TestActiveJobsAreBounded(t *testing.T) {
	c := newCluster(t)
	l := c.lead(two)
	l.hello()
	for priority := range 15 {
		c.submitWith(priority)
		c.allReceived(l)
		if n := len(l.active()); n > 4*2 {
			t.Fatalf("%d jobs are active", n)
		}
	}
	if n := len(l.active()); n != 4*2 {
		t.Errorf("%d jobs are active, want 8", n)
	}
}

// leadBusy starts a leader, and submits more jobs than it receives. It returns when the leader receives no
// more. The function delivered counts the deliveries of all submissions.
func (c *cluster) leadBusy() (l *leader, delivered func() int) {
	l = c.lead(func(cfg *term.Config) {
		two(cfg)
		cfg.ExtendEvery = time.Hour // the submissions stay hidden during the whole test
	})
	c.queue.hideFor = time.Hour
	l.hello()
	for range 1010 {
		c.submitWith(0)
	}
	delivered = func() (n int) {
		for _, m := range c.queue.messages {
			n += m.deliveries
		}
		return n
	}
	c.until("the leader has received submissions, and stops", func() bool { return delivered() > 0 && l.idle() })
	return l, delivered
}

// A submission beyond the maximum number of waiting jobs stays in the queue.
func TestWaitingJobsAreBounded(t *testing.T) {
	_, delivered := newCluster(t).leadBusy()
	if n := delivered(); n != 1002 {
		t.Errorf("%d submissions were received, want 2 and 1000 that wait", n)
	}
}

// A waiting job is cancelled at once, and leaves the queue before it would have begun.
func TestCancelOfAWaitingJob(t *testing.T) {
	c := newCluster(t)
	l := c.lead(two)
	first, _, last := c.submitWith(0), c.submitWith(0), c.submitWith(0)
	c.allReceived(l)
	var answers []error
	for range 2 {
		l.turn(func() { l.term.Cancel(last, func(err error) { answers = append(answers, err) }) })
	}
	c.until("the answers", func() bool { return len(answers) == 2 && len(c.queue.messages) == 2 })
	if m := c.manifest(last); answers[0] != nil || answers[1] != nil || m.State != store.Cancelled {
		t.Errorf("answers %v, and the job is %q", answers, m.State)
	}
	if got := l.active(); len(got) != 2 || !slices.Contains(got, first) {
		t.Errorf("active: %v", got)
	}
}

// A submission is delivered to every leader for which its job waits. Repeated deliveries of a
// waiting job do not mean that the job crashes leaders.
func TestWaitingUnderManyLeaders(t *testing.T) {
	c := newCluster(t)
	jobs := []string{c.submitWith(0), c.submitWith(0), c.submitWith(0)}
	for deliveries := 1; deliveries <= 2*store.MaxDeliveries; deliveries++ {
		l := c.lead(two)
		c.until("the submission is received", func() bool {
			return slices.ContainsFunc(c.queue.messages, func(m *message) bool { return m.deliveries >= deliveries }) && l.waiting()
		})
		c.pass(hideFor)
		l.kill()
		c.pass(2 * hideFor)
	}
	l := c.lead(two)
	c.addWorker("w1").follow(l)
	for _, id := range jobs {
		c.until("the job's end", func() bool { return c.manifest(id).State == store.Completed })
	}
	if poisoned, err := c.store.PoisonList(context.Background()); err != nil || len(poisoned) > 0 {
		t.Errorf("poisoned: %+v, %v", poisoned, err)
	}
}
