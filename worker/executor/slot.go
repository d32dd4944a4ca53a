package executor

import (
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// slot runs one span at a time.
type slot struct {
	w      *Worker
	number int         // from 0
	stop   atomic.Bool // set while asked: makes the stack return at the next partition
	asked  bool        // to hand over; guarded by Worker.mu
	task   *task       // that it runs, or nil; guarded by Worker.mu
}

func (s *slot) loop() {
	for {
		run, t := s.take()
		if run == nil {
			return
		}
		s.run(run, t)
		s.release(run, t)
	}
}

// take waits for a span to run. It returns nil when the slot should end.
func (s *slot) take() (*session.Run, *task) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.quit {
			return nil, nil
		}
		if run := w.book.Take(); run != nil {
			s.task = w.tasks[run.Job()]
			s.task.runs.Add(1)
			return run, s.task
		}
		w.work.Wait()
	}
}

// release gives back what is left of a span, and the slot.
func (s *slot) release(run *session.Run, t *task) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.book.Release(run)
	s.task = nil
	s.handedOver()
	if w.book.Urgent() {
		w.nudge()
	}
	t.runs.Done()
}

// handedOver takes note that the slot did what it was asked. The caller holds
// the lock.
func (s *slot) handedOver() {
	if !s.asked {
		return
	}
	s.asked = false
	s.stop.Store(false)
	if s.w.asked--; s.w.asked == 0 {
		s.w.nudge()
	}
}

// run runs a span until its end, or until the book has another use for the slot.
func (s *slot) run(run *session.Run, t *task) {
	if t.stacks[s.number] == nil {
		t.stacks[s.number] = t.opened.NewStack()
	}
	stack := t.stacks[s.number]
	w := s.w
	began := time.Now()
	now := began
	want := uint64(1)
	clean := true // nothing was done since the last delivery
	var next uint64
	for t.ctx.Err() == nil {
		w.mu.Lock()
		claim := w.book.Claim(run, want, now.Sub(began) >= w.pace.slice)
		w.mu.Unlock()
		if claim.Empty() {
			break
		}
		before := now
		var err error
		next, err = stack.Run(t.ctx, claim, &s.stop)
		now = time.Now()
		want = nextClaim(want, now.Sub(before), w.pace.claim)
		clean = false
		if err == nil && !s.stop.Load() {
			continue
		}
		hi := next
		if err == nil {
			w.mu.Lock()
			hi = w.book.HandOver(run, next)
			w.mu.Unlock()
		}
		if !s.deliver(run, t, hi, next, err) {
			return
		}
		clean = hi == next
		now = time.Now()
	}
	if !clean {
		s.deliver(run, t, next, next, nil)
	}
}

// nextClaim is how many partitions to claim so that they take about target, if
// they are like the last ones. It grows by steps: partitions may be unlike.
func nextClaim(last uint64, took, target time.Duration) uint64 {
	const step = 8
	ideal := float64(last) * step
	if took > 0 {
		ideal = min(ideal, float64(last)*float64(target)/float64(took))
	}
	return max(1, uint64(min(ideal, 1<<30)))
}

// deliver hands over what is on the stack of the partitions before hi. The slot has
// run those before next, which is hi where failed is not nil: then its failure follows.
// It reports whether the run may go on.
func (s *slot) deliver(run *session.Run, t *task, hi, next uint64, failed error) bool {
	items, err := s.drain(t, hi)
	defer func() { t.dropUndelivered(items) }()
	if t.ctx.Err() != nil {
		// The job has ended, or the worker's time is up: what fails now is no failure.
		failed = nil
		if err != nil {
			return false
		}
	}
	if failed == nil {
		failed = err
	}
	if failed != nil {
		t.logPanic(next, failed)
	}
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		s.handedOver()
		if w.book.Urgent() {
			w.nudge()
		}
	}()
	if err != nil {
		w.book.Abandon(run, failure(next, err))
		return false
	}
	if failed != nil {
		f := failure(next, failed)
		items = append(items, wire.Item{Failure: &f})
		next++
		hi = next
	}
	if err := w.book.Deliver(run, hi, next, items); err != nil {
		if failed == nil {
			failed = err
		}
		// A merge that failed has emptied the stack.
		w.book.Abandon(run, failure(next, failed))
		return false
	}
	return true
}

// drain turns what is on the stack of the partitions before hi into items, or some of
// it before an error. It waits for storage where a partial is too large for a report.
// After an error the stack is not used again.
func (s *slot) drain(t *task, hi uint64) (items []wire.Item, err error) {
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
				return items, err
			}
		}
		items = append(items, wire.Item{Partial: &partial})
	}
	return items, nil
}
