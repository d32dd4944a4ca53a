package term

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// This file has the steps by which the leader takes up a submission, in order: receive,
// received, schedule, admit, load, admitted, take.

// receive takes the next submission from the queue.
func (t *Term) receive() {
	t.receiving = true
	t.spawn(func() func() {
		var submission *store.Submission
		err := t.retry("receive submission", func(ctx context.Context) (err error) {
			submission, err = t.cfg.Store.Receive(ctx)
			return err
		})
		if err != nil {
			return func() { t.fail(err) }
		}
		return func() {
			t.receiving = false
			t.received(submission)
		}
	})
}

// received handles a submission, which may have been delivered before.
func (t *Term) received(s *store.Submission) {
	j, p := t.jobs.active[s.ID], t.jobs.pending[s.ID]
	parked, isParked := t.jobs.parked[s.ID]
	switch {
	case j != nil:
		j.submission = s
	case p != nil:
		p.submission = s
	case isParked && !parked.damaged():
		// The submission will be delivered again, perhaps to a leader that knows the kind of the
		// job.
	default: // the job was damaged and may have been removed since, so it is loaded again
		t.schedule(s.ID, t.addPending(s.ID, &pendingJob{submission: s}))
	}
}

// admit enters a submitted job in the index and loads it. An earlier leader may have
// begun or ended the job.
func (t *Term) admit(id string, p *pendingJob) {
	submission := p.submission
	t.spawn(func() func() {
		err := t.retry("enter job in the index", func(ctx context.Context) error { return t.cfg.Store.Activate(ctx, id) })
		if err != nil {
			return func() { t.fail(err) }
		}
		loaded, err := t.load(p.ctx, id, submission)
		if err != nil {
			return func() { t.fail(err) }
		}
		return func() { t.admitted(loaded) }
	})
}

// loadedJob is the outcome of [Term.load]: one of active, ended, gone, queued and parked
// is set.
type loadedJob struct {
	id     string
	active *activeJob // this leader has fenced the job and may work on it
	plan   jobs.Plan  // of the active job
	ended  bool       // the job has ended, or was removed
	gone   bool       // the job is not in storage: see confirmGone
	queued bool       // no leader has begun the job, and its submission has not been received
	parked parkedJob  // this leader cannot work on the job
}

// Reasons why one attempt to load a job has no outcome.
var (
	errChanged = errors.New("manifest was changed by another write")
	errRemoved = errors.New("job was removed")
)

// load takes over a job for this leader. It fences the job and resumes it from its
// manifest, or plans the job if no leader has planned it. After the fence the writes of
// earlier leaders fail. If ctx is done, the job is cancelled and is not planned.
// Submission is nil if this leader has not received the submission. Tasks call load.
func (t *Term) load(ctx context.Context, id string, submission *store.Submission) (loadedJob, error) {
	for {
		loaded, err := t.loadOnce(ctx, id, submission)
		switch {
		case errors.Is(err, errChanged): // changed by another leader, or by this leader, whose reply was lost
		case errors.Is(err, errCancelled):
			ctx = t.ctx // the manifest says whether the cancellation succeeded
		case errors.Is(err, errRemoved):
			return loadedJob{id: id, gone: true}, t.retract(id)
		case errors.Is(err, store.ErrCorrupt):
			return damagedJob(id, err), nil
		default:
			return loaded, err
		}
	}
}

