package term

import (
	"maps"
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
		all := r.ledger.Workers()
		answer.Workers = all[:min(len(all), wire.MaxListed)]
		answer.More = len(all) - len(answer.Workers)
	}
	return answer
}

// Jobs describes the active and the parked jobs, or the one that is asked for.
func (r *Reign) Jobs(query wire.JobQuery) wire.Jobs {
	answer := wire.Jobs{Epoch: r.term.Epoch}
	if r.ledger != nil {
		answer.Workers = r.ledger.WorkerCount()
		answer.Jobs = r.ledger.Jobs()
	}
	if query.Job != "" {
		answer.Jobs = slices.DeleteFunc(answer.Jobs, func(p wire.JobProgress) bool { return p.Job != query.Job })
		if p, parked := r.parked[query.Job]; parked {
			answer.Jobs = append(answer.Jobs, waiting(query.Job, p))
		}
		return answer
	}
	ids := slices.Sorted(maps.Keys(r.parked))
	listed := ids[:min(len(ids), wire.MaxListed)]
	for _, id := range listed {
		answer.Jobs = append(answer.Jobs, waiting(id, r.parked[id]))
	}
	answer.More = len(ids) - len(listed)
	for i := range answer.Jobs { // in full only where one job is asked for
		p := &answer.Jobs[i]
		p.Skipped, p.Trouble = nil, p.Trouble[:min(len(p.Trouble), maxTrouble)]
	}
	slices.SortFunc(answer.Jobs, func(a, b wire.JobProgress) int { return strings.Compare(a.Job, b.Job) })
	return answer
}

// maxTrouble is how many bytes of a job's trouble a list of jobs tells.
const maxTrouble = 300

func waiting(id string, p parkedJob) wire.JobProgress {
	return wire.JobProgress{Job: id, State: string(store.Queued), Trouble: p.why}
}
