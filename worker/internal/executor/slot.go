package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// slots run spans of partitions, each slot on its own goroutine.
type slots struct {
	*core
	partials *partials
	tasks    *tasks
	list     []*slot // guarded by core.mu
}

// start starts the slots.
func (s *slots) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for number := range s.cfg.Slots {
		one := &slot{core: s.core, partials: s.partials, tasks: s.tasks, number: number}
		s.list = append(s.list, one)
		s.goroutines.Go(one.loop)
	}
}

// interrupt makes busy slots deliver their results at the end of their current partition. If the
// parameter only is not nil, interrupt affects only the slots that run this task. The caller must
// hold core.mu.
func (s *slots) interrupt(only *task) {
	for _, one := range s.list {
		if one.task != nil && (only == nil || one.task == only) {
			one.stop.Store(true)
		}
	}
}

// busy reports whether a slot runs a span. The caller must hold core.mu.
func (s *slots) busy() bool {
	return slices.ContainsFunc(s.list, func(one *slot) bool { return one.task != nil })
}

// slot runs one span at a time.
type slot struct {
	*core
	partials *partials
	tasks    *tasks
	number   int         // number of the slot, from 0
	stop     atomic.Bool // if set, Run returns before the next partition; changed under core.mu
	task     *task       // task that the slot runs, or nil; guarded by core.mu
	uses     int64       // bytes of memory that the merge stack uses, as far as the size of its values is known
	since    time.Time   // time at which the slot took its span or last handed over results; guarded by core.mu
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

// take waits for a span, and returns the span with its task. It returns nil when the slot should
// end.
func (s *slot) take() (*session.HeldSpan, *task) {
	s.idle.Add(1)
	defer s.idle.Add(-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.quit {
			return nil, nil
		}
		if span := s.session.Take(); span != nil {
			s.task, s.since = s.tasks.byJob[span.Job()], time.Now()
			s.task.users.Add(1)
			return span, s.task
		}
		s.work.Wait()
	}
}

// release returns the span, with its undelivered partitions, to the session, and frees the slot.
func (s *slot) release(span *session.HeldSpan, t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.Release(span)
	s.task = nil
	s.checkUsable()
	s.handedOver()
	t.users.Done()
}

// handedOver updates the slot's state after a delivery or the release of a span. The caller must
// hold core.mu.
func (s *slot) handedOver() {
	s.stop.Store(false)
	s.wakeLink()
}

// run runs a span until its end, or until the session needs the slot for another span.
func (s *slot) run(span *session.HeldSpan, t *task) {
	if t.stacks[s.number] == nil {
		t.stacks[s.number] = t.newStack()
	}
	began := time.Now()
	now := began
	want := uint64(1)
	clean := true // the slot has run no partition since its last delivery
	var next uint64
	defer s.account(t, engine.Span{}, 0)
	stacked := engine.Span{}
	for t.ctx.Err() == nil {
		s.mu.Lock()
		s.partials.pause()
		claim := s.session.Claim(span, want, now.Sub(began) >= s.timing.slice)
		if claim.Empty() {
			s.mu.Unlock()
			break
		}
		if clean {
			stacked.Lo = claim.Lo
		}
		stacked.Hi = claim.Lo
		s.account(t, stacked, claim.Len())
		s.mu.Unlock()
		t.before(span, "Map")
		before := now
		var err error
		if next, err = s.runClaim(span, t, claim); errors.Is(err, errLost) {
			return
		}
		now = time.Now()
		if err == nil {
			t.mapped(next-claim.Lo, now.Sub(before))
		}
		want = nextClaim(want, next-claim.Lo, now.Sub(before), s.timing.claim)
		clean = false
		if err == nil && !s.stop.Load() {
			continue
		}
		hi := next
		if err == nil {
			s.mu.Lock()
			hi = s.session.HandOver(span, next)
			s.mu.Unlock()
		}
		if !s.deliver(span, t, done{hi: hi, next: next, err: err, took: now.Sub(before)}) {
			return
		}
		clean = hi == next
		stacked = engine.Span{Lo: hi, Hi: next}
		s.account(t, stacked, 0)
		now = time.Now()
	}
	if !clean {
		s.deliver(span, t, done{hi: next, next: next})
	}
}

// account updates the amount of memory that is attributed to the slot: the memory of its merge
// stack, and of the partials of the next partitions.
func (s *slot) account(t *task, span engine.Span, next uint64) {
	size := cmp.Or(t.size(), t.expected)
	if s.partials.held == nil || size == 0 && s.uses == 0 {
		return
	}
	uses := int64(bits.Len64(next)) * size
	if !span.Empty() {
		uses += int64(len(t.tree.Cover(span))) * size
	}
	s.partials.held.Use(uses - s.uses)
	s.uses = uses
}

// lose gives up a span whose code does not return, and then waits until the code returns.
func (s *slot) lose(span *session.HeldSpan, t *task, f wire.Failure, gone <-chan struct{}) {
	s.mu.Lock()
	f.Took = time.Since(s.since)
	s.session.Lose(span, f)
	s.checkUsable()
	s.wakeLink()
	s.mu.Unlock()
	if t.ctx.Err() == nil {
		s.cfg.Logger.Error("A job's code does not return, its slot is lost until it does", "job", t.opening.Job, "partition", f.Partition, "error", f.Error)
	} else {
		s.cfg.Logger.Warn("The code of a job that has ended does not return, its slot is lost until it does", "job", t.opening.Job)
	}
	<-gone
	t.stacks[s.number] = nil
}

// done describes the results that a slot has computed and not delivered yet.
type done struct {
	hi   uint64        // end of the partitions to deliver
	next uint64        // first partition that did not run; equals hi if err is set
	err  error         // error of the partition next, or nil
	took time.Duration // time for which the partition next has run, with those that its claim ran before it; only with err
}

// deliver audits the results since the last delivery. Then deliver passes the results of the
// partitions before d.hi and, if d.err is not nil, the failure of partition d.next to the session.
// deliver reports whether the slot may continue with the span.
func (s *slot) deliver(span *session.HeldSpan, t *task, d done) bool {
	if err := s.audit(span, t); err != nil {
		if !errors.Is(err, errLost) {
			s.rejectAudit(span, t, err)
		}
		return false
	}
	items, held, err := s.items(span, t, d.hi)
	defer func() {
		s.partials.delivered(len(held))
		t.dropUndelivered(items)
	}()
	if errors.Is(err, errLost) {
		return false
	}
	if t.ctx.Err() != nil {
		// An error is not a failure of the partition if the job has ended or the worker stops.
		d.err = nil
		if err != nil {
			return false
		}
	}
	if failed := cmp.Or(d.err, err); failed != nil {
		t.logPanic(d.next, failed)
	}
	if err != nil {
		s.abandon(span, failure(d.next, err))
		return false
	}
	return s.pass(span, t, d, items, held)
}

// pass passes results, and the failure of partition d.next if d.err is not nil, to the session. It
// reports whether the slot may continue with the span.
func (s *slot) pass(span *session.HeldSpan, t *task, d done, items []wire.Item, held []heldPartial) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.handedOver()
	took := time.Since(s.since)
	if d.err != nil {
		f := failure(d.next, d.err)
		f.Took = took
		if len(items) > 0 {
			f.Took = min(took, d.took)
		}
		took -= f.Took
		items = append(items, wire.Item{Failure: &f})
		d.next++
		d.hi = d.next
	}
	if len(items) > 0 {
		items[0].Took = took
	}
	var nodes []wire.HeldNode
	for _, h := range held {
		nodes = append(nodes, h.HeldNode)
	}
	wanted := s.session.Holds(span)
	if err := s.session.Deliver(span, d.hi, d.next, items, nodes...); err != nil {
		// The merge stack is empty after a failed merge.
		f := failure(d.next, cmp.Or(d.err, err))
		f.Took = time.Since(s.since)
		s.session.Abandon(span, f)
		return false
	}
	if len(items) > 0 { // if a job's partials are large, slots deliver results only at the end of a span
		s.since = time.Now()
	}
	for _, h := range held {
		if wanted {
			t.noteSize(h)
			h.put(s.partials.held, t.opening.Job, t.reuses)
		}
	}
	return true
}

