package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// errLost means that a slot's code returned long after it was cancelled. After errLost the merge
// stack must not be used, because the session has already given up the span.
var errLost = errors.New("code was given up")

// runClaim runs claimed partitions, and returns the first partition that is not done.
func (s *slot) runClaim(span *session.HeldSpan, t *task, claim engine.Span) (next uint64, err error) {
	stack := t.stacks[s.number]
	g, progress := s.guardClaim(t, claim)
	stack.Watch(progress)
	ctx := t.withLog(t.ctx, t.opening.Job, place{progress: progress, span: claim, attempt: span.Attempt()})
	gone, failed := g.run(ctx, func(ctx context.Context) (err error) {
		next, err = stack.Run(ctx, claim, &s.stop)
		return err
	})
	if failed == jobs.ErrGoexit {
		failed = cmp.Or(stack.Interrupted(), failed)
	}
	partition := claim.Lo
	var limit *limitError
	if errors.As(failed, &limit) && progress != nil {
		partition, limit.what = progress.At()
	}
	if gone != nil {
		if progress == nil && limit != nil && t.ctx.Err() == nil {
			failed = jobs.Permanent(fmt.Errorf("one of the partitions %d to %d: %w", claim.Lo, claim.Hi-1, failed))
		}
		s.lose(span, t, failure(partition, failed), gone)
		return 0, errLost
	}
	var at *jobs.PartitionError
	if errors.As(failed, &at) {
		next = at.Partition
	}
	if isExhausted(failed) {
		t.pauseExhausted(failed)
	}
	return next, failed
}

// guardClaim returns the guard for a claim, and the record of what runs. With the record, the guard
// limits each function of each partition. The record takes a third of the time of empty partitions, so
// fast partitions with a long limit have none. Their guard ends the claim after the running partition
// when the limit has passed, and the claim has failed when the limit has passed a second time.
func (s *slot) guardClaim(t *task, claim engine.Span) (guard, *engine.Progress) {
	if t.limits.Map > 0 && (claim.Len() < s.timing.fast || t.limits.Map < s.timing.coarse) {
		var progress engine.Progress
		progress.Set(claim.Lo, engine.Map)
		_, function := progress.At()
		return s.watch(t.limits.Map, &progress, claim.Lo, function), &progress
	}
	ended := false
	return guard{core: s.core, limit: t.limits.Map, late: func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stop.Store(true)
		defer func() { ended = true }()
		return ended
	}}, nil
}

// nextClaim returns how many partitions a slot should claim so that they take about the time
// target. It assumes that each partition takes as long as one of the last claim, of which the slot
// has run the number ran in the time took. It increases the number only gradually, because partitions
// may take different times. A claim that was stopped before its first partition says nothing, and the
// number stays as it is.
func nextClaim(last, ran uint64, took, target time.Duration) uint64 {
	const step = 8
	if ran == 0 {
		return last
	}
	ideal := float64(last) * step
	if took > 0 {
		ideal = min(ideal, float64(ran)*float64(target)/float64(took))
	}
	return max(1, uint64(min(ideal, 1<<30)))
}
