package term

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// inParallel is how many jobs a new leader fences and loads at once, and how many
// submissions it extends.
const inParallel = 16

// resume fences and loads the jobs that were active before this term, and begins
// dispatch with them. Until then the loop only answers.
func (t *Term) resume() {
	t.spawn(func() func() {
		var ids []string
		err := t.persist("list active jobs", func(ctx context.Context) (err error) {
			ids, err = t.cfg.Store.Active(ctx)
			return err
		})
		if err != nil {
			return func() { t.fail(err) }
		}
		return func() { t.loadActive(ids) }
	})
}

// loadActive readies active jobs, and goes on once they all are.
func (t *Term) loadActive(ids []string) {
	loaded := make([]readied, len(ids))
	missing := len(ids)
	if missing == 0 {
		t.resumed(loaded)
	}
	loading := &room{most: inParallel}
	for i, id := range ids {
		loading.enter(func() {
			t.spawn(func() func() {
				ready, err := t.ready(t.ctx, id)
				if err != nil {
					return func() { t.fail(err) }
				}
				if ready.ended {
					t.tidy(id, nil, true)
				}
				return func() {
					loaded[i] = ready
					loading.leave()
					if missing--; missing == 0 {
						t.resumed(loaded)
					}
				}
			})
		})
	}
}

// resumed: every active job carries this leader's epoch.
func (t *Term) resumed(loaded []readied) {
	cfg := t.cfg.Ledger
	cfg.Epoch, cfg.Self = t.leadership.Epoch, t.cfg.Worker
	l, err := ledger.New(cfg, t.since(t.began))
	if err != nil {
		t.fail(err)
		return
	}
	t.ledger = l
	t.mark(&t.timeline.fenced)
	for _, ready := range loaded {
		if ready.active != nil {
			// There may be more than there is room for, because that was larger before.
			ready.active.hasRoom = t.active.take()
		}
		t.takeOn(ready)
	}
	before := t.early
	t.early = early{}
	t.takeIn(before)
	t.extended = t.env.Now()
	t.active.enter(t.receive)
}

// readied is a job that this leader has fenced and may work on, or the reason why
// it cannot.
type readied struct {
	id     string
	active *activeJob
	plan   jobs.Plan
	ended  bool // there is nothing to do for it
	parked parkedJob
}

// ready makes a job this leader's: it plans the job if no leader has, and resumes it
// from its manifest otherwise. From then on the writes of earlier leaders fail. It is
// called from tasks.
func (t *Term) ready(ctx context.Context, id string) (readied, error) {
	// The manifest is read first: if a removal has taken it, the spec is gone as well.
	manifest, version, manifestErr := t.readManifest(id)
	spec, err := t.readSpec(id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return t.removed(id)
	case errors.Is(err, store.ErrCorrupt):
		return setAside(id, err), nil
	case err != nil:
		return readied{}, err
	}
	switch {
	case errors.Is(manifestErr, store.ErrNotFound):
		return t.begin(ctx, spec, store.Manifest{}, store.IfAbsent)
	case errors.Is(manifestErr, store.ErrCorrupt):
		return setAside(id, manifestErr), nil
	case manifestErr != nil:
		return readied{}, manifestErr
	case manifest.State.Final():
		return readied{id: id, ended: true}, nil
	case manifest.State == store.Queued && manifest.Epoch <= t.leadership.Epoch:
		return t.begin(ctx, spec, manifest, store.IfVersion(version))
	}
	job, known := t.kinds[wire.JobKind{Name: spec.Job, Version: spec.Version}]
	if !known {
		return t.park(spec), nil
	}
	j := newActiveJob(spec, job)
	j.manifest, j.version = manifest, version
	switch err := t.fence(j); {
	case errors.Is(err, store.ErrNotFound): // its last leader was quicker, and somebody has removed it since
		return t.removed(id)
	case err != nil:
		return readied{}, err
	}
	if j.manifest.State.Final() { // its last leader was quicker
		return readied{id: id, ended: true}, nil
	}
	var plan jobs.Plan
	err = t.persist("read plan", func(ctx context.Context) (err error) {
		plan, err = t.cfg.Store.Plan(ctx, id)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt):
		return setAside(id, err), nil
	case err != nil:
		return readied{}, fmt.Errorf("resume job %s: %w", id, err)
	}
	return j.with(plan)
}

// removed: a job that was submitted is not in storage any more. What there is of it
// came back, from a leader that did not know, and goes.
func (t *Term) removed(id string) (readied, error) {
	t.log.Warn("Job is not there: it was removed", "job", id)
	err := t.persist("remove job", func(ctx context.Context) error { return t.cfg.Store.Remove(ctx, id) })
	return readied{id: id, ended: true}, err
}

func (j *activeJob) with(plan jobs.Plan) (ready readied, err error) {
	j.tree, err = jobs.NewTree(plan.Partitions)
	return readied{id: j.spec.ID, active: j, plan: plan}, err
}

