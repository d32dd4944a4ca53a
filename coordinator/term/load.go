package term

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// This file contains the functions that process a submission, in the order of their calls: receive,
// received, schedule, admit, load, admitted, activate.

// receive takes the next submission from the queue.
func (t *Term) receive() {
	t.receiving = true
	t.spawn(func() func() {
		submission, err := retryRead(t, "receive submission", t.cfg.Store.Receive)
		if err != nil {
			return func() { t.fail(err) }
		}
		return func() {
			t.receiving = false
			t.received(submission)
		}
	})
}

// received handles a submission, which the queue may have delivered before.
func (t *Term) received(s *store.Submission) {
	delete(t.lost.missing, s.ID)
	j, p := t.jobs.active[s.ID], t.jobs.pending[s.ID]
	parked, isParked := t.jobs.parked[s.ID]
	_, cleaning := t.jobs.cleaning[s.ID]
	switch {
	case cleaning: // loading the job now could add it to the index after cleanUp has removed it
		t.jobs.cleaning[s.ID] = s
	case j != nil:
		j.submission = s
	case p != nil:
		p.submission = s
	case isParked && !parked.damaged() && len(parked.after) == 0 && !t.ledger.Knows(parked.kind):
		parked.submission = s
		t.jobs.parked[s.ID] = parked
	default: // load the job again: a damaged job may have been removed in the meantime
		t.schedule(s.ID, t.addPending(s.ID, &pendingJob{submission: s}))
	}
}

// admit enters a submitted job in the index and loads it. The submitted job may have begun or ended
// under an earlier leader.
func (t *Term) admit(id string, p *pendingJob) {
	submission := p.submission
	t.spawn(func() func() {
		err := t.retry("enter job in the index", func(ctx context.Context) error { return t.cfg.Store.Activate(ctx, id) })
		if err != nil {
			return func() { t.fail(err) }
		}
		loaded, err := t.load(id, submission)
		if err != nil {
			return func() { t.fail(err) }
		}
		return func() { t.admitted(loaded) }
	})
}

// loadedJob is the outcome of [Term.load]. Exactly one of the fields active, ended, gone, queued
// and parked of a loadedJob is set.
type loadedJob struct {
	id      string
	active  *activeJob  // the job, if this leader has fenced it and may work on it
	plan    store.Plan  // plan of the active job; zero if the job has no plan
	found   store.Found // what the job reuses and its manifest does not contain; usually zero
	ended   bool        // true if the job has ended, or was removed
	failure string      // reason why this leader has failed the job, so that it has ended; usually empty
	removed bool        // the job was removed before its submission was delivered
	gone    bool        // true if the job is not in storage: see confirmGone
	queued  bool        // true if no leader has begun the job and its submission has not been received
	parked  parkedJob   // set if this leader cannot work on the job
}

// errChanged and errRemoved mean that an attempt to load a job must be repeated.
var (
	errChanged = errors.New("manifest was changed by another write")
	errRemoved = errors.New("job was removed")
)

// load takes over a job for this leader. It fences the job and resumes it from its manifest, or
// begins the job if no leader has begun it. After the fence the writes of earlier leaders fail.
// load runs none of the job's code. The parameter submission is nil if this leader has not received
// the job's submission.
func (t *Term) load(id string, submission *store.Submission) (loadedJob, error) {
	for {
		loaded, err := t.loadOnce(id, submission)
		switch {
		case errors.Is(err, errChanged): // another leader changed the manifest, or this leader changed it and the reply was lost
		case errors.Is(err, errRemoved):
			return loadedJob{id: id, gone: true}, t.retract(id)
		case errors.Is(err, store.ErrCorrupt):
			return damagedJob(id, err), nil
		default:
			return loaded, err
		}
	}
}

