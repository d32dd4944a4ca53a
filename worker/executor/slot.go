package executor

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// slot runs one span at a time.
type slot struct {
	w      *Worker
	number int         // number of the slot, from 0
	stop   atomic.Bool // makes the merge stack return at the next partition; set and cleared under Worker.mu
	task   *task       // task that the slot runs, or nil; guarded by Worker.mu
}

func (s *slot) loop() {
	for {
		span, t := s.take()
		if span == nil {
			return
		}
		s.run(span, t)
		s.release(span, t)
	}
}

// take waits for a span and returns it with its task. take returns nil when the slot should
// end.
func (s *slot) take() (*session.HeldSpan, *task) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.quit {
			return nil, nil
		}
		if span := w.session.Take(); span != nil {
			s.task = w.tasks[span.Job()]
			s.task.users.Add(1)
			return span, s.task
		}
		w.work.Wait()
	}
}

// release gives back the slot and the partitions of its span that are not delivered.
func (s *slot) release(span *session.HeldSpan, t *task) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session.Release(span)
	s.task = nil
	s.handedOver()
	t.users.Done()
}

// handedOver is called after each delivery and each release. The caller must hold
// Worker.mu.
func (s *slot) handedOver() {
	s.stop.Store(false)
	s.w.wakeLink()
}

// run runs a span until its end, or until the session needs the slot for another span.
func (s *slot) run(span *session.HeldSpan, t *task) {
	if t.stacks[s.number] == nil {
		t.stacks[s.number] = t.opened.NewStack()
	}
	stack := t.stacks[s.number]
	w := s.w
	began := time.Now()
	now := began
	want := uint64(1)
	clean := true // no partition was run since the last delivery
	var next uint64
	for t.ctx.Err() == nil {
		w.mu.Lock()
		claim := w.session.Claim(span, want, now.Sub(began) >= w.timing.slice)
		w.mu.Unlock()
		if claim.Empty() {
			break
		}
		before := now
		var err error
		next, err = stack.Run(t.ctx, claim, &s.stop)
		now = time.Now()
		want = nextClaim(want, now.Sub(before), w.timing.claim)
		clean = false
		if err == nil && !s.stop.Load() {
			continue
		}
		hi := next
		if err == nil {
			w.mu.Lock()
			hi = w.session.HandOver(span, next)
			w.mu.Unlock()
		}
		if !s.deliver(span, t, done{hi: hi, next: next, err: err}) {
			return
		}
		clean = hi == next
		now = time.Now()
	}
	if !clean {
		s.deliver(span, t, done{hi: next, next: next})
	}
}

// nextClaim returns how many partitions to claim so that they take about target, if each
// takes as long as a partition of the last claim. The number grows in steps because
// partitions may take different times.
func nextClaim(last uint64, took, target time.Duration) uint64 {
	const step = 8
	ideal := float64(last) * step
	if took > 0 {
		ideal = min(ideal, float64(last)*float64(target)/float64(took))
	}
	return max(1, uint64(min(ideal, 1<<30)))
}

// done describes the results that a slot has computed and not delivered yet.
type done struct {
	hi   uint64 // deliver the partitions before this one
	next uint64 // the first partition that was not run; equals hi if err is set
	err  error  // error of partition next, or nil
}

// deliver hands over the finished partitions before d.hi, and then d.err as the failure of
// partition d.next. deliver reports whether the slot may continue with the span.
func (s *slot) deliver(span *session.HeldSpan, t *task, d done) bool {
	items, err := s.items(t, d.hi)
	defer func() { t.dropUndelivered(items) }()
	if t.ctx.Err() != nil {
		// The job has ended, or the worker stops, so an error is not a failure of the
		// partition.
		d.err = nil
		if err != nil {
			return false
		}
	}
	failed := cmp.Or(d.err, err)
	if failed != nil {
		t.logPanic(d.next, failed)
	}
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	defer s.handedOver()
	if err != nil {
		w.session.Abandon(span, failure(d.next, err))
		return false
	}
	if failed != nil {
		f := failure(d.next, failed)
		items = append(items, wire.Item{Failure: &f})
		d.next++
		d.hi = d.next
	}
	if err := w.session.Deliver(span, d.hi, d.next, items); err != nil {
		// The failed merge has emptied the merge stack.
		w.session.Abandon(span, failure(d.next, cmp.Or(failed, err)))
		return false
	}
	return true
}

// items removes the results of the partitions before hi from the merge stack and returns
// them as items. After an error, items returns only some of the items, and the stack is not
// used again. items waits for storage if a partial is too large for a report.
func (s *slot) items(t *task, hi uint64) (list []wire.Item, err error) {
	defer func() {
		if err != nil {
			t.stacks[s.number] = nil
		}
	}()
	partials, err := t.stacks[s.number].Drain(hi)
	if err != nil {
		return nil, err
	}
	for _, p := range partials {
		partial := wire.NewPartial(p.Node, p.Data)
		if len(p.Data) > session.MaxInline {
			partial = wire.Partial{Node: p.Node}
			if partial.Blob, err = t.writePartial(p); err != nil {
				return list, err
			}
		}
		list = append(list, wire.Item{Partial: &partial})
	}
	return list, nil
}