// park sets a job aside that this leader does not know. Another may.
func (t *Term) park(spec store.Spec) readied {
	why := fmt.Sprintf("the leader %s does not know %s version %s: start workers of a program that does", t.cfg.Worker, spec.Job, spec.Version)
	return readied{id: spec.ID, parked: parkedJob{wire.JobKind{Name: spec.Job, Version: spec.Version}, why}}
}

// setAside parks a job of which something is damaged, so that it keeps nobody
// from leading the others.
func setAside(id string, err error) readied {
	return readied{id: id, parked: parkedJob{why: err.Error()}}
}

// fence writes this leader's epoch into the job's manifest, and so learns its
// last state: what was read before may have been replaced meanwhile.
func (t *Term) fence(j *activeJob) error {
	for {
		if j.manifest.Epoch > t.leadership.Epoch {
			return fmt.Errorf("fence job %s: %w", j.spec.ID, &fencedError{j.manifest.Epoch})
		}
		if j.manifest.State.Final() || j.manifest.Epoch == t.leadership.Epoch {
			return nil
		}
		next := j.manifest
		next.Epoch = t.leadership.Epoch
		next.Sequence++
		next.Epochs = append(slices.Clone(next.Epochs), t.leadership.Epoch)
		err := t.persist("fence manifest", func(ctx context.Context) error {
			version, err := t.cfg.Store.PutManifest(ctx, j.spec.ID, next, store.IfVersion(j.version))
			if err == nil {
				j.manifest, j.version = next, version
			}
			return err
		})
		if errors.Is(err, store.ErrConflict) {
			j.manifest, j.version, err = t.readManifest(j.spec.ID)
		}
		if err != nil {
			return fmt.Errorf("fence job %s: %w", j.spec.ID, err)
		}
	}
}

func (t *Term) readSpec(id string) (spec store.Spec, err error) {
	err = t.persist("read spec", func(ctx context.Context) (err error) {
		spec, err = t.cfg.Store.Spec(ctx, id)
		return err
	})
	return spec, err
}

func (t *Term) readManifest(id string) (manifest store.Manifest, version store.Version, err error) {
	err = t.persist("read manifest", func(ctx context.Context) (err error) {
		manifest, version, err = t.cfg.Store.Manifest(ctx, id)
		return err
	})
	return manifest, version, err
}

// inReceipt is the most bytes of a plan's data that a receipt carries. Workers
// read more from the store.
const inReceipt = 8 << 10

// maxParked bounds what is remembered of jobs that cannot be worked on. Others are
// looked at again whenever their submission comes back.
const maxParked = 10_000

// keepParked remembers a job that cannot be worked on, and says so once.
func (t *Term) keepParked(id string, p parkedJob) {
	switch {
	case t.parked[id] == p:
	case p.damaged():
		t.log.Error("Active job cannot be read, it is left alone", "job", id, "error", p.why)
	default:
		t.log.Warn("Job waits", "job", id, "reason", p.why)
	}
	if len(t.parked) < maxParked {
		t.parked[id] = p
	}
	t.step(ledger.JobParked{Job: id})
}

// takeOn tells the ledger of a readied job.
func (t *Term) takeOn(ready readied) {
	switch {
	case ready.parked.why != "":
		t.keepParked(ready.id, ready.parked)
		return
	case ready.ended:
		delete(t.parked, ready.id)
		t.step(ledger.JobEnded{Job: ready.id})
		return
	}
	j := ready.active
	t.jobs[ready.id] = j
	m := j.manifest
	j.blobs = len(m.Epochs) > 1 // an earlier leader may have written some that no manifest names
	e := ledger.JobAdded{
		Spec: j.spec, Partitions: ready.plan.Partitions, Data: ready.plan.Data,
		Workers: m.Workers, Executed: m.Executed, Skipped: m.Skipped, Attempts: m.Attempts, CrashSuspects: m.CrashSuspects,
		LeaderDied: t.leadership.Cause.Crashed() && len(m.Epochs) > 1,
	}
	if len(e.Data) > inReceipt {
		e.Data, e.InStore = nil, true
	}
	for _, n := range m.Nodes {
		ref := ledger.NoRef
		if !n.Empty {
			ref = t.newRef(partial{data: n.Data, blob: n.Blob, job: j.spec.ID})
		}
		if n.Blob != "" {
			j.blobs = true
		}
		e.Nodes = append(e.Nodes, ledger.FinishedNode{Node: n.Node, Ref: ref})
	}
	if len(m.Epochs) > 1 {
		t.log.Info("Job resumed", "job", j.spec.ID, "kind", j.spec.Job, "partitions", e.Partitions, "nodes", len(e.Nodes))
	} else {
		t.log.Info("Job started", "job", j.spec.ID, "kind", j.spec.Job, "partitions", e.Partitions)
	}
	t.step(e)
}
