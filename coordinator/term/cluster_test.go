package term_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// cluster consists of storage, workers and leaders in simulated time, in which only one of them
// acts at a time. Each storage call of a leader has two steps: it waits before its effect and
// before its answer. A test can hold a storage call before each of its two steps.
type cluster struct {
	t       *testing.T
	now     time.Time
	blobs   *memory.Blobs
	queue   *queue
	store   *store.Store
	leaders []*leader
	workers []*worker
	running *task

	manifests map[string]readManifest                  // manifests that the test has read last, by job
	submitted int                                      // number of submitted jobs
	clocks    func(epoch uint64) (ahead time.Duration) // differences between the clocks of the leaders' machines and the simulated time; nil if all agree

	had int // number of workers in the last beacon of the previous leader

	watched uint64                              // epoch of the leader whose storage calls are counted
	moments int                                 // number of steps of the leader's storage calls so far
	hold    func(moment int) (over func() bool) // returns the function that ends the hold of a step, or nil if the step is not held
	loses   bool                                // a held call, or its answer, is lost
	fault   func(memory.Call) error             // returns the error of a storage call of a leader; nil if no call fails

	lossy bool // storage loses writes that it has acknowledged

	announced []string // jobs whose ends leaders have announced

	signs  map[string]term.Sign // results of probes, by worker
	probes []time.Time          // times of the probes that did not return term.Possible
}

// stopWithin bounds the time that a leader takes to stop.
const stopWithin = 20 * step

// step is the interval at which simulated time advances.
const step = 5 * time.Millisecond

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, now: time.Unix(1_700_000_000, 0), watched: 1, blobs: memory.NewBlobs(), manifests: map[string]readManifest{}}
	c.queue = &queue{cluster: c, hideFor: hideFor}
	c.store = store.New(store.Config{Blobs: c.blobs, Queue: c.queue})
	c.blobs.Inject(func(call memory.Call) error {
		if c.running == nil {
			return nil
		}
		answered := c.now.Add(step)
		c.wait(func() bool { return !c.now.Before(answered) })
		if c.running.leader.epoch == c.watched && c.hold != nil {
			c.moments++
			if over := c.hold(c.moments); over != nil {
				c.wait(over)
				if c.loses {
					return store.ErrUnavailable
				}
			}
		}
		if c.fault != nil {
			return c.fault(call)
		}
		return nil
	})
	t.Cleanup(func() {
		for _, l := range c.leaders {
			l.kill()
		}
	})
	return c
}

// task is a coroutine of the simulation.
type task struct {
	leader *leader
	resume func() (func() bool, bool)
	stop   func()
	yield  func(func() bool) bool
	ready  func() bool // reports whether the task can continue
}

// errKilled unwinds the tasks of a leader that was killed.
var errKilled = errors.New("killed")

// wait blocks the running task until ready returns true.
func (c *cluster) wait(ready func() bool) {
	if !c.running.yield(ready) {
		panic(errKilled)
	}
}

func (c *cluster) resume(t *task) {
	outer := c.running
	c.running = t
	ready, waits := t.resume()
	t.ready = ready
	c.running = outer
	if !waits {
		t.leader.tasks = slices.DeleteFunc(t.leader.tasks, func(o *task) bool { return o == t })
	}
}

// settle runs all tasks that can run without the time advancing.
func (c *cluster) settle() {
	for busy := true; busy; {
		busy = false
		for _, l := range c.leaders {
			for len(l.inbox) > 0 {
				call := l.inbox[0]
				l.inbox = l.inbox[1:]
				l.turn(call)
				busy = true
			}
			for _, t := range slices.Clone(l.tasks) {
				if t.ready != nil && t.ready() && slices.Contains(l.tasks, t) {
					c.resume(t)
					busy = true
				}
			}
		}
	}
}

// until advances time, and lets workers work, until ok returns true.
func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	for range 20_000 {
		c.settle()
		if ok() {
			return
		}
		for _, w := range c.workers {
			w.report()
			c.settle()
			w.work()
		}
		c.now = c.now.Add(step)
		for _, l := range c.leaders {
			l.turn(l.term.Tick)
		}
	}
	c.t.Fatalf("waited for %s", what)
}

// leader is a process that leads one term.
type leader struct {
	cluster *cluster
	epoch   uint64
	term    *term.Term
	ctx     context.Context
	end     context.CancelFunc
	inbox   []func()
	tasks   []*task
	over    bool
	beacons []wire.Beacon
	ahead   time.Duration // difference between the clock of the leader's machine and the simulated time
}

