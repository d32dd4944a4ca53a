package bench

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// simulatedWorker finishes partitions of the job counting at a fixed speed, without running its code. The
// session and the messages are those of a real worker.
type simulatedWorker struct {
	id       string
	speed    float64 // speed of each slot in partitions per second
	nc       *nats.Conn
	subjects wire.Subjects
	inbox    string // prefix of the subjects on which replies arrive
	msgs     chan *nats.Msg
	started  time.Time

	session *session.Session
	trees   map[string]engine.Tree
	busy    []*busySlot

	exchange uint64 // exchange number of the last report
	report   []byte
}

type busySlot struct {
	span *session.HeldSpan
	tree engine.Tree
	done engine.Span   // partitions that are finished but not delivered to the session
	at   time.Duration // time up to which the slot's work was simulated
}

// perConnection is the number of simulated workers that share a connection.
const perConnection = 100

func simulate(ctx context.Context, url string, subjects wire.Subjects, workers, slots int, speed float64) error {
	conns, err := connect(url, "simulated workers", (workers+perConnection-1)/perConnection)
	if err != nil {
		return err
	}
	defer conns.close()
	group, ctx := errgroup.WithContext(ctx)
	for i := range workers {
		w, err := newSimulatedWorker(conns[i/perConnection], subjects, fmt.Sprintf("simulated-%d", i), slots, speed)
		if err != nil {
			return err
		}
		group.Go(func() error { return w.run(ctx) })
	}
	return group.Wait()
}

func newSimulatedWorker(nc *nats.Conn, subjects wire.Subjects, id string, slots int, speed float64) (*simulatedWorker, error) {
	w := &simulatedWorker{
		id: id, speed: speed, nc: nc, subjects: subjects, inbox: nc.NewInbox(), msgs: make(chan *nats.Msg, 64),
		started: time.Now(), trees: map[string]engine.Tree{},
	}
	var err error
	w.session, err = session.New(session.Config{Worker: id, Hello: wire.Hello{
		Slots: slots, Since: w.started, Knows: []wire.JobKind{{Name: counting.Name, Version: counting.Version}},
	}})
	if err != nil {
		return nil, err
	}
	for _, subject := range []string{w.inbox + ".*", subjects.Beacon(), subjects.Nudge(id), subjects.Probe(id)} {
		if _, err := nc.ChanSubscribe(subject, w.msgs); err != nil {
			return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
		}
	}
	return w, nil
}

func (w *simulatedWorker) run(ctx context.Context) error {
	if err := w.loop(ctx); err != nil {
		return fmt.Errorf("simulate %s: %w", w.id, err)
	}
	return nil
}

func (w *simulatedWorker) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	if err := w.step(session.Connected{}); err != nil {
		return err
	}
	for {
		timer.Reset(w.due() - w.now())
		var in session.Input = session.Tick{}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case m := <-w.msgs:
			in, err = w.hear(m)
		case <-timer.C:
		}
		if err == nil {
			err = w.work()
		}
		if err == nil {
			err = w.step(in)
		}
		if err != nil {
			return err
		}
	}
}

func (w *simulatedWorker) now() time.Duration { return time.Since(w.started) }

// due returns the time at which the session needs a tick or a slot finishes its span.
func (w *simulatedWorker) due() time.Duration {
	due := w.session.Due()
	for _, s := range w.busy {
		due = min(due, max(s.at+w.takes(s.span.Left()), w.now()+time.Millisecond))
	}
	return due
}

// step passes an input to the session and performs the actions that the session returns.
func (w *simulatedWorker) step(in session.Input) error {
	for again := true; again; again = w.session.NeedsStep() {
		for _, a := range w.session.Step(w.now(), in) {
			if err := w.perform(a); err != nil {
				return err
			}
		}
		in = session.Tick{}
	}
	return nil
}

func (w *simulatedWorker) perform(action session.Action) error {
	switch a := action.(type) {
	case session.SendReport:
		w.exchange, w.report = a.Exchange, wire.Encode(a.Report)
		return w.send()
	case session.ResendReport:
		return w.send()
	case session.AskLeader:
		return w.nc.PublishRequest(w.subjects.Ask(wire.AskLeader), w.inbox+"."+toLeader, nil)
	case session.CollectFromSlots:
		return w.deliver()
	case session.OpenJob:
		tree, err := engine.NewTree(a.Opening.Partitions)
		if err != nil {
			return err
		}
		w.trees[a.Opening.Job] = tree
		w.session.Opened(a.Opening.Job)
	case session.WakeSlots:
		w.fill()
		return w.call()
	case session.ReceiptDropped:
		return a.Err
	case session.OrderIgnored:
		return a.Err
	}
	return nil
}

