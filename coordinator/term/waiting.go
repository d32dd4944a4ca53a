package term

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// This file decides which submitted jobs begin, and when. The queue delivers submissions in the
// order of their arrival. The leader therefore receives more submissions than it can begin jobs.
// Jobs of higher priority begin first, and the oldest first among jobs of equal priority.

const (
	// maxWaiting is the largest number of jobs that wait because there are too many active jobs.
	// Submissions beyond maxWaiting stay in the queue, where their priority has no effect unless
	// their clients name the jobs: see Submitted. A waiting job takes about 2 KB, and its submission
	// is extended every Config.ExtendEvery.
	maxWaiting = 1000
	// maxActiveShare is the maximum number of active jobs of all priorities, as a multiple of Config.MaxActive.
	maxActiveShare = 4
	// maxActive is the maximum number of active jobs for any value of Config.MaxActive.
	maxActive = 1000
)

// waitingJob is a pending job that waits because there are too many active jobs.
type waitingJob struct {
	id       string
	priority int
}

func compareWaiting(a, b waitingJob) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), strings.Compare(a.id, b.id))
}

// beginNext begins waiting jobs as far as the limit on active jobs allows it. If the ledger's recovery is over, beginNext also
// looks at the jobs that clients have named, and receives the next submission if one more job may wait.
func (t *Term) beginNext() {
	for len(t.jobs.waiting) > 0 && t.mayBegin(t.jobs.waiting[0].priority) {
		id := t.jobs.waiting[0].id
		t.stopWaiting(id)
		t.admit(id, t.jobs.pending[id])
	}
	if t.ledger == nil || !t.ledger.Recovered() {
		return
	}
	t.assessNamed()
	if !t.receiving && t.mayReceive() {
		t.receive()
	}
}

// mayReceive reports whether one more job may wait, so that the leader may receive the next submission.
func (t *Term) mayReceive() bool { return len(t.jobs.waiting)+t.jobs.assessed < maxWaiting }

// mayBegin reports whether a job may begin, that is, whether fewer than MaxActive jobs of the same
// or a higher priority are active. A job does not wait for active jobs of lower priorities, unless
// the total number of active jobs has reached its limit.
func (t *Term) mayBegin(priority int) bool {
	// Jobs that are being loaded count, because their priorities are not known yet.
	loading := len(t.jobs.pending) - len(t.jobs.waiting) - t.jobs.assessed - t.jobs.withdrawing
	total := len(t.jobs.active) + loading
	if total < t.cfg.MaxActive {
		return true
	}
	ahead := loading
	for _, j := range t.jobs.active {
		if j.spec.Priority >= priority {
			ahead++
		}
	}
	return ahead < t.cfg.MaxActive && total < min(maxActiveShare*t.cfg.MaxActive, maxActive)
}

// schedule begins a submitted job at once if even a job of the lowest priority may begin. Otherwise
// schedule first reads the job's priority from the spec.
func (t *Term) schedule(id string, p *pendingJob) {
	if len(t.jobs.waiting) == 0 && t.mayBegin(-store.MaxPriority) {
		t.admit(id, p)
		return
	}
	submission := p.submission
	t.assessThen(id, p, func() (int, error) { return t.assess(submission) })
}

// assessThen calls assess, which returns the priority of a pending job, and then lets the job wait.
func (t *Term) assessThen(id string, p *pendingJob, assess func() (priority int, err error)) {
	t.jobs.assessed++
	t.spawn(func() func() {
		priority, err := assess()
		return func() {
			t.jobs.assessed--
			switch {
			case errors.Is(err, errInTurn):
				t.leaveInTurn(id, p)
			case errors.Is(err, errNoWait) || len(p.cancels) > 0:
				t.admit(id, p)
			case err != nil:
				t.fail(err)
			default:
				p.waiting = true
				w := waitingJob{id, priority}
				i, _ := slices.BinarySearchFunc(t.jobs.waiting, w, compareWaiting)
				t.jobs.waiting = slices.Insert(t.jobs.waiting, i, w)
			}
		}
	})
}

// errNoWait means that a job must be loaded at once, because it is not new or cannot be read.
var errNoWait = errors.New("job need not wait")

// assess returns the priority of a submitted job that has to wait. If an earlier leader already let
// the job wait, assess also writes a manifest for it. Without a manifest, a submission that is
// delivered often would count as a job that crashes leaders.
func (t *Term) assess(s *store.Submission) (priority int, err error) {
	spec, err := t.readSpec(s.ID)
	switch {
	case errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt):
		return 0, errNoWait
	case err != nil:
		return 0, err
	case s.Deliveries <= 1:
		return spec.Priority, nil
	}
	manifest, _, err := t.readManifest(s.ID)
	switch {
	case err == nil && manifest.State == store.Queued:
		return spec.Priority, nil
	case err == nil || errors.Is(err, store.ErrCorrupt) || !s.IsOf(spec):
		return 0, errNoWait
	case !errors.Is(err, store.ErrNotFound):
		return 0, err
	}
	err = t.retractRemoved(s.ID, t.putQueued(spec))
	if errors.Is(err, errChanged) || errors.Is(err, errRemoved) {
		err = errNoWait
	}
	return spec.Priority, err
}

// stopWaiting removes a job from the list of waiting jobs. The caller of stopWaiting must then
// admit the job.
func (t *Term) stopWaiting(id string) {
	t.jobs.pending[id].waiting = false
	t.jobs.waiting = slices.DeleteFunc(t.jobs.waiting, func(w waitingJob) bool { return w.id == id })
}
