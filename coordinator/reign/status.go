package reign

import (
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Leader describes the leader.
func (r *Reign) Leader() wire.LeaderInfo {
	return wire.LeaderInfo{Epoch: r.term.Epoch, Worker: r.cfg.Worker, Host: r.cfg.Host, PID: r.cfg.PID, Since: r.term.Since}
}

// Workers describes the workers.
func (r *Reign) Workers() wire.Workers {
	answer := wire.Workers{Epoch: r.term.Epoch}
	if r.ledger != nil {
		answer.Workers = r.ledger.Workers()
	}
	return answer
}

// Jobs describes the active jobs, or the one that is asked for.
func (r *Reign) Jobs(query wire.JobQuery) wire.Jobs {
	answer := wire.Jobs{Epoch: r.term.Epoch}
	if r.ledger != nil {
		answer.Workers = len(r.ledger.Workers())
		answer.Jobs = r.ledger.Jobs()
	}
	for id, p := range r.parked {
		answer.Jobs = append(answer.Jobs, wire.JobProgress{Job: id, State: string(store.Queued), Trouble: p.why})
	}
	answer.Jobs = slices.DeleteFunc(answer.Jobs, func(p wire.JobProgress) bool {
		return query.Job != "" && p.Job != query.Job
	})
	slices.SortFunc(answer.Jobs, func(a, b wire.JobProgress) int { return strings.Compare(a.Job, b.Job) })
	return answer
}
