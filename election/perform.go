package election

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// perform starts an action of the machine.
func (s *shell) perform(action Action) {
	switch a := action.(type) {
	case Ping:
		s.ask(s.calls, a.Question, func(ctx context.Context) (Record, error) {
			return Record{}, s.peers.Ping(ctx, a.Epoch)
		})
	case Read:
		s.ask(s.calls, a.Question, s.lease.Read)
	case Acquire:
		s.ask(s.calls, a.Question, func(ctx context.Context) (Record, error) {
			return s.lease.Acquire(ctx, a.Claim)
		})
	case Renew:
		s.ask(s.leaseCtx, a.Question, func(ctx context.Context) (Record, error) {
			return Record{}, s.lease.Renew(ctx, a.Held)
		})
	case Transfer:
		s.ask(s.calls, a.Question, func(ctx context.Context) (Record, error) {
			to, ok := s.lease.(Transferrer)
			if !ok {
				return Record{}, fmt.Errorf("transfer lease: %w", errors.ErrUnsupported)
			}
			return Record{}, to.Transfer(ctx, a.Held, a.LeaseID)
		})
	case Offer:
		s.ask(s.calls, a.Question, func(ctx context.Context) (Record, error) {
			return Record{}, s.peers.Offer(ctx, a.Worker, a.Offer)
		})
	case Release:
		s.ask(s.calls, a.Question, func(ctx context.Context) (Record, error) {
			return Record{}, s.lease.Release(ctx, a.Held)
		})
	case SendSuspicion:
		s.peers.SendSuspicion(a.Epoch)
	case Lead:
		s.startLeading(a)
	case SetDeadline:
		s.leaseCtx.setCause(a.Cause)
		s.leaseCtx.extend(s.started.Add(a.Deadline))
	case AwaitBeat:
		select {
		case <-s.beats: // discard an earlier beat, because it does not prove that the loop still runs
		default:
		}
		s.awaited = s.beats
	case EndTerm:
		s.leaseCtx.end(a.Cause)
	case StopLeading:
		close(s.stopping)
	case Done:
		s.done = true
	}
}

// ask runs call in a new goroutine and answers question q with the result. The call ends within
// q.Within, and earlier if ctx or Run ends.
func (s *shell) ask(ctx context.Context, q Question, call func(context.Context) (Record, error)) {
	s.running.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, q.Within)
		defer cancel()
		record, err := call(ctx)
		select {
		case s.answers <- Answer{To: q.Number, Record: record, Err: err}:
		case <-s.calls.Done():
		}
	})
}

// startLeading starts the leading function.
func (s *shell) startLeading(l Lead) {
	leaseCtx := newLeaseContext(s.calls, s.started.Add(l.Deadline))
	beat, stopping := make(chan struct{}, 1), make(chan struct{})
	term := l.Term(time.Now(), TermControl{
		Beat: func() {
			select {
			case beat <- struct{}{}:
			default: // the channel already contains an unread beat
			}
		},
		Stopping: stopping,
		Deposed:  func(epoch uint64) { leaseCtx.end(higherEpoch(epoch)) },
	})
	s.leaseCtx, s.ended, s.beats, s.stopping = leaseCtx, leaseCtx.Done(), beat, stopping
	s.running.Go(func() {
		successor, err := s.leadFunc(leaseCtx, term)
		s.returned <- Returned{successor, err}
	})
}