// loadOnce makes one attempt to load a job; the attempt writes the job's manifest at most once.
func (t *Term) loadOnce(id string, submission *store.Submission) (loadedJob, error) {
	// The manifest is read before the spec, because a removal deletes the spec before the manifest.
	// If a removal has deleted the manifest, the spec is therefore missing too.
	manifest, version, manifestErr := t.readManifest(id)
	spec, err := t.readSpec(id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return t.withoutSpec(id)
	case err != nil:
		return loadedJob{}, err
	case errors.Is(manifestErr, store.ErrNotFound) && submission == nil:
		return loadedJob{id: id, queued: true}, nil
	case errors.Is(manifestErr, store.ErrNotFound) && !submission.IsOf(spec):
		t.log.Warn("Submission dropped: the job was removed, and a delayed write has stored the spec again", "job", id)
		return loadedJob{id: id, ended: true, removed: true}, nil
	case errors.Is(manifestErr, store.ErrNotFound):
		return t.beginAfter(spec, store.Manifest{}, store.IfAbsent)
	case manifestErr != nil:
		return loadedJob{}, manifestErr
	case manifest.State.Final() && manifest.Sequence == 1 && submission != nil && !submission.IsOf(spec):
		t.log.Warn("Submission dropped: the job was removed, and then cancelled after a delayed write had stored the spec again", "job", id)
		return loadedJob{id: id, ended: true}, t.retract(id)
	case manifest.State.Final():
		return loadedJob{id: id, ended: true}, nil
	case manifest.SpecSHA256 != "" && manifest.SpecSHA256 != spec.SHA256:
		return damagedJob(id, fmt.Errorf("%w: the spec has SHA-256 %s, and the job was begun with %s", store.ErrCorrupt, spec.SHA256, manifest.SpecSHA256)), nil
	case manifest.Sequence <= 1 && manifest.SpecVersion != "" && manifest.SpecVersion != spec.Written:
		return loadedJob{}, errRemoved // the writer of the manifest may have died before it noticed the removal
	case manifest.State == store.Queued && manifest.Epoch <= t.leadership.Epoch:
		return t.beginAfter(spec, manifest, store.IfVersion(version))
	}
	j := t.newActiveJob(spec.Spec)
	j.manifest.last, j.manifest.version = manifest, version
	switch err := t.fence(j); {
	case errors.Is(err, store.ErrNotFound): // the last leader has ended the job, and then the job was removed
		return loadedJob{}, errChanged
	case err != nil:
		return loadedJob{}, err
	}
	if j.manifest.last.State.Final() { // the last leader has ended the job before this leader's fence
		return loadedJob{id: id, ended: true}, nil
	}
	plan, err := t.readPlan(id)
	switch {
	case errors.Is(err, store.ErrNotFound) && j.manifest.last.Partitions > 0:
		return damagedJob(id, err), nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return loadedJob{}, fmt.Errorf("resume job %s: %w", id, err)
	}
	if err := t.dropLostNodes(j); err != nil {
		return loadedJob{}, fmt.Errorf("resume job %s: %w", id, err)
	}
	loaded := loadedJob{id: id, active: j, plan: plan}
	if j.manifest.last.Partitions == 0 { // the last leader has written the plan, and no manifest after it
		loaded.found, err = t.readFound(id, plan)
	}
	return loaded, err
}

// begin writes the first manifest of a job if the condition cond holds. The first manifest of a job
// contains no plan, unless the job retries another one. If cond requires an existing manifest, the parameter first is that manifest, with the
// first round of a job with rounds.
func (t *Term) begin(spec store.StoredSpec, first store.Manifest, cond store.Condition) (loadedJob, error) {
	j := t.newActiveJob(spec.Spec)
	first.Epoch, first.Sequence, first.State = t.leadership.Epoch, first.Sequence+1, store.Running
	first.Epochs, first.Started, first.SpecSHA256 = []uint64{t.leadership.Epoch}, t.env.Now().UTC(), spec.SHA256
	first.SpecVersion = spec.Written
	var plan store.Plan
	var err error
	if spec.Retries != "" && !j.moves() { // what the earlier job has moved to storage was removed with it
		if plan, err = t.inherit(spec, &first); err != nil {
			return loadedJob{}, fmt.Errorf("begin job: %w", err)
		}
	}
	j.manifest.last = first
	if j.manifest.version, err = t.putInactive(spec, j.manifest.last, cond); err != nil {
		return loadedJob{}, fmt.Errorf("begin job: %w", err)
	}
	return loadedJob{id: spec.ID, active: j, plan: plan}, nil
}

// putQueued writes the first manifest of a job that does not begin yet.
func (t *Term) putQueued(spec store.StoredSpec) error {
	queued := store.Manifest{Epoch: t.leadership.Epoch, Sequence: 1, State: store.Queued, SpecSHA256: spec.SHA256, SpecVersion: spec.Written}
	if _, err := t.putInactive(spec, queued, store.IfAbsent); err != nil {
		return fmt.Errorf("leave job queued: %w", err)
	}
	return nil
}

