package sim

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// worker drives a real book as package worker does: slots that take time, and a
// conversation with the leader over a network that fails.
type worker struct {
	process   *process
	book      *session.Book
	slotCount int
	slots     []*slot
	tasks     map[string]*openJob
	asked     int // slots that were asked to hand over and have not

	sent      *wire.Report // the report under way
	exchange  uint64
	alone     bool          // nobody listens where the leader should
	resendAt  time.Duration // instants of the process's clock
	retry     time.Duration
	dueAt     time.Duration
	notBefore time.Duration
	every     time.Duration
	collectBy time.Duration // 0: no report waits for slots
	askAt     time.Duration
	wanted    bool
	wakeAt    time.Duration // a timer is set for then; 0: none
	leaveAt   time.Duration // while draining
	left      bool          // it has drained, or given up
}

// openJob is a job while the worker has to do with it.
type openJob struct {
	job    *job
	task   *jobs.Task
	ctx    context.Context
	cancel context.CancelFunc
}

// As in package worker.
const (
	reportSpacing = 5 * time.Millisecond
	handOver      = 5 * time.Millisecond
	answerWithin  = time.Second
	retryFirst    = 10 * time.Millisecond
	retryMost     = time.Second
	drainAtMost   = 20 * time.Second
)

func newWorker(p *process, slots int) *worker {
	w := &worker{
		process: p, slotCount: slots, tasks: map[string]*openJob{},
		every: 200 * time.Millisecond, retry: retryFirst,
	}
	hello := wire.Hello{Host: "sim", PID: 1, Slots: slots, Since: p.wall()}
	for _, d := range p.knows {
		hello.Knows = append(hello.Knows, wire.JobKind{Name: d.Name(), Version: d.Version()})
	}
	w.book = session.New(p.name, hello)
	for range slots {
		w.slots = append(w.slots, &slot{worker: w})
	}
	return w
}

// turn does what is due, and sees to it that it comes back when something will be.
func (w *worker) turn() {
	if w.left {
		return
	}
	now := w.process.local()
	wake := w.converse(now)
	if w.book.Draining() {
		if w.book.Drained() || now >= w.leaveAt || w.book.Epoch() == 0 && w.book.Empty() {
			w.left = true
			w.process.candidate.stop()
			return
		}
		wake = min(wake, w.leaveAt)
	}
	if w.wakeAt > now && w.wakeAt <= wake {
		return
	}
	w.wakeAt = max(wake, now+1)
	at := w.wakeAt
	w.process.timer(at-now, func() {
		if w.wakeAt == at {
			w.wakeAt = 0
			w.turn()
		}
	})
}

// converse speaks to the leader where that is due, and says when it will be.
func (w *worker) converse(now time.Duration) (wake time.Duration) {
	wake = now + time.Minute
	if !w.process.linked {
		return wake
	}
	if w.book.Epoch() == 0 || w.alone {
		if now >= w.askAt {
			w.askAt = now + retryMost
			w.askLeader()
		}
		wake = w.askAt
	}
	switch {
	case w.book.Epoch() == 0:
		return wake
	case w.sent != nil:
		if now >= w.resendAt {
			w.send(now)
		}
		return min(wake, w.resendAt)
	case !w.book.Urgent() && !w.wanted && now < w.dueAt:
		return min(wake, w.dueAt)
	case now < w.notBefore:
		return min(wake, w.notBefore)
	case w.collect(now):
		return min(wake, w.collectBy)
	}
	r := w.book.Report()
	w.sent = &r
	w.exchange++
	w.retry, w.wanted, w.collectBy = retryFirst, false, 0
	w.notBefore, w.dueAt = now+reportSpacing, now+w.every
	w.send(now)
	return min(wake, w.resendAt)
}

// collect asks the slots for what they have, and reports whether to wait for it.
func (w *worker) collect(now time.Duration) bool {
	if w.collectBy == 0 {
		if !w.wanted && !w.book.Draining() && now < w.dueAt {
			return false
		}
		w.askSlots()
		w.collectBy = now + handOver
	}
	return w.asked > 0 && now < w.collectBy
}

func (w *worker) askSlots() {
	for _, s := range w.slots {
		if s.run != nil && !s.asked {
			s.asked = true
			w.asked++
		}
	}
}

func (w *worker) askLeader() {
	p := w.process
	p.sim.network.ask(p, func(to *process) bool { return to.leads() > 0 }, func(to *process, answer func(func())) {
		epoch := to.leads()
		answer(func() { w.follow(epoch) })
	}, func() {})
}

