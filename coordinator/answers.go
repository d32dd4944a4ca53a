package coordinator

import (
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
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
	if r.ledger == nil {
		if len(r.early.cancels) < maxEarly {
			r.early.cancels = append(r.early.cancels, in) // the job may be one that is being resumed
		}
		return
	}
	if j := r.jobs[in.job]; j != nil {
		j.waiting = append(j.waiting, in.answer)
		r.step(ledger.JobCancelled{Job: in.job})
		return
	}
	p := r.pending[in.job]
	if p == nil {
		r.withdraw(in.job, []func(error){in.answer})
		return
	}
	p.waiting = append(p.waiting, in.answer)
	if !p.withdrawn { // its code may take long to plan it
		p.cancel()
		r.spawn(func() { r.post(withdrawn{in.job, r.writeCancelled(in.job, false)}) })
	}
}
