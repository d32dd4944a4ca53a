package term

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// active returns the active job that the ledger knows by an ID: the ID of a job, or of the current round of a job
// with rounds. It returns nil if there is none.
func (t *Term) active(id string) *activeJob {
	if j := t.jobs.active[engine.JobOf(id)]; j != nil && j.id == id {
		return j
	}
	return nil
}

// ledgerID returns the ID by which the ledger knows a job.
func (t *Term) ledgerID(job string) string {
	if j := t.jobs.active[job]; j != nil {
		return j.id
	}
	return job
}

// setRound sets the current round of a job with rounds according to its manifest. The bytes of the round's state may be
// known although the manifest has only the blob. It returns the round for the ledger.
func (j *activeJob) setRound(state []byte) ledger.Round {
	r := j.manifest.last.Rounds
	if r == nil {
		return ledger.Round{}
	}
	j.id = engine.RoundID(j.spec.ID, r.Round)
	round := ledger.Round{Rounds: true, Number: r.Round, Last: r.Last, TimeUp: r.TimeUp, Earlier: r.Earlier, State: r.State, StateBlob: r.Blob}
	if r.Blob != "" && state != nil && len(state) <= wire.MaxState {
		round.State, round.StateBlob = state, ""
	}
	return round
}

// endRound makes the state of the next round durable, and begins that round. The state of a round is written before the
// manifest that names it, as a blob of that round. The manifest is the only record of the round, so of two leaders only
// one begins it.
//
//	the leader dies before the manifest is written    the next leader has Finish called again, for the same state
//	… after it                                        the next leader resumes the next round
//	the blobs of the old round are not removed        they are removed with the job
func (t *Term) endRound(e ledger.EndRound) {
	j := t.active(e.Job)
	j.ending.Store(true)
	if e.TimeUp {
		t.stopRounds(j, e.Snapshot)
		return
	}
	state, finished := t.partials.get(e.State), jobs.Rounded{Round: j.round(), Value: e.Value, Took: t.since(j.roundBegan)}
	t.spawn(func() func() {
		err := t.putState(j, &state)
		return func() {
			if err != nil {
				t.endWith(j, e.Work, err)
				return
			}
			data := state.data
			if state.blob != "" {
				data = nil
			}
			t.beginRound(j, e.Work, state.data, func(r *store.Rounds, partitions uint64) *store.Rounds {
				return r.Next(data, state.blob, finished, partitions, e.Last)
			})
		}
	})
}

// stopRounds makes the state of the current round durable as the last one of the job.
func (t *Term) stopRounds(j *activeJob, now ledger.Snapshot) {
	r, work := j.manifest.last.Rounds, now.Work
	var done uint64
	for _, n := range now.Nodes {
		done += j.tree.Span(n.Node).Len()
	}
	t.spawn(func() func() {
		copied, err := t.copyPartial(j.id, engine.RoundID(j.spec.ID, r.Round+1), store.StoredNode{Node: wire.OutputNode(wire.Finish), Blob: r.Blob})
		return func() {
			switch {
			case err == nil && copied:
				t.beginRound(j, work, nil, func(r *store.Rounds, partitions uint64) *store.Rounds { return r.Stop(partitions, done) })
			case err == nil:
				t.endWith(j, work, &jobFault{fmt.Errorf("the state of round %d is lost or damaged in storage, resubmit the job", r.Round)})
			default:
				t.endWith(j, work, err)
			}
		}
	})
}

// beginRound writes the manifest that begins the next round, which the function follow returns for the number of the job's partitions, and begins it. The bytes of
// its state may be nil if the manifest has them.
func (t *Term) beginRound(j *activeJob, work store.Work, state []byte, follow func(r *store.Rounds, partitions uint64) *store.Rounds) {
	t.writeManifest(j, nextWork(work), func(next *store.Manifest) error {
		next.Rounds, next.Nodes = follow(next.Rounds, next.Partitions), nil
		next.AddSample(next.Elapsed)
		return nil
	}, func() { t.roundEnded(j, state) })
}