func (c *cluster) lead(change func(*term.Config)) *leader {
	c.t.Helper()
	l := &leader{cluster: c, epoch: uint64(len(c.leaders)) + 1}
	if c.clocks != nil {
		l.ahead = c.clocks(l.epoch)
	}
	l.ctx, l.end = context.WithCancel(context.Background())
	cfg := term.Config{
		Worker: fmt.Sprint("leader-", l.epoch), Store: c.store, Jobs: []jobs.Job{letters},
		Logger: slog.New(slog.NewTextHandler(c.t.Output(), nil)),
		Ledger: ledger.Config{CheckpointEvery: time.Millisecond}, ExtendEvery: hideFor / 3, StopWithin: stopWithin,
	}
	change(&cfg)
	c.leaders = append(c.leaders, l)
	var err error
	granted := election.Term{Record: election.Record{Epoch: l.epoch}, Cause: election.First, Since: c.now}
	if l.epoch > 1 {
		granted.Cause, granted.Workers = election.Died, c.had
		granted.Predecessor = fmt.Sprint("leader-", l.epoch-1)
	}
	l.term, err = term.New(l.ctx, cfg, election.NewTerm(granted, election.TermControl{Deposed: func(uint64) { l.depose() }}), l, l)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, w := range c.workers {
		w.follow(l)
	}
	l.turn(l.term.Begin)
	return l
}

// turn runs a call on the leader's loop.
func (l *leader) turn(do func()) {
	if !l.over {
		do()
	}
}

// depose ends the leader's term. Tasks notice the end of the term when they check the context.
func (l *leader) depose() {
	l.over = true
	l.end()
}

// kill ends the leader's process.
func (l *leader) kill() {
	l.depose()
	for _, t := range l.tasks {
		t.stop()
	}
	l.tasks, l.inbox = nil, nil
}

func (l *leader) Now() time.Time { return l.cluster.now.Add(l.ahead) }

func (l *leader) Go(do func()) {
	t := &task{leader: l}
	t.resume, t.stop = iter.Pull(func(yield func(func() bool) bool) {
		t.yield = yield
		defer func() {
			if v := recover(); v != nil && v != any(errKilled) {
				panic(v)
			}
		}()
		do()
	})
	l.tasks = append(l.tasks, t)
	l.cluster.resume(t)
}

func (l *leader) Post(call func()) { l.inbox = append(l.inbox, call) }

func (l *leader) Guard(limit time.Duration, code func()) (returned bool) {
	l.Go(func() { code(); returned = true })
	if deadline := l.cluster.now.Add(limit); !returned {
		l.cluster.wait(func() bool { return returned || l.ctx.Err() != nil || !l.cluster.now.Before(deadline) })
	}
	return returned
}

func (l *leader) Pause(ctx context.Context, d time.Duration) {
	until := l.cluster.now.Add(d)
	l.cluster.wait(func() bool { return ctx.Err() != nil || !l.cluster.now.Before(until) })
}

func (l *leader) Beacon(b wire.Beacon) { l.beacons = append(l.beacons, b) }

func (l *leader) Nudge(string) {}

// Ended checks that storage contains the job's end, unless the job was removed after its end.
func (l *leader) Ended(job string) {
	l.cluster.announced = append(l.cluster.announced, job)
	if m, _, err := l.cluster.store.Manifest(context.Background(), job); err == nil && !m.State.Final() {
		l.cluster.t.Errorf("leader of epoch %d announced the end of job %s, which is %s in storage", l.epoch, job, m.State)
	}
}

func (l *leader) Probe(_ context.Context, worker, _ string) term.Sign {
	sign := l.cluster.signs[worker]
	if sign != term.Possible {
		l.cluster.probes = append(l.cluster.probes, l.cluster.now)
	}
	return sign
}

// queue is a queue in simulated time.
type queue struct {
	cluster  *cluster
	hideFor  time.Duration
	messages []*message
}

const hideFor = 16 * step

type message struct {
	queue       *queue
	body        []byte
	deliveries  int
	hiddenUntil time.Time
}

func (q *queue) Send(_ context.Context, body []byte) error {
	q.messages = append(q.messages, &message{queue: q, body: body})
	return nil
}

func (q *queue) Receive(ctx context.Context) (store.Message, error) {
	visible := func() *message {
		for _, m := range q.messages {
			if !q.cluster.now.Before(m.hiddenUntil) {
				return m
			}
		}
		return nil
	}
	q.cluster.wait(func() bool { return ctx.Err() != nil || visible() != nil })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	m := visible()
	m.deliveries++
	return m, m.Extend(ctx)
}

func (m *message) Body() []byte    { return m.body }
func (m *message) Deliveries() int { return m.deliveries }

func (m *message) Extend(context.Context) error {
	m.hiddenUntil = m.queue.cluster.now.Add(m.queue.hideFor)
	return nil
}

func (m *message) Delete(context.Context) error {
	m.queue.messages = slices.DeleteFunc(m.queue.messages, func(o *message) bool { return o == m })
	return nil
}
