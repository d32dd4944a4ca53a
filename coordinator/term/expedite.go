package term

import (
	"errors"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Jobs of high priority begin even if the submissions before theirs fill the list of waiting jobs. A client that
// has submitted such a job names the job to the leader, which reads its priority from storage. The submission
// is delivered later, as to a leader that has resumed the job. If the leader dies before the job begins, the
// job waits for the delivery of its submission.

const (
	// maxNamed is the maximum number of jobs that clients have named and that the leader has not looked at.
	maxNamed = 100
	// maxExpedited is the number of waiting jobs from which on the leader looks at no more named jobs.
	maxExpedited = 2 * maxWaiting
)

// Submitted notes a job that a client has just submitted, and returns the job's place among the waiting jobs. The job begins
// ahead of the submissions in the queue if its priority in storage is above 0 and its spec is the submitted one. The leader
// looks at the job after its recovery.
func (t *Term) Submitted(id string, s wire.Submitted) *wire.Place {
	if store.ValidID(id) && s.Priority > 0 && len(t.jobs.named) < maxNamed {
		t.jobs.named = append(t.jobs.named, store.Submission{ID: id, Spec: store.Version(s.Spec)})
	}
	place := &wire.Place{More: !t.mayReceive()}
	for _, w := range t.jobs.waiting {
		if w.id != id && compareWaiting(w, waitingJob{id, s.Priority}) < 0 {
			place.Before++
		}
	}
	return place
}

// assessNamed reads the priorities of the jobs that clients have named and that the leader does not know.
func (t *Term) assessNamed() {
	named := t.jobs.named
	t.jobs.named = nil
	for _, s := range named {
		_, parked := t.jobs.parked[s.ID]
		_, cleaning := t.jobs.cleaning[s.ID]
		known := parked || cleaning || t.jobs.active[s.ID] != nil || t.jobs.pending[s.ID] != nil || t.ledger.Ended(s.ID)
		if !known && len(t.jobs.waiting)+t.jobs.assessed < maxExpedited {
			t.assessThen(s.ID, t.addPending(s.ID, &pendingJob{}), func() (int, error) { return t.assessAhead(&s) })
		}
	}
}

// errInTurn means that a named job is left to the delivery of its submission.
var errInTurn = errors.New("job waits for its submission")

// assessAhead returns the priority of a job whose submission the leader has not received. It also writes the manifest of
// a job that waits, because without a manifest a job begins only with its submission.
func (t *Term) assessAhead(s *store.Submission) (priority int, err error) {
	manifest, _, err := t.readManifest(s.ID) // before the spec, see loadOnce
	begun := err == nil
	switch {
	case errors.Is(err, store.ErrCorrupt) || begun && manifest.State != store.Queued:
		return 0, errInTurn
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return 0, err
	}
	spec, err := t.readSpec(s.ID)
	switch {
	case errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt):
		return 0, errInTurn
	case err != nil:
		return 0, err
	case spec.Priority <= 0 || !s.IsOf(spec):
		return 0, errInTurn
	case begun:
		return spec.Priority, nil
	}
	err = t.retractRemoved(s.ID, t.putQueued(spec))
	if errors.Is(err, errChanged) || errors.Is(err, errRemoved) {
		err = errInTurn
	}
	return spec.Priority, err
}

// leaveInTurn handles a named job that does not begin ahead of its submission, which may have been delivered since.
func (t *Term) leaveInTurn(id string, p *pendingJob) {
	delete(t.jobs.pending, id)
	switch {
	case p.submission != nil:
		t.schedule(id, t.addPending(id, p))
	case len(p.cancels) > 0:
		t.withdraw(id, p)
	case p.reported:
		t.lookUp(id)
	}
}
