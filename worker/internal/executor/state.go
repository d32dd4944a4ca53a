package executor

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// The state of a round that is too large for an opening is durable in storage when the round begins. The worker that has
// computed it has its bytes, and so does each worker that has the round open. A worker gets the bytes from
//
//	1. its own memory
//	2. the worker that the opening names, which may still be getting them itself
//	3. storage, if there is no such worker, or if it is gone, too slow or has damaged bytes

// roundState is the encoded state of a round. Its bytes must not be changed.
type roundState struct {
	data []byte
	sum  uint32 // CRC-32C of data
}

func newRoundState(data []byte) roundState { return roundState{data, wire.Checksum(data)} }

const (
	// A worker waits stateWait, and the time that the state takes at stateBytesPerSecond, until another worker has the state.
	stateWait           = time.Second
	stateBytesPerSecond = 50_000_000
	// stateRetry is the time between two requests for a state that the other worker does not have yet.
	stateRetry = 20 * time.Millisecond
)

// hold keeps a state of a round for this and other workers, and drops the states of earlier rounds. The job must be
// open, because its end drops the states. The caller must hold core.mu.
func (l *tasks) hold(round string, state roundState) (held bool) {
	job, number := engine.SplitRound(round)
	r := l.rounds[job]
	if r == nil || len(state.data) <= wire.MaxState {
		return false
	}
	before := r.stateBytes()
	maps.DeleteFunc(r.states, func(id string, _ roundState) bool {
		_, other := engine.SplitRound(id)
		return other+1 < number
	})
	r.states[round] = state
	l.partials.useStates(r.stateBytes() - before)
	return true
}

// stateBytes returns the number of bytes of the states that the job holds. The caller must hold core.mu.
func (r *roundsJob) stateBytes() (n int64) {
	for _, s := range r.states {
		n += int64(len(s.data))
	}
	return n
}

// copied returns a copy of a state.
func (l *tasks) copied(state []byte) []byte {
	if len(state) == 0 {
		return state // nil differs from empty
	}
	data := l.partials.buffer(int64(len(state)))
	rest := data
	for piece := range slices.Chunk(state, 1<<20) { // a garbage collection waits for each call of copy
		rest = rest[copy(rest, piece):]
	}
	return data
}

// buffer returns memory for a state, whose bytes may have any value.
func (p *partials) buffer(n int64) []byte {
	if p.held == nil {
		return make([]byte, n)
	}
	return p.held.Buffer(n)
}

// useStates counts bytes of states against the memory of the worker.
func (p *partials) useStates(n int64) {
	if p.held != nil {
		p.held.UseStates(n)
	}
}

// state returns the state of a round that this worker has.
func (l *tasks) state(round string) (roundState, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.rounds[engine.JobOf(round)]; r != nil {
		state, held := r.states[round]
		return state, held
	}
	return roundState{}, false
}

// readState fills a slice with the bytes of a state from offset on, for another worker.
func (l *tasks) readState(round string, to []byte, offset int64) error {
	state, held := l.state(round)
	if !held || offset+int64(len(to)) > int64(len(state.data)) {
		return bulk.ErrNotHeld
	}
	copy(to, state.data[offset:])
	return nil
}

// round returns the round of a job's opening, or nil if the job has no rounds. The bytes of the state must not be changed.
func (l *tasks) round(s jobStorage, o wire.Opening) (*session.InRound, error) {
	if !o.Rounds {
		return nil, nil
	}
	_, number := engine.SplitRound(o.Job)
	in := &session.InRound{Round: engine.Round{Number: number, State: o.State}, Last: o.Last}
	if o.StateBlob == "" {
		return in, nil
	}
	if state, held := l.state(o.Job); held && o.StateSize == uint64(len(state.data)) && o.StateSum == state.sum {
		in.State = state.data
		return in, nil
	}
	var err error
	if l.cfg.Bulk != nil && o.StateHolder != "" && o.StateHolder != l.cfg.ID {
		if in.State, err = l.fetchState(s, o); err == nil {
			return in, nil
		}
		l.cfg.Logger.Info("State could not be fetched, reading it from storage", "job", o.Job, "holder", o.StateHolder, "error", err)
	}
	err = s.retry("read state", func() (err error) {
		in.State, err = s.store.Partial(s.ctx, o.Job, o.StateBlob)
		return err
	}, func(err error) bool { return errors.Is(err, store.ErrUnavailable) })
	return in, err
}

// fetchState fetches the state of a round from the worker that the opening names.
func (l *tasks) fetchState(s jobStorage, o wire.Opening) ([]byte, error) {
	data := l.partials.buffer(int64(o.StateSize))
	until := time.Now().Add(stateWait + time.Duration(float64(o.StateSize)/stateBytesPerSecond*float64(time.Second)))
	for {
		err := l.bulk.Fetch(s.ctx, l.cfg.Subjects.Bulk(o.StateHolder), o.Job, wire.OutputNode(wire.Finish), data, o.StateSum)
		switch {
		case err == nil:
			return data, nil
		case !errors.Is(err, bulk.ErrNotHeld) || time.Now().After(until):
			return nil, err
		}
		select {
		case <-time.After(stateRetry):
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}