// abandon gives up a span because of a failure.
func (s *slot) abandon(span *session.HeldSpan, f wire.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Took = time.Since(s.since)
	s.session.Abandon(span, f)
	s.handedOver()
}

// rejectAudit drops the undelivered results of a span after a failed audit of one of its partitions. If
// the job has ended or the worker stops, the failure is not reported.
func (s *slot) rejectAudit(span *session.HeldSpan, t *task, err error) {
	t.stacks[s.number] = nil
	if t.ctx.Err() != nil {
		return
	}
	f := failure(0, err)
	t.logPanic(f.Partition, err)
	s.abandon(span, f)
}

// items removes the results of the partitions before hi from the stack and returns them as items.
// After an error the returned items are incomplete, and the stack must not be used again. The
// worker holds a partial that is too large for a report. If the worker may not hold a large
// partial, items writes it to storage.
func (s *slot) items(span *session.HeldSpan, t *task, hi uint64) (list []wire.Item, held []heldPartial, err error) {
	defer func() {
		if err != nil {
			t.stacks[s.number] = nil
		}
	}()
	var partials []engine.Partial
	t.before(span, "Encode")
	gone, err := guard{core: s.core, limit: t.limits.Map}.run(t.ctx, func(context.Context) (err error) {
		partials, err = t.stacks[s.number].Drain(hi)
		return err
	})
	if gone != nil {
		s.lose(span, t, failure(hi, fmt.Errorf("encode partials: %w", err)), gone)
		return nil, nil, errLost
	}
	if err == jobs.ErrGoexit {
		err = fmt.Errorf("encode partials: %w", err)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, p := range partials {
		if t.opening.MayReport(len(p.Data)) {
			partial := wire.NewPartial(p.Node, p.Data)
			list = append(list, wire.Item{Partial: &partial})
			continue
		}
		if s.partials.mayHold() {
			node := p.Node
			held = append(held, heldPartial{HeldNode: wire.HeldNode{Node: node, Size: uint64(len(p.Data)), Sum: wire.Checksum(p.Data)}, data: p.Data})
			list = append(list, wire.Item{Held: &node})
			continue
		}
		partial := wire.Partial{Node: p.Node, Size: uint64(len(p.Data))}
		if partial.Blob, err = t.writePartial(p); err != nil {
			return list, held, err
		}
		list = append(list, wire.Item{Partial: &partial})
	}
	return list, held, nil
}
