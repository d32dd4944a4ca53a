package term

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Leader describes the leader.
func (t *Term) Leader() wire.LeaderInfo {
	return wire.LeaderInfo{
		Epoch: t.leadership.Epoch, Worker: t.cfg.Worker, Host: t.cfg.Host, PID: t.cfg.PID, Since: t.leadership.Since,
		Storage: t.cfg.Storage,
	}
}

// Workers describes the workers.
func (t *Term) Workers() wire.Workers {
	answer := wire.Workers{Epoch: t.leadership.Epoch, Storage: t.cfg.Storage}
	if t.ledger != nil {
		all := t.ledger.Workers()
		answer.Workers = all[:min(len(all), wire.MaxListed)]
		answer.More = len(all) - len(answer.Workers)
	}
	return answer
}

// WorkersAfter answers a query for a part of the workers and for the cluster's figures.
func (t *Term) WorkersAfter(query wire.WorkerQuery) wire.Workers {
	answer := wire.Workers{Epoch: t.leadership.Epoch, Storage: t.cfg.Storage, Totals: &wire.Totals{}}
	if t.ledger != nil {
		*answer.Totals = t.ledger.Totals()
		answer.Workers, answer.More = t.ledger.WorkersAfter(query.After, min(max(query.Limit, 0), wire.MaxQueried))
	}
	total := answer.Totals
	total.Leader = t.Leader()
	total.Planning, total.Running = len(t.jobs.pending)-len(t.jobs.waiting), len(t.jobs.active)
	total.Queued, total.Waiting = len(t.jobs.waiting), len(t.jobs.parked)
	return answer
}

// jobMap returns the map of a job, or nil if the job is not active or not planned.
func (t *Term) jobMap(id string, windows []wire.Window) *wire.JobMap {
	j := t.jobs.active[id]
	if j == nil || t.ledger == nil {
		return nil
	}
	last := j.manifest.last
	durable := make([]jobs.Span, len(last.Nodes))
	for i, n := range last.Nodes {
		durable[i] = j.tree.Span(n.Node)
	}
	m := t.ledger.Map(id, windows, durable)
	if m != nil {
		m.Started, m.Checkpoint = last.Started, j.manifest.writtenAt
	}
	return m
}

// Jobs describes the active and the parked jobs, or only the job in the query.
func (t *Term) Jobs(query wire.JobQuery) wire.Jobs {
	answer := wire.Jobs{Epoch: t.leadership.Epoch, Storage: t.cfg.Storage}
	if t.ledger != nil {
		answer.Workers = t.ledger.WorkerCount()
		answer.Jobs = t.ledger.Jobs()
	}
	if query.Job != "" {
		answer.Jobs = slices.DeleteFunc(answer.Jobs, func(p wire.JobProgress) bool { return p.Job != query.Job })
		if p, parked := t.jobs.parked[query.Job]; parked {
			answer.Jobs = append(answer.Jobs, parkedProgress(query.Job, p))
		}
		if p := t.jobs.pending[query.Job]; p != nil && p.waiting {
			answer.Jobs = append(answer.Jobs, t.waitingProgress(query.Job))
		}
		if len(query.Windows) > 0 {
			answer.Map = t.jobMap(query.Job, query.Windows)
		}
		return answer
	}
	ids := slices.Sorted(maps.Keys(t.jobs.parked))
	listed := ids[:min(len(ids), wire.MaxListed)]
	for _, id := range listed {
		answer.Jobs = append(answer.Jobs, parkedProgress(id, t.jobs.parked[id]))
	}
	answer.More = len(ids) - len(listed)
	for i := range answer.Jobs { // only a query for one job gets all of its details
		p := &answer.Jobs[i]
		p.Skipped, p.Trouble = nil, p.Trouble[:min(len(p.Trouble), maxTrouble)]
	}
	slices.SortFunc(answer.Jobs, func(a, b wire.JobProgress) int { return strings.Compare(a.Job, b.Job) })
	return answer
}

// maxTrouble is the maximum length in bytes of a job's Trouble in a list of jobs.
const maxTrouble = 300

// waitingProgress says why a job has not begun.
func (t *Term) waitingProgress(id string) wire.JobProgress {
	before := slices.IndexFunc(t.jobs.waiting, func(w waitingJob) bool { return w.id == id })
	return wire.JobProgress{Job: id, State: string(store.Queued), Trouble: fmt.Sprintf(
		"the leader has its maximum of active jobs, which is %d of the same or a higher priority; waiting jobs that begin earlier: %d", t.cfg.MaxActive, before)}
}

func parkedProgress(id string, p parkedJob) wire.JobProgress {
	return wire.JobProgress{Job: id, State: string(store.Queued), Trouble: p.reason}
}
