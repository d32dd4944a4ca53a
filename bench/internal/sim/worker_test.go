package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// worker runs the real session of a worker with simulated slots and a simulated network.
type worker struct {
	process *process
	session *session.Session
	hello   wire.Hello
	slots   []*slot
	calls   []*call
	tasks   map[string]*task

	holdings holdings
	stuck    bool            // true if memory is short and the spill folder is full
	storing  int             // number of held partials that are being written to storage because stuck is true
	ended    map[string]bool // IDs of the jobs that have ended according to the session

	report   wire.Report   // report that was sent last
	receipt  wire.Receipt  // receipt that was received last
	wakeAt   time.Duration // time at which the current timer fires; never if no timer is set
	stepping bool
	left     bool // true if the session has ended
}

const never = time.Duration(math.MaxInt64)

func newWorker(p *process, slots int) *worker {
	hello := wire.Hello{Host: p.name, PID: 1, Slots: slots, Since: p.wallClock(), Storage: p.storage.identity, Holds: len(p.knows) == len(p.sim.versions)}
	for _, d := range p.definitions() {
		hello.Knows = append(hello.Knows, wire.JobKind{Name: d.Name(), Version: d.Version()})
	}
	s, err := session.New(session.Config{Worker: p.name, Hello: hello, Timing: session.Timing{DrainTimeout: p.sim.scenario.drainTimeout}})
	if err != nil {
		panic(fmt.Errorf("make session: %w", err)) // cannot happen, because the configuration is valid
	}
	w := &worker{process: p, session: s, hello: hello, tasks: map[string]*task{}, holdings: holdings{}, ended: map[string]bool{}, wakeAt: never}
	for range slots {
		w.slots = append(w.slots, &slot{worker: w})
	}
	return w
}

func (w *worker) begin() {
	if w.process.connected {
		w.step(session.Connected{})
	}
	w.step(session.Tick{})
}

// step passes an input to the session, performs its actions and sets a timer.
func (w *worker) step(in session.Input) {
	if w.left {
		return
	}
	if w.stepping { // the running call of step performs the actions that this input makes due
		if in != session.Input(session.Tick{}) {
			panic(fmt.Sprintf("%s: input %T during a step", w.process.name, in))
		}
		return
	}
	p := w.process
	w.stepping = true
	for again := true; again; again = w.session.NeedsStep() {
		for _, a := range w.session.Step(p.clock(), in) {
			w.perform(a)
			if !p.alive {
				return
			}
		}
		in = session.Tick{}
	}
	w.stepping = false
	p.sim.checks.followed(p, w.session.Epoch())
	p.sim.checks.holdsOn(p)
	w.setTimer()
	w.freeMemory()
}

// called must follow each call of the session except Step. It calls Step if an action is due.
func (w *worker) called() {
	if w.session.NeedsStep() {
		w.step(session.Tick{})
	}
}

func (w *worker) setTimer() {
	now, due := w.process.clock(), w.session.Due()
	if w.left || due == never || w.wakeAt > now && w.wakeAt <= due {
		return
	}
	at := max(due, now+1)
	w.wakeAt = at
	w.process.timer(at-now, func() {
		if w.wakeAt == at {
			w.wakeAt = never
			w.step(session.Tick{})
		}
	})
}

func (w *worker) perform(action session.Action) {
	p := w.process
	s := p.sim
	switch a := action.(type) {
	case session.SendReport:
		w.report = a.Report
		s.checks.reports(p, a.Report)
		w.send(a.Exchange)
	case session.ResendReport:
		s.cover("seen: report resent")
		w.send(a.Exchange)
	case session.AskLeader:
		w.askLeader()
	case session.ReadRecord:
		w.readRecord(a.Followed)
	case session.CollectFromSlots:
		for _, slot := range w.slots {
			slot.stop = slot.span != nil
		}
	case session.OpenJob:
		w.open(a.Opening)
	case session.DropNode:
		s.checks.drops(p, a.Job, a.Node)
		delete(w.holdings[a.Job], a.Node)
	case session.StoreNode:
		w.storeNode(a.Held)
	case session.EndJob:
		delete(w.holdings, a.Job)
		w.ended[a.Job] = true
		for _, c := range w.calls {
			if c.job.spec.ID == a.Job {
				c.ended = true
				c.cancel()
			}
			if !a.Continues && c.job.origin().spec.ID == engine.JobOf(a.Job) {
				c.jobEnded = true
			}
		}
		w.dropPartials(a.Job, a.Blobs)
		if of, number := engine.SplitRound(a.Job); of != a.Job && !a.Continues {
			w.dropPartials(engine.RoundID(of, number+1), a.Blobs)
		}
		if t := w.tasks[a.Job]; t != nil {
			delete(w.tasks, a.Job)
			t.cancel()
		}
	case session.WakeSlots:
		w.fill()
		w.beginCalls()
	case session.CancelRunning:
		s.cover("seen: draining took too long")
		for _, slot := range w.slots {
			slot.cancel()
		}
		for _, c := range w.calls {
			c.cancel()
		}
	case session.Leave:
		s.cover("leave: " + string(a.Reason))
		s.checks.leaves(p, a)
		w.left = true
		if a.Reason == session.TimedOut {
			s.killed = true // other workers compute the partitions of the lost items again
		}
		p.elector.stop()
	case session.ReportAnswered:
		s.checks.answered(p, w.receipt) // the check must precede the slots' runs of the spans that the receipt assigns
	case session.ReportRefused:
		s.cover("seen: report refused")
	case session.ReceiptDropped:
		s.cover("seen: receipt dropped")
	case session.OrderIgnored:
		s.fail("%s ignores an order of epoch %d: %v", p.name, a.Epoch, a.Err)
	}
}