// loadOnce makes one attempt to load a job: it reads the job and writes the job's
// manifest once.
func (t *Term) loadOnce(ctx context.Context, id string, submission *store.Submission) (loadedJob, error) {
	// The manifest is read first. A removal deletes the spec before the manifest, so if
	// the manifest is missing because of a removal, the spec is missing too.
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
		return loadedJob{id: id, ended: true}, nil
	case errors.Is(manifestErr, store.ErrNotFound):
		return t.begin(ctx, spec, store.Manifest{}, store.IfAbsent)
	case manifestErr != nil:
		return loadedJob{}, manifestErr
	case manifest.State.Final():
		return loadedJob{id: id, ended: true}, nil
	case manifest.SpecSHA256 != "" && manifest.SpecSHA256 != spec.SHA256:
		return damagedJob(id, fmt.Errorf("%w: the spec has SHA-256 %s, and the job was begun with %s", store.ErrCorrupt, spec.SHA256, manifest.SpecSHA256)), nil
	case manifest.State == store.Queued && manifest.Epoch <= t.leadership.Epoch:
		return t.begin(ctx, spec, manifest, store.IfVersion(version))
	}
	job, known := t.kinds[kindOf(spec.Spec)]
	if !known {
		return t.unknownKind(spec.Spec), nil
	}
	j := newActiveJob(spec.Spec, job)
	j.manifest.last, j.manifest.version = manifest, version
	switch err := t.fence(j); {
	case errors.Is(err, store.ErrNotFound): // the last leader ended the job, and the job has since been removed
		return loadedJob{}, errChanged
	case err != nil:
		return loadedJob{}, err
	}
	if j.manifest.last.State.Final() { // the last leader ended the job before the fence
		return loadedJob{id: id, ended: true}, nil
	}
	plan, err := t.readPlan(id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return damagedJob(id, err), nil
	case err != nil:
		return loadedJob{}, fmt.Errorf("resume job %s: %w", id, err)
	}
	return j.withPlan(plan)
}

// begin plans a job that no leader has planned, and writes its first manifest if cond
// holds. Previous is the manifest to be replaced, if cond expects a manifest.
func (t *Term) begin(ctx context.Context, spec store.StoredSpec, previous store.Manifest, cond store.Condition) (loadedJob, error) {
	job, known := t.kinds[kindOf(spec.Spec)]
	if !known {
		return t.leaveQueued(spec, cond)
	}
	j := newActiveJob(spec.Spec, job)
	plan, err := t.plan(ctx, j)
	var fault *jobFault
	if err != nil && !errors.As(err, &fault) {
		return loadedJob{}, err
	}
	now := t.env.Now().UTC()
	first := store.Manifest{
		Epoch: t.leadership.Epoch, Sequence: previous.Sequence + 1, State: store.Running, Partitions: plan.Partitions,
		Epochs: []uint64{t.leadership.Epoch}, Started: now, SpecSHA256: spec.SHA256,
	}
	if fault != nil {
		first.State, first.Error, first.Finished = store.Failed, fault.Error(), now
	}
	j.manifest.last = first
	if j.manifest.version, err = t.putInactive(spec, first, cond); err != nil {
		return loadedJob{}, fmt.Errorf("begin job: %w", err)
	}
	if fault != nil {
		t.log.Info("Job ended", "job", spec.ID, "state", first.State, "error", first.Error)
		return loadedJob{id: spec.ID, ended: true}, nil
	}
	return j.withPlan(plan)
}

// leaveQueued parks a job whose kind this leader does not know. If the job has no
// manifest, leaveQueued writes one. The manifest shows that the job's submission did not
// kill the leaders that received it.
func (t *Term) leaveQueued(spec store.StoredSpec, cond store.Condition) (loadedJob, error) {
	if cond.Absent() {
		if err := t.putQueued(spec); err != nil {
			return loadedJob{}, err
		}
	}
	return t.unknownKind(spec.Spec), nil
}

// putQueued writes the first manifest of a job that this leader does not begin now. Tasks
// call it.
func (t *Term) putQueued(spec store.StoredSpec) error {
	queued := store.Manifest{Epoch: t.leadership.Epoch, Sequence: 1, State: store.Queued, SpecSHA256: spec.SHA256}
	if _, err := t.putInactive(spec, queued, store.IfAbsent); err != nil {
		return fmt.Errorf("leave job queued: %w", err)
	}
	return nil
}

func (j *activeJob) withPlan(plan jobs.Plan) (loaded loadedJob, err error) {
	j.tree, err = jobs.NewTree(plan.Partitions)
	return loadedJob{id: j.spec.ID, active: j, plan: plan}, err
}

// putInactive writes the manifest of a job that is not active, if cond holds; otherwise
// the error is errChanged. If the manifest is the job's first, the job may have been
// cancelled and removed after its spec was read. Then cond holds although the job is
// gone, and the error is errRemoved. If storage still has the same spec, a removal has not
// reached the manifest yet and will delete the new manifest too.
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
		return version, err // the job cannot be gone, since its manifest was there
	}
	if now, err := t.readSpec(id); errors.Is(err, store.ErrNotFound) || err == nil && now.Written != spec.Written {
		return "", fmt.Errorf("write manifest of job %s: %w", id, errRemoved)
	}
	return version, nil
}

