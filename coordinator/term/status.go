package term

import (
	"maps"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Leader describes the leader.
func (t *Term) Leader() wire.LeaderInfo {
	return wire.LeaderInfo{Epoch: t.leadership.Epoch, Worker: t.cfg.Worker, Host: t.cfg.Host, PID: t.cfg.PID, Since: t.leadership.Since}
}

// Workers describes the workers.
func (t *Term) Workers() wire.Workers {
	answer := wire.Workers{Epoch: t.leadership.Epoch}
	if t.ledger != nil {
		all := t.ledger.Workers()
		answer.Workers = all[:min(len(all), wire.MaxListed)]
		answer.More = len(all) - len(answer.Workers)
	}
	return answer
}

// Jobs describes the active and the parked jobs, or the one that is asked for.
func (t *Term) Jobs(query wire.JobQuery) wire.Jobs {
	answer := wire.Jobs{Epoch: t.leadership.Epoch}
	if t.ledger != nil {
		answer.Workers = t.ledger.WorkerCount()
		answer.Jobs = t.ledger.Jobs()
	}
	if query.Job != "" {
		answer.Jobs = slices.DeleteFunc(answer.Jobs, func(p wire.JobProgress) bool { return p.Job != query.Job })
		if p, parked := t.parked[query.Job]; parked {
			answer.Jobs = append(answer.Jobs, waiting(query.Job, p))
		}
		return answer
	}
	ids := slices.Sorted(maps.Keys(t.parked))
	listed := ids[:min(len(ids), wire.MaxListed)]
	for _, id := range listed {
		answer.Jobs = append(answer.Jobs, waiting(id, t.parked[id]))
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
