package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// simulated is a worker that runs nothing: time passes, and with it partitions of
// the job counting are done, at a fixed speed. Its books are those of real workers,
// and so are its messages.
type simulated struct {
	id       string
	speed    float64 // partitions per second and slot
	nc       *nats.Conn
	subjects wire.Subjects
	inbox    string
	msgs     chan *nats.Msg

	book  *session.Book
	trees map[string]jobs.Tree
	busy  []*busySlot

	sent      []byte    // the report under way; nil: none
	resendAt  time.Time // when it is sent again
	dueAt     time.Time // the next report
	notBefore time.Time
	every     time.Duration
}

// busySlot is a slot that runs a span.
type busySlot struct {
	run  *session.Run
	tree jobs.Tree
	done jobs.Span // and not delivered
	at   time.Time // up to when its work is done
}

// What a worker allows itself, as real ones do.
const (
	spacing       = 5 * time.Millisecond // between two reports
	firstInterval = 200 * time.Millisecond
	answerWithin  = time.Second
)

// perConnection is how many simulated workers share a connection.
const perConnection = 100

// simulate runs so many workers until ctx is done.
func simulate(ctx context.Context, url string, subjects wire.Subjects, workers, slots int, speed float64) error {
	conns, err := connect(url, "simulated workers", (workers+perConnection-1)/perConnection)
	if err != nil {
		return err
	}
	defer conns.close()
	group, ctx := errgroup.WithContext(ctx)
	for i := range workers {
		w, err := newSimulated(conns[i/perConnection], subjects, fmt.Sprintf("simulated-%d", i), slots, speed)
		if err != nil {
			return err
		}
		group.Go(func() error { return w.loop(ctx) })
	}
	return group.Wait()
}

func newSimulated(nc *nats.Conn, subjects wire.Subjects, id string, slots int, speed float64) (*simulated, error) {
	w := &simulated{
		id: id, speed: speed, nc: nc, subjects: subjects, inbox: nc.NewInbox(), msgs: make(chan *nats.Msg, 64),
		trees: map[string]jobs.Tree{}, every: firstInterval,
		book: session.New(id, wire.Hello{
			Slots: slots, Since: time.Now(), Knows: []wire.JobKind{{Name: counting.Name, Version: counting.Version}},
		}),
	}
	for _, subject := range []string{w.inbox, subjects.Beacon(), subjects.Nudge(id), subjects.Probe(id)} {
		if _, err := nc.ChanSubscribe(subject, w.msgs); err != nil {
			return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
		}
	}
	return w, nil
}

func (w *simulated) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wake, err := w.turn(time.Now())
		if err != nil {
			return fmt.Errorf("simulate %s: %w", w.id, err)
		}
		timer.Reset(time.Until(wake))
		select {
		case <-ctx.Done():
			return nil
		case m := <-w.msgs:
			err = w.hear(m, time.Now())
		case <-timer.C:
		}
		if err != nil {
			return fmt.Errorf("simulate %s: %w", w.id, err)
		}
	}
}

