package sim

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// Workers, leaders and checks treat each round of a simulated job as a job. It behaves like the job with rounds, and
// has its own state and partials.

// iterates is the behaviour of a simulated job with rounds.
type iterates struct {
	rounds   uint64 // number of rounds; 0 for a job without rounds
	statePad int    // number of additional bytes in each state
}

// round is what makes a job the job of a round.
type round struct {
	of     *job    // the job with rounds; nil for a job without rounds
	number uint64  // number of the round, from 0
	state  float64 // state of the round
}

// iterated is the name of the job definition of jobs with rounds.
const iterated = "iterated"

// drawRounds lets some jobs have rounds, in which no partition is skipped and no code misbehaves. It has its own source of
// chance, so that a seed without such jobs simulates what it did before there were rounds.
func (s *Sim) drawRounds(seed uint64) {
	c := newRNG(seed*0x9e3779b97f4a7c15 + 1)
	for i := range s.scenario.jobs {
		b := &s.scenario.jobs[i]
		misbehaves := b.rogue.function != wire.Map || b.planFails > 0 || b.found != nil || b.judged || b.version > 0 || s.scenario.oldShare > 0
		if misbehaves || b.sours != noPartition || b.killer != noPartition || b.hangs != noPartition || s.scenario.evicts || s.scenario.breaks || !c.chance(0.4) {
			continue
		}
		b.rounds = uint64(c.intBetween(1, 4))
		if b.pad == 0 {
			b.each = max(b.each/time.Duration(b.rounds), time.Millisecond)
		}
		switch {
		case c.chance(0.2):
			b.statePad = 300 << 10 // the state is too large for a report
		case c.chance(0.3):
			b.statePad = 5 << 10 // the state is too large for a manifest
		}
		if c.chance(0.2) {
			b.stopAfter = c.logBetween(100*time.Millisecond, 10*time.Second)
		}
	}
}

// stepState is the state of a simulated job with rounds.
type stepState struct {
	Job uint64 // index of the job in Sim.list
	At  float64
	Pad []byte
}

func (s *Sim) defineRounds() jobs.Job {
	return jobs.MustNewRounds(jobs.Rounds[params, stepState, leaf, result]{
		Name: iterated, Version: "1", Summary: "counts its partitions again and again", Measure: "place",
		Plan: func(_ context.Context, p params) (jobs.Plan, error) {
			j := s.job(p.Job)
			return jobs.Plan{Partitions: j.partitions, Data: make([]byte, j.data)}, nil
		},
		Start: func(_ context.Context, p params, _ jobs.Plan) (stepState, error) {
			return s.job(p.Job).stepState(firstState), nil
		},
		Open: func(_ context.Context, p params, _ jobs.Plan) (jobs.Rounder[stepState, leaf], error) {
			return rounder{s.job(p.Job)}, nil
		},
		Merge: s.merge,
		Next: func(_ context.Context, p params, state stepState, total leaf, _ uint64) (jobs.Step[stepState], error) {
			j := s.job(p.Job)
			next := nextState(state.At, total)
			return jobs.Step[stepState]{State: j.stepState(next), Value: next}, nil
		},
		MaxRounds: func(p params) uint64 { return s.job(p.Job).rounds },
		Finish: func(_ context.Context, p params, state stepState) (result, error) {
			return result{Runs: [][2]uint64{{0, s.job(p.Job).partitions}}, Sum: state.At}, nil
		},
		Codec: leafCodec{},
	})
}

const firstState = 1.0

// nextState depends on each bit of the merged partial of a round, and on its number of partitions.
func nextState(state float64, total leaf) float64 {
	return math.Mod(total.Sum+state/3+float64(total.Runs[len(total.Runs)-1][1]), 7) + 1
}

func (j *job) stepState(at float64) stepState {
	return stepState{j.index, at, make([]byte, j.statePad)}
}

type rounder struct{ job *job }

func (r rounder) Round(_ context.Context, state stepState) (jobs.Mapper[leaf], error) {
	return roundMapper{r.job, state.At}, nil
}

type roundMapper struct {
	job   *job
	state float64
}

func (m roundMapper) Map(ctx context.Context, partition uint64) (leaf, error) {
	l, err := mapper{m.job}.Map(ctx, partition)
	l.Sum *= m.state
	return l, err // the job that Open has is that with rounds, so its leaf does not depend on the state yet
}

// job returns the job with an ID, which may be that of a round.
func (s *Sim) job(id string) *job {
	if j := s.jobs[id]; j != nil {
		return j
	}
	of, number := engine.SplitRound(id)
	base := s.jobs[of]
	if base == nil || base.rounds == 0 {
		return nil
	}
	j := *base
	j.round = round{of: base, number: number, state: firstState}
	j.spec.ID, j.nodes = id, map[engine.Node][]byte{}
	if number > 1 {
		j.round.state = base.stateAfter(number - 1)
	}
	s.jobs[id], s.rounds = &j, append(s.rounds, &j)
	return &j
}

// stateAfter returns the state after a round of a job.
func (j *job) stateAfter(number uint64) float64 {
	r := j.sim.job(engine.RoundID(j.origin().spec.ID, number))
	root, err := r.referenceNode(r.tree.Root(), nil)
	if err != nil {
		panic(err) // cannot happen: nothing misbehaves in a reference
	}
	total, err := leafCodec{}.Decode(root)
	if err != nil {
		panic(err)
	}
	return nextState(r.round.state, total)
}

// origin returns the job of a round, or a job without rounds itself.
func (j *job) origin() *job {
	if j.round.of != nil {
		return j.round.of
	}
	return j
}