// round returns the number of the current round of a job with rounds.
func (j *activeJob) round() uint64 {
	_, round := engine.SplitRound(j.id)
	return round
}

// nextWork returns the work on the next round, which begins with what is measured and counted for the whole job. If this
// leader dies, the next one waits for the reports of the workers that have worked on this round, because they probably
// work on the next one too. Their items of the next round have numbers from 1.
func nextWork(w store.Work) store.Work {
	var workers []store.Contributor
	for _, c := range w.Workers {
		if c.Through > 0 {
			workers = append(workers, store.Contributor{Worker: c.Worker, Through: 0})
		}
	}
	return store.Work{
		Workers:  workers,
		Executed: w.Executed, Uncounted: w.Uncounted, Builds: w.Builds, Errors: w.Errors, OtherErrors: w.OtherErrors,
		PartitionTime: w.PartitionTime, Durations: w.Durations, Elapsed: w.Elapsed, Deaths: w.Deaths, WorkerTime: w.WorkerTime, Cost: w.Cost,
	}
}

// putState writes a state into a blob of the next round if it is too large for manifests.
func (t *Term) putState(j *activeJob, state *partial) error {
	if !state.needsBlob(maxInManifest) {
		return nil
	}
	err := t.retry("write state", func(ctx context.Context) (err error) {
		state.blob, err = t.cfg.Store.PutPartial(ctx, engine.RoundID(j.spec.ID, j.round()+1), wire.OutputNode(wire.Finish), state.data)
		if errors.Is(err, store.ErrFull) && j.cancelled.Load() {
			return errNoRoom
		}
		return err
	})
	if errors.Is(err, store.ErrTooLarge) {
		err = &jobFault{fmt.Errorf("write the state after round %d: %w", j.round(), err)}
	}
	return err
}

// roundEnded begins the next round. The merges of the old round that still run are dropped when they return.
func (t *Term) roundEnded(j *activeJob, state []byte) {
	next := t.newActiveJob(j.spec)
	next.plan, next.tree, next.submission, next.cancels, next.throttle = j.plan, j.tree, j.submission, j.cancels, j.throttle
	next.manifest, next.began = j.manifest, true
	next.cancelled.Store(j.cancelled.Load())
	j.ended, j.continued = true, true
	t.recordRound(next)
	t.jobs.active[j.spec.ID] = next
	t.cleanUpEnded(j)
	t.step(ledger.JobEnded{Job: j.id})
	next.blobs.exist = true
	t.add(next, next.setRound(state), ledger.Snapshot{Work: next.manifest.last.Work})
	if len(next.cancels) > 0 {
		t.step(ledger.JobCancelled{Job: next.id})
	}
}

// recordRound records the end of a round as an event of its job.
func (t *Term) recordRound(j *activeJob) {
	finished := j.manifest.last.Rounds.Finished
	if len(finished) == 0 {
		return // round 0 is no event for people
	}
	if j.manifest.last.Rounds.TimeUp {
		t.record(j.spec.ID, "", fmt.Sprintf("The time is up: the result is that of round %d", finished[len(finished)-1].Round), true)
		return
	}
	last := finished[len(finished)-1]
	text := fmt.Sprintf("Round %d ended", last.Round)
	if j.spec.Measure != "" {
		text += fmt.Sprintf(", %s %g", j.spec.Measure, last.Value)
	}
	t.record(j.spec.ID, "", text, true)
}

// dropRound removes the blobs of a round that has ended.
func (t *Term) dropRound(id string) {
	t.env.Go(func() {
		err := t.retry("delete the partials of a round", func(ctx context.Context) error { return t.cfg.Store.DropPartials(ctx, id) })
		if err != nil && t.ctx.Err() == nil {
			t.log.Warn("Could not delete the partials of a round, they are deleted at the job's end", "job", id, "error", err)
		}
	})
}
