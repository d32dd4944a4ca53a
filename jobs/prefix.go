package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// errSuffices means that a prefix suffices, so that the slots of a local run stop.
var errSuffices = errors.New("a prefix of the partitions suffices")

// judge judges the prefixes of a local run in the order of the rungs.
type judge struct {
	Local
	job    Job
	params Params
	tree   engine.Tree
	forest forest

	cancel  context.CancelFunc // ends the running partitions, because a prefix suffices
	waiting atomic.Int64       // number of calls of run since a goroutine began to judge
	late    atomic.Bool        // true if the job's time is up
	rung    atomic.Uint64      // the last judged rung, or 0

	// Only the goroutine that judges uses the following fields, and the caller after the slots have ended.
	prefix  engine.Operand // the prefix of the result; until then the last judged prefix, if the job's time is limited
	stopped *Stopped
}

// limit returns a context that is done when a prefix suffices, or when the job's time is up and a prefix is judged.
func (j *judge) limit(ctx context.Context) (limited context.Context, release func()) {
	limited, j.cancel = context.WithCancel(ctx)
	if j.StopAfter == 0 {
		return limited, j.cancel
	}
	timer := time.AfterFunc(j.StopAfter-time.Since(j.began), func() {
		j.late.Store(true)
		if j.rung.Load() > 0 { // otherwise the goroutine that judges the first prefix stops the job
			j.cancel()
		}
	})
	return limited, func() { timer.Stop(); j.cancel() }
}

// stopInTime ends the job with the last judged prefix, if there is one and the job's time is up.
func (j *judge) stopInTime() {
	if rung := j.rung.Load(); j.stopped == nil && rung > 0 && j.late.Load() {
		j.stopped = &Stopped{At: rung, Rung: engine.RungNumber(rung), Timed: true}
	}
}

// run judges the rungs whose prefixes are finished. If another goroutine is judging, that goroutine looks for
// further rungs instead. run returns errSuffices if a prefix suffices.
func (j *judge) run(ctx context.Context) error {
	if !j.prefixes || j.waiting.Add(1) > 1 {
		return nil
	}
	for {
		seen := j.waiting.Load()
		for again := true; again; {
			var err error
			if again, err = j.next(ctx); err == errSuffices {
				j.cancel()
			}
			if err != nil {
				return err // the slots stop, so no other goroutine has to judge
			}
		}
		if j.waiting.CompareAndSwap(seen, 0) {
			return nil
		}
	}
}

// next judges the next rung. It returns false if the rung's prefix is not finished.
func (j *judge) next(ctx context.Context) (judged bool, err error) {
	rung := engine.NextRung(j.rung.Load())
	if rung >= j.tree.Partitions() {
		return false, nil
	}
	partials, finished, err := j.forest.prefix(j.tree.Prefix(rung))
	if err != nil || !finished {
		return false, err
	}
	prefix, e, err := j.estimate(ctx, rung, partials)
	if err != nil {
		return false, err
	}
	if j.StopAfter > 0 {
		j.prefix = prefix
	}
	j.rung.Store(rung)
	if j.Estimated != nil {
		j.Estimated(Estimated{Partitions: rung, Value: e.Value})
	}
	if e.Stop {
		j.prefix, j.stopped = prefix, &Stopped{At: rung, Rung: engine.RungNumber(rung)}
		return false, errSuffices
	}
	if j.stopInTime(); j.stopped != nil {
		return false, errSuffices
	}
	return true, j.forest.judged(ctx, rung, j.Attempts)
}

// estimate merges and judges a prefix, up to the job's number of attempts.
func (j *judge) estimate(ctx context.Context, rung uint64, partials []engine.Operand) (prefix engine.Operand, e engine.Estimate, err error) {
	for attempt := 1; ; attempt++ {
		prefix, err = engine.MergePrefix(partials, func(left, right engine.Operand) ([]byte, error) {
			return j.job.binding.Merge(ctx, j.params, left, right)
		})
		if err == nil {
			prefix.Own = false // the prefix may become the operand of Finish
			e, err = j.job.binding.Estimate(ctx, j.params, prefix, rung)
		}
		if err == nil && j.twice {
			return prefix, e, j.compare(ctx, rung, prefix, e)
		}
		if err == nil || attempt >= j.Attempts || IsPermanent(err) || ctx.Err() != nil {
			return prefix, e, err
		}
	}
}

// compare judges a prefix again, and returns an error if the judgements differ.
func (j *judge) compare(ctx context.Context, rung uint64, prefix engine.Operand, first engine.Estimate) error {
	again, err := j.job.binding.Estimate(ctx, j.params, prefix, rung)
	if err == nil && (again.Stop != first.Stop || !bytes.Equal(again.Value, first.Value)) {
		err = &DifferenceError{fmt.Sprintf("estimate of the first %d partitions", rung), "two calls of Estimate and Stop", causeEstimate}
	}
	return err
}

// segmentPieces is the minimum number of spans per slot between two rungs, if there are enough partitions.
const segmentPieces = 4

// segments returns the spans of a job whose prefixes are judged, in order. Each rung is the end of a span. A kept
// node is never divided.
func (l Local) segments(tree engine.Tree, found []keptNode) (spans []Span) {
	for lo := uint64(0); lo < tree.Partitions(); {
		rung := engine.NextRung(lo)
		step := rung - lo
		for step > 1 && (rung-lo)/step < uint64(max(l.Slots, 1))*segmentPieces {
			step /= 2
		}
		for rung = min(rung, tree.Partitions()); lo < rung; lo = last(spans).Hi {
			hi := min(lo+step, rung)
			for len(found) > 0 && found[0].span.Lo < hi {
				hi = max(hi, found[0].span.Hi)
				found = found[1:]
			}
			spans = append(spans, Span{Lo: lo, Hi: hi})
		}
	}
	return spans
}

// firstFailure is the failure of the lowest of the spans that have failed.
type firstFailure struct {
	mu  sync.Mutex
	at  uint64
	err error
}

func (f *firstFailure) note(i uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil || i < f.at {
		f.at, f.err = i, err
	}
}

// before reports whether a span before i has failed.
func (f *firstFailure) before(i uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err != nil && f.at < i
}