// fence writes this leader's epoch into the job's manifest. If the manifest was replaced
// after this leader read it, fence reads the manifest again.
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

func (t *Term) readSpec(id string) (spec store.StoredSpec, err error) {
	err = t.retry("read spec", func(ctx context.Context) (err error) {
		spec, err = t.cfg.Store.Spec(ctx, id)
		return err
	})
	return spec, err
}

func (t *Term) readManifest(id string) (manifest store.Manifest, version store.Version, err error) {
	err = t.retry("read manifest", func(ctx context.Context) (err error) {
		manifest, version, err = t.cfg.Store.Manifest(ctx, id)
		return err
	})
	return manifest, version, err
}

// admitted handles the outcome of load for a pending job.
func (t *Term) admitted(loaded loadedJob) {
	id := loaded.id
	p := t.jobs.pending[id]
	p.cancel()
	delete(t.jobs.pending, id)
	switch {
	case loaded.gone:
		t.confirmGone(id, p)
		return
	case loaded.queued && p.submission != nil: // received in the meantime
		t.schedule(id, t.addPending(id, &pendingJob{submission: p.submission, cancels: p.cancels}))
		return
	}
	if j := loaded.active; j != nil {
		j.submission, j.cancels = p.submission, p.cancels
		t.take(loaded)
		if len(j.cancels) > 0 {
			t.step(ledger.JobCancelled{Job: id})
		}
		return
	}
	t.take(loaded)
	if loaded.ended && p.submission != nil {
		t.spawn(func() func() {
			t.cleanUp(id, p.submission, true)
			return nil
		})
	}
	if len(p.cancels) > 0 {
		t.withdraw(id, p.cancels)
	}
}

// These are the maximum sizes in bytes of a plan's data and of parameters in a receipt.
// Workers read larger ones from the store.
const (
	maxPlanData = 8 << 10
	maxParams   = 64 << 10
)

// take enters a loaded job in the job table and adds the job to the ledger.
func (t *Term) take(loaded loadedJob) {
	switch {
	case loaded.active != nil:
		t.activate(loaded.active, loaded.plan)
	case loaded.queued: // the submission brings the job
	case loaded.ended:
		delete(t.jobs.parked, loaded.id)
		t.step(ledger.JobEnded{Job: loaded.id})
	default:
		t.park(loaded.id, loaded.parked)
	}
}

func (t *Term) activate(j *activeJob, plan jobs.Plan) {
	t.jobs.active[j.spec.ID] = j
	m := j.manifest.last
	resumed := len(m.Epochs) > 1
	j.blobs.exist = resumed // an earlier leader may have written blobs that no manifest names
	e := ledger.JobAdded{
		Spec: j.spec, Partitions: plan.Partitions, Data: plan.Data,
		Workers: m.Workers, Executed: m.Executed, Skipped: m.Skipped, Attempts: m.Attempts, CrashSuspects: m.CrashSuspects,
		Errors: m.Errors, OtherErrors: m.OtherErrors, Builds: m.Builds,
		LeaderDied: t.leadership.Cause.Crashed() && resumed,
	}
	if len(e.Data) > maxPlanData {
		e.Data, e.InStore = nil, true
	}
	if len(e.Spec.Params) > maxParams {
		sum := sha256.Sum256(e.Spec.Params)
		e.Spec.Params, e.ParamsSHA256 = wire.ParamsInStore, sum[:]
	}
	for _, n := range m.Nodes {
		ref := ledger.NoRef
		if !n.Empty {
			ref = t.partials.add(partial{data: n.Data, blob: n.Blob, job: j.spec.ID})
		}
		if n.Blob != "" {
			j.blobs.exist = true
		}
		e.Nodes = append(e.Nodes, ledger.FinishedNode{Node: n.Node, Ref: ref})
	}
	if resumed {
		t.log.Info("Job resumed", "job", j.spec.ID, "kind", j.spec.Job, "partitions", e.Partitions, "nodes", len(e.Nodes))
	} else {
		t.log.Info("Job started", "job", j.spec.ID, "kind", j.spec.Job, "partitions", e.Partitions)
	}
	t.step(e)
}