// withRounds returns a job that has another number of rounds.
func (j *job) withRounds(rounds uint64) *job {
	other := *j
	other.rounds = rounds
	return &other
}

// hasOpen reports whether a worker has opened a job, or a round of it.
func (w *worker) hasOpen(j *job) bool {
	for id := range w.tasks {
		if engine.JobOf(id) == j.spec.ID {
			return true
		}
	}
	return false
}

// all returns all jobs, and those of rounds in place of jobs with rounds.
func (s *Sim) all() []*job {
	ordinary := slices.DeleteFunc(slices.Clone(s.list), func(j *job) bool { return j.rounds > 0 })
	return append(ordinary, s.rounds...)
}

// definition returns the definition of a job.
func (j *job) definition() jobs.Job {
	if j.rounds > 0 {
		return j.sim.iterated
	}
	return j.sim.versions[j.version]
}

// current returns the job of the round that a manifest describes, or the job itself if it has no rounds.
func (j *job) current(m store.Manifest) *job {
	if m.Rounds == nil {
		return j
	}
	return j.sim.job(engine.RoundID(j.spec.ID, m.Rounds.Round))
}

// manifest returns the manifest of a job that was written last. A round that is over has a manifest that is final.
func (c *checks) manifest(id string) store.Manifest {
	of, number := engine.SplitRound(id)
	m := c.manifests[of]
	if of != id && !m.State.Final() && m.Rounds != nil && m.Rounds.Round > number {
		return store.Manifest{State: store.Completed}
	}
	return m
}

// roundsWell checks the round of a manifest: the same as before with the same state, or the next one with the state that
// a single process computes. It reports whether the round is another one.
func (c *checks) roundsWell(by string, j *job, old, m store.Manifest) (another bool) {
	if j.rounds == 0 {
		return false
	}
	if old.Rounds == nil {
		return true
	}
	was, now := old.Rounds, m.Rounds
	switch {
	case now == nil || now.Round < was.Round || now.Round > was.Round+1 || now.Last != (now.TimeUp || now.Round == j.rounds+1) || now.TimeUp && now.Round < 3:
		c.sim.fail("%s wrote a manifest of job %s with the round %+v, after %+v", by, j.spec.ID, now, was)
		return true
	case now.Round == was.Round && (now.Blob != was.Blob || string(now.State) != string(was.State) || now.Earlier != was.Earlier):
		c.sim.fail("%s wrote a manifest of job %s with another state of round %d", by, j.spec.ID, now.Round)
	case now.Round > was.Round:
		c.sim.cover("seen: next round")
		if m.Epoch > m.Epochs[0] {
			c.sim.cover("seen: next round after a change of leader")
		}
		data, err := now.State, error(nil)
		if now.Blob != "" {
			c.sim.cover("seen: large state")
			data, err = c.sim.storage.store.Partial(context.Background(), engine.RoundID(j.spec.ID, now.Round), now.Blob)
		}
		of := now.Round
		if now.TimeUp {
			c.sim.cover("seen: rounds that stop in time")
			of-- // the state of the stopped round
		}
		want, wrong := jobs.CBOR[stepState]().Encode(j.stepState(c.sim.job(engine.RoundID(j.spec.ID, of)).round.state))
		if err != nil || wrong != nil || string(data) != string(want) {
			c.sim.fail("%s wrote a manifest of job %s whose state of round %d is not that of a single process (%v, %v)", by, j.spec.ID, now.Round, err, wrong)
		}
		stopped := uint64(0)
		if now.TimeUp {
			stopped = j.partitions // most that the stopped round can have finished
		}
		if want := (now.Counted() - 1) * j.partitions; now.Earlier < want || now.Earlier > want+stopped {
			c.sim.fail("%s wrote a manifest of job %s that counts %d partitions before round %d, want %d", by, j.spec.ID, now.Earlier, now.Round, want)
		}
		return true
	}
	return false
}

// keepStates checks that storage has the large states that the final manifests name.
func (c *checks) keepStates() {
	for _, id := range slices.Sorted(maps.Keys(c.manifests)) {
		m := c.manifests[id]
		if m.Rounds == nil || m.Rounds.Blob == "" || !m.State.Final() || c.sim.job(id).removed || c.sim.job(id).removing {
			continue
		}
		round := engine.RoundID(id, m.Rounds.Round)
		if _, err := c.sim.storage.store.Partial(context.Background(), round, m.Rounds.Blob); err != nil {
			c.sim.fail("the state of %s, which the final manifest of job %s names, cannot be read: %v", round, id, err)
		}
	}
}

// round returns the round of a call of Finish, or nil if the job has no rounds.
func (c *call) round() (*session.InRound, error) {
	o := c.call.Opening()
	if c.call.Call().Function != wire.Finish || !o.Rounds {
		return nil, nil
	}
	state, err := c.worker.process.readState(c.ctx, o)
	_, number := engine.SplitRound(o.Job)
	return &session.InRound{Round: engine.Round{Number: number, State: state}, Last: o.Last, Partitions: o.Partitions, PlanData: o.Data}, err
}

// readState returns the state of a round, as package executor reads it.
func (p *process) readState(ctx context.Context, o wire.Opening) (state []byte, err error) {
	if o.StateBlob == "" {
		return o.State, nil
	}
	for {
		if state, err = p.store.Partial(ctx, o.Job, o.StateBlob); err == nil || ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) {
			return state, err
		}
		p.pause(ctx, 100*time.Millisecond)
	}
}