// send sends the report under way, once more if need be.
func (w *worker) send(now time.Duration) {
	w.resendAt = now + answerWithin
	p, exchange := w.process, w.exchange
	report := throughWire(p.sim, *w.sent)
	p.sim.network.ask(p, func(to *process) bool { return to.leads() == report.Epoch }, func(to *process, answer func(func())) {
		to.candidate.term.report(report, func(r wire.Receipt) {
			r = throughWire(p.sim, r)
			answer(func() {
				if exchange == w.exchange && w.sent != nil {
					w.hear(r)
				}
			})
		})
	}, func() {
		if exchange != w.exchange || w.sent == nil {
			return
		}
		now := p.local()
		if !w.alone {
			w.alone, w.askAt = true, now
		}
		w.resendAt = now + w.retry
		w.retry = min(2*w.retry, retryMost)
		w.turn()
	})
}

// follow turns to the leader of an epoch that spoke, unless it is an old one.
func (w *worker) follow(epoch uint64) {
	if w.left {
		return
	}
	now := w.process.local()
	switch {
	case w.book.Follow(epoch):
		w.sent, w.alone, w.collectBy = nil, false, 0
		w.wanted, w.notBefore, w.every = true, now, 200*time.Millisecond
	case epoch > 0 && epoch == w.book.Epoch() && w.alone:
		w.alone, w.retry, w.resendAt = false, retryFirst, now
	}
	w.process.sim.checks.followed(w.process, w.book.Epoch())
	w.turn()
}

// nudged: the leader of an epoch wants a report.
func (w *worker) nudged(epoch uint64) {
	w.follow(epoch)
	if epoch == w.book.Epoch() && !w.left {
		w.wanted = true
		w.turn()
	}
}

// hear takes the receipt of the report under way.
func (w *worker) hear(r wire.Receipt) {
	s := w.process.sim
	orders, err := w.book.Receive(r)
	if err != nil {
		s.hit("seen: receipt dropped")
		return
	}
	now := w.process.local()
	w.sent, w.alone = nil, false
	if orders.Refused != "" {
		s.hit("seen: report refused")
		w.notBefore, w.wanted = now+retryFirst, true
		w.turn()
		return
	}
	s.checks.received(w.process, r)
	if orders.Every > 0 {
		w.every = max(reportSpacing, orders.Every)
		w.dueAt = min(w.dueAt, now+w.every)
	}
	for _, err := range orders.Ignored {
		s.fail("%s ignores an order of epoch %d: %v", w.process.name, r.Epoch, err)
	}
	for _, ended := range orders.Ended {
		if o := w.tasks[ended.Job]; o != nil {
			delete(w.tasks, ended.Job)
			o.cancel()
			w.dropPartials(ended.Job, ended.Blobs)
		}
	}
	for _, o := range orders.Open {
		w.open(o)
	}
	w.fill()
	w.turn()
}

// open readies a job, which takes a moment and may fail.
func (w *worker) open(o wire.Opening) {
	p := w.process
	s := p.sim
	opened := &openJob{job: s.jobs[o.Job]}
	opened.ctx, opened.cancel = context.WithCancel(context.Background())
	w.tasks[o.Job] = opened
	settle := func(err error) {
		if w.tasks[o.Job] != opened {
			return
		}
		if err != nil {
			s.hit("fault: job not opened")
			opened.job.notOpened++
			delete(w.tasks, o.Job)
			failure := &wire.Failure{Error: err.Error(), Open: true, Permanent: jobs.IsPermanent(err)}
			w.book.OpenFailed(o.Job, *failure)
			s.checks.delivered(p, opened.job, []wire.Item{{Failure: failure}})
			w.turn()
			return
		}
		w.book.Opened(o.Job)
		w.fill()
	}
	var err error
	p.start(func() {
		plan := jobs.Plan{Partitions: o.Partitions, Data: o.Data}
		if o.InStore {
			s.hit("seen: plan read from storage")
			for {
				if plan, err = p.store.Plan(opened.ctx, o.Job); err == nil || opened.ctx.Err() != nil {
					break
				}
				p.pause(opened.ctx, 100*time.Millisecond)
			}
		}
		p.pause(opened.ctx, s.chance.between(0, 20*time.Millisecond))
		if err == nil {
			opened.task, err = s.versions[opened.job.version].Open(opened.ctx, o.Params, plan)
		}
		if err == nil && s.chance.is(s.faults.openFails) {
			err = errOpen
		}
	}, func() { settle(err) })
}

// fill gives idle slots what there is to run.
func (w *worker) fill() {
	for _, s := range w.slots {
		if s.run == nil {
			s.take()
		}
	}
}

// drain begins the worker's orderly end.
func (w *worker) drain() {
	if w.left || w.book.Draining() {
		return
	}
	w.leaveAt = w.process.local() + drainAtMost
	w.wanted = true
	w.book.Drain()
	w.askSlots()
	w.turn()
}

