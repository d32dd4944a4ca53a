package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/election/machine"
)

func (s *shell) perform(action machine.Action) {
	switch a := action.(type) {
	case machine.Ping:
		s.ask(s.calls, a.Question, func(ctx context.Context) (Record, error) {
			return Record{}, s.peers.Ping(ctx, a.Epoch)
		})
	case machine.Read:
		s.ask(s.calls, a.Question, s.lease.Read)
	case machine.Acquire:
		s.ask(s.calls, a.Question, func(ctx context.Context) (Record, error) {
			a.Claim.Above = s.highest.Load()
			return s.lease.Acquire(ctx, a.Claim)
		})
	case machine.Renew:
		s.ask(s.leaseCtx, a.Question, func(ctx context.Context) (Record, error) {
			return Record{}, s.lease.Renew(ctx, a.Held)
		})
	case machine.Transfer:
		s.ask(s.calls, a.Question, func(ctx context.Context) (Record, error) {
			to, ok := s.lease.(Transferrer)
			if !ok {
				return Record{}, fmt.Errorf("transfer lease: %w", errors.ErrUnsupported)
			}
			return Record{}, to.Transfer(ctx, a.Held, a.LeaseID)
		})
	case machine.Offer:
		s.ask(s.calls, a.Question, func(ctx context.Context) (Record, error) {
			return Record{}, s.peers.Offer(ctx, a.Worker, a.Offer)
		})
	case machine.Release:
		s.ask(s.calls, a.Question, func(ctx context.Context) (Record, error) {
			return Record{}, s.lease.Release(ctx, a.Held)
		})
	case machine.SendSuspicion:
		s.peers.SendSuspicion(a.Epoch)
	case machine.Lead:
		s.startLeading(a)
	case machine.SetDeadline:
		s.leaseCtx.setCause(a.Cause)
		s.leaseCtx.extend(s.started.Add(a.Deadline))
	case machine.AwaitBeat:
		s.awaitBeat()
	case machine.EndTerm:
		s.leaseCtx.end(a.Cause)
	case machine.StopLeading:
		close(s.stopping)
	case machine.Done:
		s.done = true
	}
}

// ask runs call in a new goroutine and answers question q with the result. The call ends within
// q.Within, and earlier if ctx or Run ends.
func (s *shell) ask(ctx context.Context, q machine.Question, call func(context.Context) (Record, error)) {
	s.running.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, q.Within)
		defer cancel()
		record, err := call(ctx)
		select {
		case s.answers <- machine.Answer{To: q.Number, Record: record, Err: err}:
		case <-s.calls.Done():
		}
	})
}

func (s *shell) startLeading(l machine.Lead) {
	leaseCtx := newLeaseContext(s.calls, s.started.Add(l.Deadline))
	beat, stopping := make(chan struct{}, 1), make(chan struct{})
	term := NewTerm(Term{
		Record: l.Record, Cause: l.Cause, Predecessor: l.Predecessor, Workers: l.Workers,
		Since: time.Now(), Detect: l.Detect, Elect: l.Elect,
	}, TermControl{
		Beat: func() {
			select {
			case beat <- struct{}{}:
			default: // the channel already contains an unread beat
			}
		},
		Stopping: stopping,
		Deposed: func(epoch uint64) {
			s.highest.Store(max(s.highest.Load(), epoch)) // only one term at a time calls Deposed
			leaseCtx.end(machine.HigherEpoch(epoch))
		},
	})
	s.leaseCtx, s.ended, s.beats, s.stopping = leaseCtx, leaseCtx.Done(), beat, stopping
	s.running.Go(func() {
		successor, err := s.leadFunc(leaseCtx, term)
		s.returned <- machine.Returned{Successor: successor, Err: err}
	})
}

// awaitBeat makes the shell wait for the next beat of the leading loop.
func (s *shell) awaitBeat() {
	if s.beatless {
		beat := make(chan struct{})
		close(beat)
		s.awaited = beat
		return
	}
	select {
	case <-s.beats: // discard an earlier beat, because it does not prove that the loop still runs
	default:
	}
	s.awaited = s.beats
}
