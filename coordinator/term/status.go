package term

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Leader returns a description of the leader.
func (t *Term) Leader() wire.LeaderInfo {
	return wire.LeaderInfo{
		Epoch: t.leadership.Epoch, Worker: t.cfg.Worker, Host: t.cfg.Host, PID: t.cfg.PID, Since: t.leadership.Since,
		Storage: t.cfg.Storage,
	}
}

func (t *Term) Workers() wire.Workers {
	answer := wire.Workers{Epoch: t.leadership.Epoch, Storage: t.cfg.Storage}
	if t.ledger != nil {
		all := t.ledger.Workers()
		answer.Workers = all[:min(len(all), wire.MaxListed)]
		answer.More = len(all) - len(answer.Workers)
		answer.Kinds = t.ledger.Kinds()
	}
	return answer
}

// WorkersAfter answers a query for some of the workers and for the cluster's statistics.
func (t *Term) WorkersAfter(query wire.WorkerQuery) wire.Workers {
	answer := wire.Workers{Epoch: t.leadership.Epoch, Storage: t.cfg.Storage, Totals: &wire.Totals{}}
	if t.ledger != nil {
		*answer.Totals = t.ledger.Totals()
		answer.Workers, answer.More = t.ledger.WorkersAfter(query.After, min(max(query.Limit, 0), wire.MaxQueried))
		answer.Kinds, answer.Gone = t.ledger.Kinds(), t.ledger.Gone()
	}
	total := answer.Totals
	total.Leader = t.Leader()
	total.Planning, total.Running = len(t.jobs.pending)-len(t.jobs.waiting), len(t.jobs.active)
	total.Queued, total.Waiting = len(t.jobs.waiting), len(t.jobs.parked)
	return answer
}

// recentFor is how long a view of a job is reused for queries that accept slightly old answers.
const recentFor = 400 * time.Millisecond

// views is a cache of jobs' views, which all viewers share.
type views struct {
	byJob map[string]*ledger.View
	begun time.Time // time at which the oldest view in the cache was made
}

// view returns a view of a job for answering a query, or nil if the job is not active.
func (t *Term) view(query wire.JobQuery) *ledger.View {
	if !query.Recent {
		return t.ledger.View(t.ledgerID(query.Job))
	}
	if t.views.byJob == nil || t.since(t.views.begun) > recentFor {
		t.views = views{byJob: map[string]*ledger.View{}, begun: t.env.Now()}
	}
	v, known := t.views.byJob[query.Job]
	if !known || t.jobs.active[query.Job] == nil {
		v = t.ledger.View(t.ledgerID(query.Job))
		t.views.byJob[query.Job] = v
	}
	return v
}

// jobMap returns the map of a job for a query, or nil if the job is not planned or its end is durable.
func (t *Term) jobMap(v *ledger.View, query wire.JobQuery) *wire.JobMap {
	j := t.jobs.active[query.Job]
	if j == nil {
		return nil
	}
	m := v.Map(query.Windows, j.durableSpans())
	if m != nil {
		m.Started, m.Checkpoint = j.manifest.last.Started, j.manifest.writtenAt
		if !m.Checkpoint.IsZero() {
			m.CheckpointAge = t.since(m.Checkpoint)
		}
	}
	return m
}

// durableSpans returns the finished spans in the last manifest. The spans are cached for all
// viewers, because a manifest may contain tens of thousands of nodes.
func (j *activeJob) durableSpans() []engine.Span {
	m := &j.manifest
	if m.durableFor == m.last.Sequence {
		return m.durable
	}
	m.durable, m.durableFor = nil, m.last.Sequence
	for _, n := range m.last.Nodes {
		span := j.tree.Span(n.Node)
		if last := len(m.durable) - 1; last >= 0 && m.durable[last].Hi == span.Lo {
			m.durable[last].Hi = span.Hi
		} else {
			m.durable = append(m.durable, span)
		}
	}
	return m.durable
}

// Jobs returns descriptions of the active, the waiting and the parked jobs, or only of the job in the query.
func (t *Term) Jobs(query wire.JobQuery) wire.Jobs {
	answer := wire.Jobs{Epoch: t.leadership.Epoch, Storage: t.cfg.Storage}
	if t.ledger != nil {
		answer.Workers = t.ledger.WorkerCount()
	}
	if query.Job != "" {
		switch {
		case t.ledger == nil:
		case len(query.Windows) == 0:
			if p := t.ledger.Progress(t.ledgerID(query.Job)); p != nil {
				answer.Jobs = append(answer.Jobs, *p)
			}
		default:
			if v := t.view(query); v != nil {
				answer.Jobs = append(answer.Jobs, v.Progress)
				answer.Map = t.jobMap(v, query)
			}
		}
		if p, parked := t.jobs.parked[query.Job]; parked {
			answer.Jobs = append(answer.Jobs, t.parkedProgress(query.Job, p))
		}
		if p := t.jobs.pending[query.Job]; p != nil && p.waiting {
			before := slices.IndexFunc(t.jobs.waiting, func(w waitingJob) bool { return w.id == query.Job })
			answer.Jobs = append(answer.Jobs, t.waitingProgress(query.Job, before))
		}
		if _, missing := t.lost.missing[query.Job]; missing && len(answer.Jobs) == 0 {
			answer.Jobs = append(answer.Jobs, t.lostProgress(query.Job))
		}
		return answer
	}
	if t.ledger != nil {
		answer.Jobs = t.ledger.Jobs()
	}
	waiting := t.waitingJobs()
	listed := waiting[:min(len(waiting), wire.MaxListed)]
	answer.Jobs = append(answer.Jobs, listed...)
	answer.More = len(waiting) - len(listed)
	for i := range answer.Jobs { // only the answer to a query for one job contains all details
		p := &answer.Jobs[i]
		p.Estimates = p.Estimates[max(0, len(p.Estimates)-1):]
		p.Skipped, p.Trouble = nil, p.Trouble[:min(len(p.Trouble), maxTrouble)]
	}
	slices.SortFunc(answer.Jobs, func(a, b wire.JobProgress) int { return strings.Compare(a.Job, b.Job) })
	return answer
}

// waitingJobs returns descriptions of the jobs that no worker runs: those that wait for active jobs to end, and the
// parked ones.
func (t *Term) waitingJobs() (list []wire.JobProgress) {
	for i, w := range t.jobs.waiting {
		list = append(list, t.waitingProgress(w.id, i))
	}
	for _, id := range slices.Sorted(maps.Keys(t.jobs.parked)) {
		list = append(list, t.parkedProgress(id, t.jobs.parked[id]))
	}
	return list
}

// maxTrouble is the maximum length in bytes of a job's Trouble in a list of jobs.
const maxTrouble = 300

// waitingProgress returns the progress of a waiting job, with the reason why the job has not begun, and the number of
// waiting jobs that begin before it.
func (t *Term) waitingProgress(id string, before int) wire.JobProgress {
	return wire.JobProgress{Job: id, State: string(store.Queued), Trouble: fmt.Sprintf(
		"the leader has its maximum of active jobs, which is %d of the same or a higher priority; waiting jobs that begin earlier: %d", t.cfg.MaxActive, before)}
}

func (t *Term) parkedProgress(id string, p parkedJob) wire.JobProgress {
	return wire.JobProgress{Job: id, State: string(store.Queued), Trouble: t.parkedReason(p)}
}