// slot runs one span at a time.
type slot struct {
	worker *worker
	run    *session.Run
	open   *openJob
	stack  jobs.Stack
	asked  bool
	began  time.Duration
	next   uint64
	clean  bool // nothing was done since the last delivery
}

// take begins the span to run next, if there is one.
func (s *slot) take() {
	w := s.worker
	s.run = w.book.Take()
	if s.run == nil {
		return
	}
	s.open = w.tasks[s.run.Job()]
	s.stack = s.open.task.NewStack()
	s.began, s.clean = w.process.local(), true
	s.goOn()
}

// goOn claims the next partitions and runs them.
func (s *slot) goOn() {
	w := s.worker
	p := w.process
	sim := p.sim
	claim := w.book.Claim(s.run, uint64(sim.chance.from(1, 3)), p.local()-s.began > time.Second)
	if claim.Empty() || s.open.ctx.Err() != nil {
		s.deliver(s.next, nil, s.release)
		return
	}
	sim.checks.computes(p, s.open.job, claim)
	takes, kills := s.open.job.cost(claim)
	if kills {
		sim.hit("fault: partition killed its process")
		p.timer(sim.chance.between(0, takes), func() { sim.kill(p) })
		return
	}
	p.timer(takes, func() {
		var err error
		s.next, err = s.stack.Run(s.open.ctx, claim, new(atomic.Bool))
		s.clean = false
		switch {
		case err != nil:
			s.deliver(s.next, err, s.goOn)
		case s.asked:
			s.deliver(w.book.HandOver(s.run, s.next), nil, s.goOn)
		default:
			s.goOn()
		}
	})
}

// deliver hands over what was done since the last time before hi, with the failure of
// the next partition if there is one. A partial that is too large for a report goes
// into storage first.
func (s *slot) deliver(hi uint64, failed error, then func()) {
	w := s.worker
	p := w.process
	if s.clean {
		s.handedOver()
		then()
		return
	}
	if s.clean = hi == s.next; !s.clean {
		p.sim.hit("seen: slot kept some of what it had done")
	}
	partials, err := s.stack.Drain(hi)
	if err != nil {
		p.sim.fail("drain the stack of a slot: %v", err)
		return
	}
	items := make([]wire.Item, len(partials))
	enter := func() {
		next := s.next
		if failed != nil {
			items = append(items, wire.Item{Failure: &wire.Failure{Partition: next, Error: failed.Error(), Permanent: jobs.IsPermanent(failed)}})
			next++
			hi = next
		}
		before, _ := w.book.Kept()
		if err := w.book.Deliver(s.run, hi, next, items); err != nil {
			p.sim.fail("%s delivers: %v", p.name, err)
		}
		if after, _ := w.book.Kept(); after > before {
			p.sim.checks.delivered(p, s.open.job, items)
		}
		s.handedOver()
		w.turn()
		if p.alive {
			then()
		}
	}
	large := false
	for i, part := range partials {
		partial := wire.NewPartial(part.Node, part.Data)
		items[i] = wire.Item{Partial: &partial}
		large = large || len(part.Data) > session.MaxInline
	}
	if !large {
		enter()
		return
	}
	p.sim.hit("seen: partial too large for a report")
	ctx := s.open.ctx
	id := s.open.job.spec.ID
	var written []string
	p.start(func() {
		for i, part := range partials {
			for len(part.Data) > session.MaxInline && ctx.Err() == nil {
				blob, err := p.store.PutPartial(ctx, id, part.Node, part.Data)
				if written = append(written, blob); err == nil {
					items[i] = wire.Item{Partial: &wire.Partial{Node: part.Node, Blob: blob}}
					break
				}
				p.pause(ctx, 100*time.Millisecond)
			}
		}
	}, func() {
		if ctx.Err() != nil { // the job has ended
			w.dropPartials(id, written)
			s.handedOver()
			s.release()
			return
		}
		enter()
	})
}

// dropPartials removes partials of a job that has ended, which its leader may not
// have seen when it removed all of them.
func (w *worker) dropPartials(job string, blobs []string) {
	p := w.process
	p.start(func() {
		for _, blob := range blobs {
			if p.store.DropPartial(context.Background(), job, blob) != nil {
				p.sim.storage.stray["partial/"+job+"/"+blob] = true // it stays
			}
		}
	}, nil)
}

// release gives the slot back.
func (s *slot) release() {
	w := s.worker
	w.book.Release(s.run)
	s.handedOver()
	s.run, s.open, s.stack = nil, nil, nil
	w.fill()
	w.turn()
}

// handedOver takes note that the slot did what it was asked.
func (s *slot) handedOver() {
	if s.asked {
		s.asked = false
		s.worker.asked--
	}
}