func (w *worker) send(exchange uint64) {
	p := w.process
	report := throughWire(p.sim, w.report)
	p.sim.network.request(p, func(to *process) bool { return to.leads() == report.Epoch }, func(to *process, answer func(func())) {
		to.elector.term.report(report, func(r wire.Receipt) {
			r = throughWire(p.sim, r)
			answer(func() { w.hear(exchange, r) })
		})
	}, func() { w.step(session.NoResponders{Exchange: exchange}) })
}

func (w *worker) askLeader() {
	p := w.process
	p.sim.network.request(p, func(to *process) bool { return to.leads() > 0 }, func(to *process, answer func(func())) {
		heard := session.LeaderHeard{Epoch: to.leads(), Storage: to.storage.identity}
		answer(func() { w.step(heard) })
	}, func() {})
}

// readRecord passes the lease's epoch in storage to the session, which asks again if the read fails.
func (w *worker) readRecord(followed uint64) {
	w.process.sim.cover("seen: worker reads the lease's record")
	var epoch uint64
	st := w.process.storage
	st.call(w.process, func() {
		record, _ := st.lease.read()
		epoch = record.Epoch
	}, func(lost error) {
		if lost == nil {
			w.step(session.RecordRead{Followed: followed, Epoch: epoch})
		}
	})
}

func (w *worker) hear(exchange uint64, r wire.Receipt) {
	w.receipt = r
	w.step(session.ReceiptHeard{Exchange: exchange, Receipt: r})
}

func (w *worker) drain() {
	if w.left || w.session.Draining() {
		return
	}
	w.process.sim.checks.drains(w.process)
	w.step(session.Drain{})
}

func (w *worker) fill() {
	for _, s := range w.slots {
		if s.span == nil {
			s.take()
		}
	}
}

// dropPartials removes partials of an ended job or round that the leader may not know, except those that the manifest names.
func (w *worker) dropPartials(job string, blobs []string) {
	p := w.process
	if len(blobs) == 0 {
		return
	}
	p.spawn(func() {
		m, _, err := p.store.Manifest(context.Background(), engine.JobOf(job))
		unknown, named := err != nil && !errors.Is(err, store.ErrNotFound), m.Blobs()
		for _, blob := range blobs {
			if unknown || !named[blob] && p.store.DropPartial(context.Background(), job, blob) != nil {
				p.storage.storedLate(job, blob)
			}
		}
	}, nil)
}

// storedLate notes that a blob of an ended job was not removed, so that it counts as stored late.
func (st *storage) storedLate(job, blob string) {
	if o, ok := st.origins["partial/"+job+"/"+blob]; ok {
		o.late = true
		st.origins["partial/"+job+"/"+blob] = o
	}
}

type task struct {
	job     *job
	opening wire.Opening
	opened  engine.Task
	ctx     context.Context
	cancel  context.CancelFunc
}

func (w *worker) open(o wire.Opening) {
	p := w.process
	s := p.sim
	t := &task{job: s.job(o.Job), opening: o}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	w.tasks[o.Job] = t
	var err error
	p.spawn(func() {
		plan := store.Plan{Plan: jobs.Plan{Partitions: o.Partitions, Data: o.Data}}
		if o.InStore {
			s.cover("seen: plan read from storage")
			for {
				if plan, err = p.store.Plan(t.ctx, engine.JobOf(o.Job)); err == nil || t.ctx.Err() != nil {
					break
				}
				p.pause(t.ctx, 100*time.Millisecond)
			}
		}
		p.pause(t.ctx, s.rng.between(0, 20*time.Millisecond))
		if err == nil {
			t.opened, err = t.job.definition().Engine().Open(t.ctx, o.Params, plan.Partitions, plan.Data)
		}
		if err == nil {
			var state []byte
			if state, err = p.readState(t.ctx, o); err == nil {
				t.opened, err = t.opened.Round(t.ctx, state)
			}
		}
		if err == nil && s.rng.chance(s.rates.openFails) {
			err = errOpen
		}
	}, func() { w.announce(t, o.Job, err) })
}

func (w *worker) announce(t *task, id string, err error) {
	if w.tasks[id] != t {
		return
	}
	if err == nil {
		w.session.Opened(id)
		w.fill()
		return
	}
	s := w.process.sim
	s.cover("fault: job not opened")
	t.job.origin().openFailures++
	delete(w.tasks, id)
	failure := wire.Failure{Error: err.Error(), Function: wire.Open, Permanent: jobs.IsPermanent(err)}
	w.session.OpenFailed(id, failure)
	s.checks.delivered(w.process, t.job, []wire.Item{{Failure: &failure}})
	w.called()
}