// call makes calls of Plan and Finish. The leader knows the job and merges itself, so it assigns no merges.
func (w *simulatedWorker) call() error {
	for held := w.session.TakeCall(); held != nil; held = w.session.TakeCall() {
		var operands []engine.Operand
		for _, o := range held.Call().Operands {
			operands = append(operands, engine.Operand{Data: o.Data})
		}
		item, _, err := session.MakeCall(context.Background(), countingJob, held.Opening().Params, held.Call(), operands, held.Epoch(), nil)
		if err != nil {
			return err
		}
		w.session.Return(held, item, nil)
	}
	return nil
}

// toLeader is the last token of the reply subject for requests of [wire.AskLeader].
const toLeader = "leader"

func (w *simulatedWorker) send() error {
	return w.nc.PublishRequest(w.subjects.Report(w.session.Epoch()), w.inbox+"."+strconv.FormatUint(w.exchange, 10), w.report)
}

func (w *simulatedWorker) takes(partitions uint64) time.Duration {
	return time.Duration(math.Ceil(float64(partitions) / w.speed * float64(time.Second)))
}

func (w *simulatedWorker) work() error {
	now := w.now()
	var still []*busySlot
	for _, s := range w.busy {
		ended, err := w.advance(s, now)
		if err != nil {
			return err
		}
		if !ended {
			still = append(still, s)
		}
	}
	w.busy = still
	w.fill()
	return nil
}

func (w *simulatedWorker) fill() {
	for span := w.session.Take(); span != nil; span = w.session.Take() {
		w.busy = append(w.busy, &busySlot{span: span, tree: w.trees[span.Job()], at: w.now()})
	}
}

// advance advances one slot to the time now, and reports whether the slot has finished its span.
func (w *simulatedWorker) advance(s *busySlot, now time.Duration) (ended bool, err error) {
	want := uint64((now-s.at).Seconds()*w.speed + 1e-6)
	if want > 0 {
		claim := w.session.Claim(s.span, want, false)
		if s.done.Empty() {
			s.done.Lo = claim.Lo
		}
		s.done.Hi = max(s.done.Hi, claim.Hi)
		s.at += w.takes(claim.Len())
		ended = claim.Len() < want
	}
	if !ended && s.span.Left() > 0 {
		return false, nil
	}
	err = s.deliver(w.session, s.done.Hi)
	w.session.Release(s.span)
	return true, err
}

func (w *simulatedWorker) deliver() error {
	for _, s := range w.busy {
		if err := s.deliver(w.session, w.session.HandOver(s.span, s.done.Hi)); err != nil {
			return err
		}
	}
	return nil
}

// deliver delivers the partitions before hi as partials of the fewest nodes that cover them.
func (s *busySlot) deliver(session *session.Session, hi uint64) error {
	var items []wire.Item
	if s.done.Empty() {
		return nil // no partition is finished, and the session soon reports without this slot
	}
	for _, n := range s.tree.Cover(engine.Span{Lo: s.done.Lo, Hi: hi}) {
		data, err := countCodec{}.Encode(s.tree.Span(n).Len())
		if err != nil {
			return err
		}
		partial := wire.NewPartial(n, data)
		items = append(items, wire.Item{Partial: &partial})
	}
	s.done.Lo = hi
	return session.Deliver(s.span, hi, s.done.Hi, items)
}

func (w *simulatedWorker) hear(m *nats.Msg) (session.Input, error) {
	answer, isAnswer := strings.CutPrefix(m.Subject, w.inbox+".")
	nobody := m.Header.Get("Status") == "503" // NATS replies with status 503 if there are no responders
	switch {
	case isAnswer && answer == toLeader && !nobody:
		info, err := wire.Decode[wire.LeaderInfo](m.Data)
		return session.LeaderHeard{Epoch: info.Epoch}, err
	case isAnswer && answer == strconv.FormatUint(w.exchange, 10) && nobody:
		return session.NoResponders{Exchange: w.exchange}, nil
	case isAnswer && answer == strconv.FormatUint(w.exchange, 10):
		receipt, err := wire.Decode[wire.Receipt](m.Data)
		return session.ReceiptHeard{Exchange: w.exchange, Receipt: receipt}, err
	case isAnswer:
		return session.Tick{}, nil // the message is a reply to an earlier report
	case m.Subject == w.subjects.Beacon():
		beacon, err := wire.Decode[wire.Beacon](m.Data)
		return session.LeaderHeard{Epoch: beacon.Epoch}, err
	case m.Subject == w.subjects.Probe(w.id):
		probe, err := wire.Decode[wire.Probe](m.Data)
		if err == nil {
			err = m.Respond(wire.Encode(wire.ProbeAnswer{Epoch: w.session.Epoch(), Worker: w.id}))
		}
		return session.Nudged{Epoch: probe.Epoch}, err
	}
	nudge, err := wire.Decode[wire.Nudge](m.Data)
	return session.Nudged{Epoch: nudge.Epoch}, err
}
