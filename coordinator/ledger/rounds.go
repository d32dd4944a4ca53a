package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// only reports whether the round has no partitions, but only a call of Finish.
func (r Round) only() bool { return r.Rounds && (r.Number == 0 || r.Last) }

// function returns the name for people of the function that the round's call of Finish calls.
func (r Round) function() string {
	switch {
	case r.Number == 0 && r.hasState():
		return "Continue"
	case r.Number == 0:
		return "Start"
	case r.Last:
		return "Finish"
	}
	return "Next"
}

func (r Round) hasState() bool { return len(r.State) > 0 || r.StateBlob != "" }

// id returns the ID of the job. The ledger's jobs are rounds if the job has rounds, and have IDs of their own.
func (j *job) id() string { return engine.JobOf(j.spec.ID) }

// stateSpread describes how a state that is too large for receipts comes to the workers. The worker that has computed it
// is the root of a tree, in which each worker serves two others. Storage serves all workers for which no
// other worker is known, and those whose fetch fails. A new leader does not know who has the state.
type stateSpread struct {
	size    uint64   // number of bytes of the state
	sum     uint32   // CRC-32C of the state
	workers []string // workers that have the state or fetch it, level by level; nil if none is known
}

// endRound requests the end of a round that has computed the state of the next one, or whose time is up.
func (l *Ledger) endRound(j *job, e EndRound) {
	if j.ending() {
		return
	}
	j.state = jobEnding
	e.Job, e.Snapshot = j.spec.ID, l.snapshot(j)
	l.do(e)
	l.dropWork(j)
}

// join makes a round known to the workers that had the round before, so that they are told when the job ends. The
// partitions that they have computed are their homes.
func (l *Ledger) join(j *job) {
	if !j.round.Rounds {
		return
	}
	for _, w := range l.workers {
		for _, before := range slices.Clone(w.shares) {
			if before.job == j || before.job.id() != j.id() {
				continue
			}
			if s := w.share(j); before.job.round.Number+1 == j.round.Number {
				l.settle(s, before)
				j.spread = before.job.nextSpread
			}
		}
	}
}

// goesOn reports whether a job with rounds goes on after one of its rounds has ended.
func (l *Ledger) goesOn(round string) bool {
	id := engine.JobOf(round)
	return id != round && slices.ContainsFunc(l.jobs, func(j *job) bool { return j.id() == id })
}

// sendEnded adds a job's end to the worker's receipt, or the end of a round.
func (l *Ledger) sendEnded(w *worker, job string) {
	if !slices.ContainsFunc(w.receipt.Jobs, func(r wire.JobReceipt) bool { return r.Job == job }) {
		w.receipt.Jobs = append(w.receipt.Jobs, wire.JobReceipt{Job: job, Ended: true, Continues: l.goesOn(job)})
	}
}
