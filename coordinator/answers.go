package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
)

// respond sends an answer to the command line, which asks again if it is lost.
type respond func([]byte) error

type askLeader struct{ respond respond }

func (in askLeader) on(r *reign) { _ = in.respond(wire.Encode(r.leaderInfo())) }

type askStepDown struct{ respond respond }

func (in askStepDown) on(r *reign) {
	_ = in.respond(wire.Encode(r.leaderInfo()))
	r.leave()
}

func (r *reign) leaderInfo() wire.LeaderInfo {
	return wire.LeaderInfo{Epoch: r.term.Epoch, Worker: r.cfg.Worker, Host: r.cfg.Host, PID: r.cfg.PID, Since: r.term.Since}
}

type askWorkers struct{ respond respond }

func (in askWorkers) on(r *reign) {
	answer := wire.Workers{Epoch: r.term.Epoch}
	if r.ledger != nil {
		answer.Workers = r.ledger.Workers()
	}
	_ = in.respond(wire.Encode(answer))
}

func (r *reign) hearJobQuery(m *nats.Msg) error {
	query, err := wire.Decode[wire.JobQuery](m.Data)
	if err != nil {
		return err
	}
	r.post(askJobs{query, m.Respond})
	return nil
}

type askJobs struct {
	query   wire.JobQuery
	respond respond
}

func (in askJobs) on(r *reign) {
	answer := wire.Jobs{Epoch: r.term.Epoch}
	if r.ledger != nil {
		answer.Workers = len(r.ledger.Workers())
		answer.Jobs = r.ledger.Jobs()
	}
	for id, why := range r.parked {
		answer.Jobs = append(answer.Jobs, wire.JobProgress{Job: id, State: string(store.Queued), Trouble: why})
	}
	answer.Jobs = slices.DeleteFunc(answer.Jobs, func(p wire.JobProgress) bool {
		return in.query.Job != "" && p.Job != in.query.Job
	})
	slices.SortFunc(answer.Jobs, func(a, b wire.JobProgress) int { return strings.Compare(a.Job, b.Job) })
	_ = in.respond(wire.Encode(answer))
}

func (r *reign) hearCancel(m *nats.Msg) error {
	cancel, err := wire.Decode[wire.Cancel](m.Data)
	if err != nil {
		return err
	}
	r.post(askCancel{cancel.Job, func(err error) {
		done := wire.Done{}
		if err != nil {
			done.Error = err.Error()
		}
		_ = m.Respond(wire.Encode(done))
	}})
	return nil
}

// askCancel cancels a job. The answer comes once that is durable, so an old
// leader cannot give it.
type askCancel struct {
	job    string
	answer func(error)
}

func (in askCancel) on(r *reign) {
	if j := r.jobs[in.job]; j != nil {
		j.waiting = append(j.waiting, in.answer)
		r.step(ledger.JobCancelled{Job: in.job})
		return
	}
	r.spawn(func() {
		err := r.cancelQueued(in.job)
		if r.ctx.Err() == nil {
			in.answer(err)
		}
	})
}

// cancelQueued cancels a job that no leader has begun: whoever receives its
// submission finds the manifest that says so.
func (r *reign) cancelQueued(id string) error {
	if _, err := r.readSpec(id); err != nil {
		return fmt.Errorf("cancel job %s: %w", id, err)
	}
	now := time.Now().UTC()
	final := store.Manifest{Epoch: r.term.Epoch, Sequence: 1, State: store.Cancelled, Finished: now}
	err := r.persist("write last manifest", func(ctx context.Context) error {
		_, err := r.cfg.Store.PutManifest(ctx, id, final, store.IfAbsent)
		return err
	})
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	manifest, version, err := r.readManifest(id)
	switch {
	case err != nil:
		return err
	case manifest.State == store.Cancelled:
		return nil
	case manifest.State.Final():
		return fmt.Errorf("job %s has ended before it could be cancelled: it is %s", id, manifest.State)
	}
	// It was begun, but is not active here: this leader does not know its kind.
	manifest.Epoch, manifest.State, manifest.Finished = max(manifest.Epoch, r.term.Epoch), store.Cancelled, now
	manifest.Sequence++
	err = r.persist("write last manifest", func(ctx context.Context) error {
		_, err := r.cfg.Store.PutManifest(ctx, id, manifest, store.IfVersion(version))
		return err
	})
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("job %s is just being begun, cancel it again", id)
	}
	return err
}
