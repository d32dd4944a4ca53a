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

// stage is storage, workers and leaders of which one acts at a time, in the
// stage's own time. A storage call of a leader can be held up before its effect or
// before its answer. Otherwise each takes two steps.
type stage struct {
	t       *testing.T
	now     time.Time
	blobs   *memory.Blobs
	queue   *queue
	store   *store.Store
	leaders []*leader
	hands   []*hand
	running *task

	watched uint64                              // the epoch of the leader whose moments count
	moments int                                 // before and after its calls, so far
	hold    func(moment int) (over func() bool) // until when that moment lasts; nil if it is short
	loses   bool                                // a call that was held is lost, or its answer
}

// stopWithin is how long a leader may take to stop.
const stopWithin = 20 * step

// step is how far time goes on at once.
const step = 5 * time.Millisecond

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, now: time.Unix(1_700_000_000, 0), watched: 1, blobs: memory.NewBlobs()}
	s.queue = &queue{stage: s}
	s.store = store.New(store.Config{Blobs: s.blobs, Queue: s.queue})
	s.blobs.Inject(func(memory.Call) error {
		if s.running == nil {
			return nil
		}
		answered := s.now.Add(step)
		s.wait(func() bool { return !s.now.Before(answered) })
		if s.running.leader.epoch == s.watched && s.hold != nil {
			s.moments++
			if over := s.hold(s.moments); over != nil {
				s.wait(over)
				if s.loses {
					return store.ErrUnavailable
				}
			}
		}
		return nil
	})
	t.Cleanup(func() {
		for _, l := range s.leaders {
			l.kill()
		}
	})
	return s
}

// task is a coroutine.
type task struct {
	leader *leader
	resume func() (func() bool, bool)
	stop   func()
	yield  func(func() bool) bool
	ready  func() bool // whether it can go on
}

// errKilled unwinds the tasks of a leader that was killed.
var errKilled = errors.New("killed")

// wait has the running task wait until ready.
func (s *stage) wait(ready func() bool) {
	if !s.running.yield(ready) {
		panic(errKilled)
	}
}

func (s *stage) goOn(t *task) {
	outer := s.running
	s.running = t
	ready, waits := t.resume()
	t.ready = ready
	s.running = outer
	if !waits {
		t.leader.tasks = slices.DeleteFunc(t.leader.tasks, func(o *task) bool { return o == t })
	}
}

// settle lets everything happen that needs no time to pass.
func (s *stage) settle() {
	for busy := true; busy; {
		busy = false
		for _, l := range s.leaders {
			for len(l.inbox) > 0 {
				in := l.inbox[0]
				l.inbox = l.inbox[1:]
				l.turn(in)
				busy = true
			}
			for _, t := range slices.Clone(l.tasks) {
				if t.ready != nil && t.ready() && slices.Contains(l.tasks, t) {
					s.goOn(t)
					busy = true
				}
			}
		}
	}
}

// until lets time pass, and workers work, until ok.
func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	for range 20_000 {
		s.settle()
		if ok() {
			return
		}
		for _, h := range s.hands {
			h.report()
			s.settle()
			h.work()
		}
		s.now = s.now.Add(step)
		for _, l := range s.leaders {
			l.turn(l.term.Tick)
		}
	}
	s.t.Fatalf("waited for %s", what)
}

// leader is a process that leads: the world of one term.
type leader struct {
	stage *stage
	epoch uint64
	term  *term.Term
	ctx   context.Context
	end   context.CancelFunc
	inbox []func()
	tasks []*task
	over  bool
}

func (s *stage) lead(change func(*term.Config)) *leader {
	s.t.Helper()
	l := &leader{stage: s, epoch: uint64(len(s.leaders)) + 1}
	l.ctx, l.end = context.WithCancel(context.Background())
	cfg := term.Config{
		Worker: fmt.Sprint("leader-", l.epoch), Store: s.store, Jobs: []jobs.Job{letters},
		Logger: slog.New(slog.NewTextHandler(s.t.Output(), nil)),
		Ledger: ledger.Config{CheckpointEvery: time.Millisecond}, ExtendEvery: hideFor / 3, StopWithin: stopWithin,
	}
	change(&cfg)
	s.leaders = append(s.leaders, l)
	var err error
	granted := election.Term{Record: election.Record{Epoch: l.epoch}, Cause: election.First, Since: s.now}
	if l.epoch > 1 {
		granted.Cause = election.Died
	}
	l.term, err = term.New(l.ctx, cfg, election.NewTerm(granted, election.TermControl{Deposed: func(uint64) { l.depose() }}), l, l)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range s.hands {
		h.follow(l)
	}
	l.turn(l.term.Begin)
	return l
}

// turn is a turn of the loop.
func (l *leader) turn(do func()) {
	if !l.over {
		do()
	}
}

// depose ends the term. What runs beside the loop hears of it when it looks.
func (l *leader) depose() {
	l.over = true
	l.end()
}

// kill ends the process.
func (l *leader) kill() {
	l.depose()
	for _, t := range l.tasks {
		t.stop()
	}
	l.tasks, l.inbox = nil, nil
}

func (l *leader) Now() time.Time { return l.stage.now }

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
	l.stage.goOn(t)
}

func (l *leader) Post(in func()) { l.inbox = append(l.inbox, in) }

func (l *leader) Pause(ctx context.Context, d time.Duration) {
	until := l.stage.now.Add(d)
	l.stage.wait(func() bool { return ctx.Err() != nil || !l.stage.now.Before(until) })
}

func (l *leader) Beacon(wire.Beacon) {}

func (l *leader) Nudge(string) {}

func (l *leader) Probe(context.Context, string) bool { return false }

// queue is a queue in the stage's time.
type queue struct {
	stage    *stage
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
			if !q.stage.now.Before(m.hiddenUntil) {
				return m
			}
		}
		return nil
	}
	q.stage.wait(func() bool { return ctx.Err() != nil || visible() != nil })
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
	m.hiddenUntil = m.queue.stage.now.Add(hideFor)
	return nil
}

func (m *message) Delete(context.Context) error {
	m.queue.messages = slices.DeleteFunc(m.queue.messages, func(o *message) bool { return o == m })
	return nil
}