// putInactive writes the manifest of a job that is not active. It returns errChanged if the
// condition of the write does not hold. A job may be cancelled and removed after its spec was read
// and before its first manifest is written. The condition then holds although the job no longer
// exists, and putInactive returns errRemoved. If storage still contains the same spec after the
// write, any concurrent removal will delete the new manifest too.
func (t *Term) putInactive(spec store.StoredSpec, m store.Manifest, cond store.Condition) (version store.Version, err error) {
	id := spec.ID
	err = t.retry("write manifest", func(ctx context.Context) (err error) {
		version, err = t.cfg.Store.PutManifest(ctx, id, m, cond)
		return err
	})
	if errors.Is(err, store.ErrConflict) {
		return "", fmt.Errorf("write manifest of job %s: %w", id, errChanged)
	}
	if err != nil || !cond.Absent() {
		return version, err // an existing manifest proves that the job was not removed
	}
	return version, t.checkSpec(spec)
}

// checkSpec returns errRemoved if storage no longer has the spec that was read before.
func (t *Term) checkSpec(spec store.StoredSpec) error {
	now, err := t.readSpec(spec.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && now.Written != spec.Written {
		return fmt.Errorf("write manifest of job %s: %w", spec.ID, errRemoved)
	}
	return nil
}

// fence writes this leader's epoch into the job's manifest. If another write has replaced the
// manifest, fence reads the manifest again.
func (t *Term) fence(j *activeJob) error {
	m := &j.manifest
	for {
		if m.last.Epoch > t.leadership.Epoch {
			return fmt.Errorf("fence job %s: %w", j.spec.ID, &fencedError{m.last.Epoch})
		}
		if m.last.State.Final() || m.last.Epoch == t.leadership.Epoch {
			return nil
		}
		next := m.last
		next.Epoch = t.leadership.Epoch
		next.Sequence++
		next.Epochs = append(slices.Clone(next.Epochs), t.leadership.Epoch)
		err := t.retry("fence manifest", func(ctx context.Context) error {
			version, err := t.cfg.Store.PutManifest(ctx, j.spec.ID, next, store.IfVersion(m.version))
			if err == nil {
				m.last, m.version = next, version
			}
			return err
		})
		if errors.Is(err, store.ErrConflict) {
			m.last, m.version, err = t.readManifest(j.spec.ID)
		}
		if err != nil {
			return fmt.Errorf("fence job %s: %w", j.spec.ID, err)
		}
	}
}

// admitted handles the outcome of load for a pending job.
func (t *Term) admitted(loaded loadedJob) {
	id := loaded.id
	p := t.jobs.pending[id]
	delete(t.jobs.pending, id)
	switch {
	case loaded.gone:
		t.confirmGone(id, p)
		return
	case loaded.queued && p.submission != nil: // the submission was received while the job was being loaded
		t.schedule(id, t.addPending(id, p))
		return
	}
	if j := loaded.active; j != nil && t.mayActivate(j) {
		j.submission, j.cancels = p.submission, p.cancels
		t.activate(j, loaded.plan, loaded.found)
		if len(j.cancels) > 0 {
			t.step(ledger.JobCancelled{Job: j.id})
		}
		return
	}
	t.leave(loaded, p.submission)
	if loaded.ended && p.submission != nil {
		t.startCleanUp(id, p.submission, true)
	}
	switch {
	case loaded.removed: // a manifest that is written now would never be removed
		for _, answer := range p.cancels {
			answer(fmt.Errorf("cancel job %s: %w", id, store.ErrNotFound))
		}
	case len(p.cancels) > 0:
		t.withdraw(id, &pendingJob{cancels: p.cancels})
	}
}

// mayActivate reports whether a loaded job may become active. A job that no worker can run does not
// become active, so that it does not count against the limit. A job that workers have already
// worked on becomes active, because these workers may report its partitions.
func (t *Term) mayActivate(j *activeJob) bool {
	return len(j.manifest.last.Workers) > 0 || t.ledger.Knows(kindOf(j.spec))
}

// leave handles a loaded job that does not become active. The parameter submission is nil if this
// leader has not received the job's submission.
func (t *Term) leave(loaded loadedJob, submission *store.Submission) {
	switch {
	case loaded.queued: // the job will begin when its submission is received
	case loaded.ended:
		delete(t.jobs.parked, loaded.id)
		if loaded.failure != "" {
			t.log.Info("Job ended", "job", loaded.id, "state", store.Failed, "error", loaded.failure)
			t.transport.Ended(loaded.id)
		}
		t.jobEnded(loaded.id)
	case loaded.active != nil:
		loaded.parked = unknownKind(loaded.active.spec)
		fallthrough
	default:
		loaded.parked.submission = submission
		t.park(loaded.id, loaded.parked)
	}
}

// unpark admits parked jobs whose definitions a worker knows, while the limit on active jobs allows
// a job of any priority to begin. Other parked jobs are admitted when their submissions are
// delivered again.
func (t *Term) unpark(known []wire.JobKind) {
	for _, id := range slices.Sorted(maps.Keys(t.jobs.parked)) {
		parked := t.jobs.parked[id]
		if slices.Contains(known, parked.kind) && len(parked.after) == 0 && t.jobs.pending[id] == nil && t.mayBegin(-store.MaxPriority) {
			t.admit(id, t.addPending(id, &pendingJob{submission: parked.submission}))
		}
	}
}

// maxParams is the maximum size in bytes of a job's parameters in a receipt. Workers read larger
// parameters from storage.
const maxParams = 64 << 10

func (t *Term) activate(j *activeJob, plan store.Plan, found store.Found) {
	t.jobs.active[j.spec.ID] = j
	t.mark(&t.timeline.work)
	delete(t.jobs.parked, j.spec.ID)
	m := withFound(j.manifest.last, found)
	resumed := len(m.Epochs) > 1
	j.blobs.exist = resumed || j.spec.Keep > 0 || j.spec.Rounds > 0 || !j.known() || j.moves() // there may be blobs that no manifest names: of an earlier leader, or of a worker
	round := j.setRound(nil)
	j.setPlan(plan)
	e := ledger.Snapshot{Nodes: t.finishedNodes(j, m.Nodes), Work: m.Work, Whole: len(m.Whole) > 0}
	j.blobs.gc.keepWhole(m.Whole)
	e.Elapsed = m.TimeSpent()
	if resumed {
		t.log.Info("Job resumed", "job", j.spec.ID, "kind", j.spec.Job, "partitions", plan.Partitions, "nodes", len(e.Nodes))
		t.recordResumed(j, m.Epochs)
	} else {
		t.log.Info("Job started", "job", j.spec.ID, "kind", j.spec.Job)
	}
	t.add(j, round, e)
}

// known reports whether the leader's program has the job's definition.
func (j *activeJob) known() bool { return j.job.Name() != "" }

// moves reports whether the job's code may move data to storage, as far as the leader knows.
func (j *activeJob) moves() bool { return j.known() && j.job.Engine().Spills() }

// add adds a job to the ledger, or the next round of a job with rounds.
func (t *Term) add(j *activeJob, round ledger.Round, snapshot ledger.Snapshot) {
	known := j.known()
	resumed := len(j.manifest.last.Epochs) > 1 && !j.began
	e := ledger.JobAdded{
		Spec: j.spec, Plan: j.plan, Snapshot: snapshot, Round: round,
		CanMerge: known, ExpectLarge: known && j.job.Engine().InPlace(),
		LeaderDied:   t.leadership.Cause.Crashed() && resumed,
		LeaderSilent: t.leadership.Cause == election.Silent && resumed,
	}
	e.Spec.ID = j.id
	if len(e.Spec.Params) > maxParams {
		sum := sha256.Sum256(e.Spec.Params)
		e.Spec.Params, e.ParamsSHA256 = wire.ParamsInStore, sum[:]
	}
	j.roundBegan = t.env.Now()
	t.step(e)
}

// finishedNodes puts the partials of stored nodes into the table.
func (t *Term) finishedNodes(j *activeJob, list []store.StoredNode) (nodes []ledger.FinishedNode) {
	for _, n := range list {
		ref := ledger.NoRef
		if !n.Empty {
			p := partial{data: n.Data, blob: n.Blob, size: n.Size, job: j.id, inForest: true}
			j.noteSize(p.bytes())
			ref = t.partials.add(p)
		}
		if n.Blob != "" {
			j.blobs.exist = true
		}
		nodes = append(nodes, ledger.FinishedNode{Node: n.Node, Ref: ref, Size: len(n.Data), Large: n.Large})
	}
	return nodes
}
