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
func (r *Reign) resume() {
	r.spawn(func() func() {
		var ids []string
		err := r.persist("list active jobs", func(ctx context.Context) (err error) {
			ids, err = r.cfg.Store.Active(ctx)
			return err
		})
		if err != nil {
			return func() { r.fail(err) }
		}
		return func() { r.loadActive(ids) }
	})
}

// loadActive readies active jobs, and goes on once they all are.
func (r *Reign) loadActive(ids []string) {
	loaded := make([]readied, len(ids))
	missing := len(ids)
	if missing == 0 {
		r.resumed(loaded)
	}
	loading := &room{most: inParallel}
	for i, id := range ids {
		loading.enter(func() {
			r.spawn(func() func() {
				ready, err := r.ready(r.ctx, id)
				if err != nil {
					return func() { r.fail(err) }
				}
				if ready.ended {
					r.tidy(id, nil, true)
				}
				return func() {
					loaded[i] = ready
					loading.leave()
					if missing--; missing == 0 {
						r.resumed(loaded)
					}
				}
			})
		})
	}
}

// resumed: every active job carries this leader's epoch.
func (r *Reign) resumed(loaded []readied) {
	cfg := r.cfg.Ledger
	cfg.Epoch, cfg.Self = r.term.Epoch, r.cfg.Worker
	l, err := ledger.New(cfg, r.since(r.began))
	if err != nil {
		r.fail(err)
		return
	}
	r.ledger = l
	r.mark(&r.timeline.fenced)
	for _, ready := range loaded {
		if ready.active != nil {
			// There may be more than there is room for, because that was larger before.
			ready.active.hasRoom = r.active.take()
		}
		r.takeOn(ready)
	}
	before := r.early
	r.early = early{}
	r.takeIn(before)
	r.extended = r.world.Now()
	r.active.enter(r.receive)
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
func (r *Reign) ready(ctx context.Context, id string) (readied, error) {
	// The manifest is read first: if a removal has taken it, the spec is gone as well.
	manifest, version, manifestErr := r.readManifest(id)
	spec, err := r.readSpec(id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return r.removed(id)
	case errors.Is(err, store.ErrCorrupt):
		return setAside(id, err), nil
	case err != nil:
		return readied{}, err
	}
	switch {
	case errors.Is(manifestErr, store.ErrNotFound):
		return r.begin(ctx, spec, store.Manifest{}, store.IfAbsent)
	case errors.Is(manifestErr, store.ErrCorrupt):
		return setAside(id, manifestErr), nil
	case manifestErr != nil:
		return readied{}, manifestErr
	case manifest.State.Final():
		return readied{id: id, ended: true}, nil
	case manifest.State == store.Queued && manifest.Epoch <= r.term.Epoch:
		return r.begin(ctx, spec, manifest, store.IfVersion(version))
	}
	job, known := r.kinds[wire.JobKind{Name: spec.Job, Version: spec.Version}]
	if !known {
		return r.park(spec), nil
	}
	j := newActiveJob(spec, job)
	j.manifest, j.version = manifest, version
	switch err := r.fence(j); {
	case errors.Is(err, store.ErrNotFound): // its last leader was quicker, and somebody has removed it since
		return r.removed(id)
	case err != nil:
		return readied{}, err
	}
	if j.manifest.State.Final() { // its last leader was quicker
		return readied{id: id, ended: true}, nil
	}
	var plan jobs.Plan
	err = r.persist("read plan", func(ctx context.Context) (err error) {
		plan, err = r.cfg.Store.Plan(ctx, id)
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
func (r *Reign) removed(id string) (readied, error) {
	r.log.Warn("Job is not there: it was removed", "job", id)
	err := r.persist("remove job", func(ctx context.Context) error { return r.cfg.Store.Remove(ctx, id) })
	return readied{id: id, ended: true}, err
}

func (j *activeJob) with(plan jobs.Plan) (ready readied, err error) {
	j.tree, err = jobs.NewTree(plan.Partitions)
	return readied{id: j.spec.ID, active: j, plan: plan}, err
}

// park sets a job aside that this leader does not know. Another may.
func (r *Reign) park(spec store.Spec) readied {
	why := fmt.Sprintf("the leader %s does not know %s version %s: start workers of a program that does", r.cfg.Worker, spec.Job, spec.Version)
	return readied{id: spec.ID, parked: parkedJob{wire.JobKind{Name: spec.Job, Version: spec.Version}, why}}
}

// setAside parks a job of which something is damaged, so that it keeps nobody
// from leading the others.
func setAside(id string, err error) readied {
	return readied{id: id, parked: parkedJob{why: err.Error()}}
}

// fence writes this leader's epoch into the job's manifest, and so learns its
// last state: what was read before may have been replaced meanwhile.
func (r *Reign) fence(j *activeJob) error {
	for {
		if j.manifest.Epoch > r.term.Epoch {
			return fmt.Errorf("fence job %s: %w", j.spec.ID, &fencedError{j.manifest.Epoch})
		}
		if j.manifest.State.Final() || j.manifest.Epoch == r.term.Epoch {
			return nil
		}
		next := j.manifest
		next.Epoch = r.term.Epoch
		next.Sequence++
		next.Epochs = append(slices.Clone(next.Epochs), r.term.Epoch)
		err := r.persist("fence manifest", func(ctx context.Context) error {
			version, err := r.cfg.Store.PutManifest(ctx, j.spec.ID, next, store.IfVersion(j.version))
			if err == nil {
				j.manifest, j.version = next, version
			}
			return err
		})
		if errors.Is(err, store.ErrConflict) {
			j.manifest, j.version, err = r.readManifest(j.spec.ID)
		}
		if err != nil {
			return fmt.Errorf("fence job %s: %w", j.spec.ID, err)
		}
	}
}

func (r *Reign) readSpec(id string) (spec store.Spec, err error) {
	err = r.persist("read spec", func(ctx context.Context) (err error) {
		spec, err = r.cfg.Store.Spec(ctx, id)
		return err
	})
	return spec, err
}

func (r *Reign) readManifest(id string) (manifest store.Manifest, version store.Version, err error) {
	err = r.persist("read manifest", func(ctx context.Context) (err error) {
		manifest, version, err = r.cfg.Store.Manifest(ctx, id)
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
func (r *Reign) keepParked(id string, p parkedJob) {
	switch {
	case r.parked[id] == p:
	case p.damaged():
		r.log.Error("Active job cannot be read, it is left alone", "job", id, "error", p.why)
	default:
		r.log.Warn("Job waits", "job", id, "reason", p.why)
	}
	if len(r.parked) < maxParked {
		r.parked[id] = p
	}
	r.step(ledger.JobParked{Job: id})
}

// takeOn tells the ledger of a readied job.
func (r *Reign) takeOn(ready readied) {
	switch {
	case ready.parked.why != "":
		r.keepParked(ready.id, ready.parked)
		return
	case ready.ended:
		delete(r.parked, ready.id)
		r.step(ledger.JobEnded{Job: ready.id})
		return
	}
	j := ready.active
	r.jobs[ready.id] = j
	m := j.manifest
	j.blobs = len(m.Epochs) > 1 // an earlier leader may have written some that no manifest names
	e := ledger.JobAdded{
		Spec: j.spec, Partitions: ready.plan.Partitions, Data: ready.plan.Data,
		Workers: m.Workers, Executed: m.Executed, Skipped: m.Skipped, Attempts: m.Attempts, Suspects: m.Suspects,
		LeaderDied: r.term.Crashed && len(m.Epochs) > 1,
	}
	if len(e.Data) > inReceipt {
		e.Data, e.InStore = nil, true
	}
	for _, n := range m.Nodes {
		ref := ledger.NoRef
		if !n.Empty {
			ref = r.newRef(partial{data: n.Data, blob: n.Blob, job: j.spec.ID})
		}
		if n.Blob != "" {
			j.blobs = true
		}
		e.Nodes = append(e.Nodes, ledger.FinishedNode{Node: n.Node, Ref: ref})
	}
	if len(m.Epochs) > 1 {
		r.log.Info("Job resumed", "job", j.spec.ID, "kind", j.spec.Job, "partitions", e.Partitions, "nodes", len(e.Nodes))
	} else {
		r.log.Info("Job started", "job", j.spec.ID, "kind", j.spec.Job, "partitions", e.Partitions)
	}
	r.step(e)
}
