package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// ErrStale means that a receipt does not belong to the report in flight.
var ErrStale = errors.New("receipt does not belong to the report in flight")

// check returns an error if the receipt must be ignored.
func (s *Session) check(r wire.Receipt) error {
	if err := wire.CheckStorage("its leader", r.Storage, "worker "+s.cfg.Worker, s.cfg.Hello.Storage); err != nil {
		return fmt.Errorf("receipt of epoch %d: %w", r.Epoch, err)
	}
	if !s.conversation.inFlight || r.Epoch != s.leader.epoch || r.Sequence != s.conversation.sequence {
		return fmt.Errorf("%w: got epoch %d sequence %d", ErrStale, r.Epoch, r.Sequence)
	}
	return nil
}

// receive carries out a receipt that passed check and does not refuse the report.
func (s *Session) receive(r wire.Receipt) {
	s.conversation.inFlight = false
	if r.Benched != "" && r.Benched != s.benched {
		s.do(Benched{r.Epoch, r.Benched})
	}
	s.benched = r.Benched
	s.work.alone.known = s.work.alone.reported
	for _, j := range r.Jobs {
		s.receiveJob(j)
	}
	for _, o := range r.Opens {
		s.addJob(o)
	}
	for _, r := range r.Jobs {
		if j, _ := s.find(r.Job); j != nil {
			j.auditors = r.Auditors
		}
	}
	for _, c := range r.Cuts {
		s.cut(c)
	}
	for _, a := range r.Assigned {
		if err := s.assign(a); err != nil {
			s.do(OrderIgnored{Epoch: r.Epoch, Err: err})
		}
	}
	s.do(WakeSlots{})
}

// receiveJob records which of a job's items the leader has received and which are durable.
func (s *Session) receiveJob(r wire.JobReceipt) {
	if r.Ended {
		s.endJob(r.Job, r.Continues)
		return
	}
	j, _ := s.find(r.Job)
	if j == nil {
		return
	}
	durable := max(j.durable, min(r.Durable, j.last()))
	s.dropItems(j, int(durable-j.durable))
	s.orderNodes(j, r)
	received := max(j.received, durable, min(r.Received, j.last()))
	if received > j.received && s.conversation.moreFollows {
		s.schedule.urgent = true // the leader has received all items so far, so the remaining items can be sent at once
	}
	j.received = received
}

// endJob drops all spans and items of a job that has ended, or of a round of a job that continues.
func (s *Session) endJob(id string, continues bool) {
	j, at := s.find(id)
	if j == nil {
		s.do(EndJob{Job: id, Continues: continues})
		return
	}
	s.do(EndJob{Job: id, Blobs: j.blobs(), Continues: continues})
	s.rememberEnded(j.id, j.last())
	s.dropItems(j, len(j.items))
	s.dropQueued(j)
	for _, h := range j.running {
		h.dropped = true
		s.strays(h)
	}
	for _, h := range j.calls {
		h.dropped = true
	}
	s.work.held -= len(j.running) + len(j.calls)
	s.work.nodes -= len(j.nodes)
	s.work.jobs = slices.Delete(s.work.jobs, at, at+1)
	s.schedule.urgent = true // slots have become free, so the next report is sent at once
}

// addJob records the data for opening a job. It is called again after the planning of a job that
// was not planned yet.
func (s *Session) addJob(o wire.Opening) {
	tree := engine.Tree{}
	if o.Partitions > 0 {
		var err error
		if tree, err = engine.NewTree(o.Partitions); err != nil {
			return // unreachable: Validate rejects such a receipt
		}
	}
	j, at := s.find(o.Job)
	if j != nil {
		j.listed = true
	}
	switch {
	case j != nil && j.tree.Partitions() == 0:
		j.opening, j.tree = o, tree
		return
	case j != nil:
		j.opening.Priority = o.Priority
		return
	}
	last := s.work.ended[o.Job]
	s.work.jobs = slices.Insert(s.work.jobs, at, &job{id: o.Job, opening: o, tree: tree, listed: true, durable: last, received: last})
}

// cut shortens a span, or drops a call that has not begun.
func (s *Session) cut(c wire.Cut) {
	s.schedule.urgent = true // the leader waits for the new end of the span
	for _, j := range s.work.jobs {
		for _, h := range slices.Concat(j.queued, j.running) {
			if h.id != c.ID {
				continue
			}
			h.hi = min(h.hi, max(c.Hi, h.claimed))
			if h.lo == h.hi {
				s.drop(h)
			}
			return
		}
		for _, h := range j.calls {
			if h.id == c.ID && !h.running {
				s.dropCall(h)
				return
			}
		}
	}
}

// assign adds a span to the held spans, or a call to the held calls. If the job of the span is not
// open, assign returns an action that opens the job.
func (s *Session) assign(a wire.Assignment) error {
	j, _ := s.find(a.Job)
	switch {
	case s.drain.begun:
		return nil // the next report will show the leader that the worker does not hold the span
	case j == nil:
		return fmt.Errorf("assigned span %v of job %s, which was not introduced", a.ID, a.Job)
	case a.Call == nil && a.Span.Hi > j.tree.Partitions():
		return fmt.Errorf("assigned span %v of job %s: %v is outside its %d partitions", a.ID, a.Job, a.Span, j.tree.Partitions())
	case j.knows(a.ID):
		return fmt.Errorf("assigned span %v of job %s, which is held already", a.ID, a.Job)
	case s.work.held >= MaxHeld:
		s.schedule.urgent = true
		return fmt.Errorf("assigned span %v of job %s: %d are held already", a.ID, a.Job, s.work.held)
	}
	s.work.assigned++
	s.work.held++
	if a.Call != nil {
		j.calls = append(j.calls, &HeldCall{id: a.ID, job: j, call: *a.Call, arrival: s.work.assigned})
		return nil
	}
	h := &HeldSpan{id: a.ID, job: j, lo: a.Span.Lo, claimed: a.Span.Lo, hi: a.Span.Hi, arrival: s.work.assigned, attempt: max(1, a.Attempt)}
	j.queued = append(j.queued, h)
	if a.Alone {
		s.work.alone = alone{span: h}
	}
	if j.state == closed {
		j.state = opening
		s.do(OpenJob{j.opening})
	}
	return nil
}