// turn does what is due, and says when something will be.
func (w *simulated) turn(now time.Time) (wake time.Time, err error) {
	if err := w.work(now); err != nil {
		return now, err
	}
	wake = now.Add(answerWithin)
	for _, s := range w.busy {
		wake = earlier(wake, s.at.Add(w.takes(s.run.Left())))
	}
	wake = later(wake, now.Add(spacing))
	switch {
	case w.sent != nil && now.Before(w.resendAt):
		return earlier(wake, w.resendAt), nil
	case w.sent != nil:
	case !w.book.Ready():
		return wake, nil
	case !w.book.Urgent() && now.Before(w.dueAt):
		return earlier(wake, w.dueAt), nil
	case now.Before(w.notBefore):
		return earlier(wake, w.notBefore), nil
	default:
		if err := w.deliver(); err != nil {
			return now, err
		}
		w.sent = wire.Encode(w.book.Report())
		w.notBefore, w.dueAt = now.Add(spacing), now.Add(w.every)
	}
	w.resendAt = now.Add(answerWithin)
	return wake, w.nc.PublishRequest(w.subjects.Report(w.book.Epoch()), w.inbox, w.sent)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// takes is how long a slot takes for so many partitions.
func (w *simulated) takes(partitions uint64) time.Duration {
	return time.Duration(float64(partitions) / w.speed * float64(time.Second))
}

// work does what the slots would have done by now.
func (w *simulated) work(now time.Time) error {
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
	for run := w.book.Take(); run != nil; run = w.book.Take() {
		w.busy = append(w.busy, &busySlot{run: run, tree: w.trees[run.Job()], at: now})
	}
	return nil
}

// advance does what one slot would have done, and reports whether it is free now.
func (w *simulated) advance(s *busySlot, now time.Time) (ended bool, err error) {
	want := uint64(now.Sub(s.at).Seconds()*w.speed + 1e-6)
	if want > 0 {
		claim := w.book.Claim(s.run, want, false)
		if s.done.Empty() {
			s.done.Lo = claim.Lo
		}
		s.done.Hi = max(s.done.Hi, claim.Hi)
		s.at = s.at.Add(w.takes(claim.Len()))
		ended = claim.Len() < want
	}
	if !ended && s.run.Left() > 0 {
		return false, nil
	}
	err = s.deliver(w.book, s.done.Hi)
	w.book.Release(s.run)
	return true, err
}

// deliver hands over what all slots have done.
func (w *simulated) deliver() error {
	for _, s := range w.busy {
		if err := s.deliver(w.book, w.book.HandOver(s.run, s.done.Hi)); err != nil {
			return err
		}
	}
	return nil
}

// deliver hands over what was done before hi, as the few nodes that it merges to.
func (s *busySlot) deliver(b *session.Book, hi uint64) error {
	if s.done.Empty() {
		return nil
	}
	var items []wire.Item
	for _, n := range s.tree.Cover(jobs.Span{Lo: s.done.Lo, Hi: hi}) {
		data, err := countCodec{}.Encode(s.tree.Span(n).Len())
		if err != nil {
			return err
		}
		partial := wire.NewPartial(n, data)
		items = append(items, wire.Item{Partial: &partial})
	}
	s.done.Lo = hi
	return b.Deliver(s.run, hi, s.done.Hi, items)
}

func (w *simulated) hear(m *nats.Msg, now time.Time) error {
	switch {
	case m.Subject == w.inbox && m.Header.Get("Status") == "503": // NATS: no responders
		return nil // it is sent again
	case m.Subject == w.inbox:
		return w.hearReceipt(m.Data, now)
	case m.Subject == w.subjects.Beacon():
		beacon, err := wire.Decode[wire.Beacon](m.Data)
		w.follow(beacon.Epoch)
		return err
	}
	w.dueAt = now
	if m.Subject == w.subjects.Probe(w.id) {
		probe, err := wire.Decode[wire.Probe](m.Data)
		w.follow(probe.Epoch)
		if err == nil {
			err = m.Respond(wire.Encode(wire.ProbeAnswer{Epoch: w.book.Epoch(), Worker: w.id}))
		}
		return err
	}
	nudge, err := wire.Decode[wire.Nudge](m.Data)
	w.follow(nudge.Epoch)
	return err
}

func (w *simulated) follow(epoch uint64) {
	if w.book.Follow(epoch) {
		w.sent = nil
	}
}

func (w *simulated) hearReceipt(data []byte, now time.Time) error {
	receipt, err := wire.Decode[wire.Receipt](data)
	if err != nil {
		return err
	}
	orders, err := w.book.Receive(receipt)
	if err != nil {
		return nil // it came twice, or from an old leader
	}
	w.sent = nil
	if orders.Every > 0 {
		w.every = orders.Every
		w.dueAt = earlier(w.dueAt, now.Add(w.every))
	}
	for _, o := range orders.Open {
		if w.trees[o.Job], err = jobs.NewTree(o.Partitions); err != nil {
			return err
		}
		w.book.Opened(o.Job)
	}
	return nil
}
