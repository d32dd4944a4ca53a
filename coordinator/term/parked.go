package term

import (
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// parkedJob is a job that this leader cannot work on. The next leader loads a parked job again.
type parkedJob struct {
	kind   wire.JobKind // kind of the job; zero if the job is damaged
	after  []string     // jobs that must end before the job; empty if no worker knows the job's kind
	reason string

	submission *store.Submission // last delivery of the job's submission; nil if this leader has not received the submission
}

func (p parkedJob) damaged() bool { return p.kind == wire.JobKind{} }

// maxParked is the largest number of parked jobs that the leader remembers. Further parked jobs are
// loaded again each time their submission is delivered.
const maxParked = 10_000

// unknownKind returns the parkedJob for a job whose definition no worker knows.
func unknownKind(spec store.Spec) parkedJob {
	reason := fmt.Sprintf("no worker knows %s version %s: start workers of a program that does, with --allow %[1]s if the job is restricted", spec.Job, spec.Version)
	return parkedJob{kind: kindOf(spec), reason: reason}
}

// parkedReason returns the reason why a job is parked. Before the first report of a worker, the
// leader cannot tell what workers know.
func (t *Term) parkedReason(p parkedJob) string {
	if !p.damaged() && len(p.after) == 0 && t.ledger.WorkerCount() == 0 {
		return fmt.Sprintf("no worker has reported to the leader of epoch %d", t.leadership.Epoch)
	}
	return p.reason
}

// damagedJob returns the outcome of loading a job that cannot be read from storage. The job is
// parked, so that the leader can work on the other jobs.
func damagedJob(id string, err error) loadedJob {
	return loadedJob{id: id, parked: parkedJob{reason: err.Error()}}
}

// park records a job that this leader cannot work on, and logs the reason once.
func (t *Term) park(id string, p parkedJob) {
	last, known := t.jobs.parked[id]
	switch {
	case last.reason == p.reason:
	case len(p.after) > 0:
		t.log.Info("Job waits for other jobs", "job", id, "reason", p.reason)
	case p.damaged():
		t.log.Error("Job cannot be read and is parked", "job", id, "error", p.reason)
	default:
		t.log.Warn("Job is parked", "job", id, "reason", t.parkedReason(p))
	}
	if known || len(t.jobs.parked) < maxParked {
		t.jobs.parked[id] = p
	}
	t.step(ledger.JobParked{Job: id})
	if slices.ContainsFunc(p.after, t.ledger.Ended) { // that job has ended while this one was being loaded
		t.loadNext(id)
	}
}
