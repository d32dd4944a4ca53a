package term

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// This file contains the storage calls that several parts of a term make. Only tasks call these
// functions, except writeManifest, because they block.

const (
	firstRetryWait = 50 * time.Millisecond
	maxRetryWait   = 2 * time.Second
)

// retry repeats a storage call while storage is unavailable and the term is not over. It logs when
// an outage begins and when it ends.
func (t *Term) retry(action string, call func(ctx context.Context) error) error {
	for wait := firstRetryWait; ; wait = min(2*wait, maxRetryWait) {
		err := call(t.ctx)
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
		if !errors.Is(err, store.ErrUnavailable) {
			if wait > firstRetryWait {
				t.log.Info("Storage is available again", "operation", action)
			}
			return err
		}
		if wait == firstRetryWait {
			t.log.Warn("Storage is unavailable, retrying", "operation", action, "error", err)
		}
		t.env.Pause(t.ctx, wait)
	}
}

// retryRead repeats a read while storage is unavailable and the term is not over.
func retryRead[V any](t *Term, action string, call func(ctx context.Context) (V, error)) (value V, err error) {
	err = t.retry(action, func(ctx context.Context) (err error) {
		value, err = call(ctx)
		return err
	})
	return value, err
}

func (t *Term) readSpec(id string) (store.StoredSpec, error) {
	return retryRead(t, "read spec", func(ctx context.Context) (store.StoredSpec, error) { return t.cfg.Store.Spec(ctx, id) })
}

func (t *Term) readPlan(id string) (store.Plan, error) {
	return retryRead(t, "read plan", func(ctx context.Context) (store.Plan, error) { return t.cfg.Store.Plan(ctx, id) })
}

func (t *Term) readManifest(id string) (manifest store.Manifest, version store.Version, err error) {
	err = t.retry("read manifest", func(ctx context.Context) (err error) {
		manifest, version, err = t.cfg.Store.Manifest(ctx, id)
		return err
	})
	return manifest, version, err
}

// writeManifest replaces the job's manifest in one task. In the task, prepare writes the objects
// that the next manifest names, and completes the next manifest, which begins as a copy of the last
// one. When the next manifest is durable, writeManifest calls then on the loop. An error of prepare
// abandons the write, and is handled as failJob says. Only one write of a job's manifest is in flight at a time, and each write is
// conditional on the previous one. Nothing is written after a final manifest.
func (t *Term) writeManifest(j *activeJob, work store.Work, prepare func(next *store.Manifest) error, then func()) {
	m := &j.manifest
	m.writes.acquire(func() {
		next, version := m.last, m.version
		next.Epoch = t.leadership.Epoch
		next.Sequence++
		next.Partitions, next.Work = j.tree.Partitions(), work
		t.spawn(func() func() {
			if err := prepare(&next); err != nil {
				return func() {
					m.writes.release()
					t.failJob(j, err)
				}
			}
			version, err := t.replaceManifest(j.spec.ID, next, version)
			if err != nil {
				return func() { t.fail(fmt.Errorf("write manifest of job %s: %w", j.spec.ID, err)) }
			}
			return func() {
				t.observeProgress(m.last, next)
				m.last, m.version, m.writtenAt = next, version, t.env.Now()
				m.writes.release()
				then()
			}
		})
	})
}

// observeProgress reports the progress between two consecutive durable manifests.
func (t *Term) observeProgress(before, after store.Manifest) {
	done, executed := doneIn(before), after.Executed-min(after.Executed, before.Executed)
	p := Progress{Done: doneIn(after) - min(doneIn(after), done)}
	p.Repeated = executed - min(executed, p.Done)
	p.SlotSeconds = max(0, after.SlotSeconds-before.SlotSeconds)
	p.LostSeconds = max(0, after.LostSeconds-before.LostSeconds)
	t.cfg.Observe(p)
}

// doneIn returns the number of finished partitions in the newest sample of a manifest. Each
// checkpoint and each final manifest adds a sample.
func doneIn(m store.Manifest) uint64 {
	if len(m.Samples) == 0 {
		return 0
	}
	return m.Samples[len(m.Samples)-1].Done
}

// replaceManifest replaces the manifest of the version last with the manifest next.
func (t *Term) replaceManifest(job string, next store.Manifest, last store.Version) (version store.Version, err error) {
	err = t.retry("write manifest", func(ctx context.Context) (err error) {
		version, err = t.cfg.Store.PutManifest(ctx, job, next, store.IfVersion(last))
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		// Either another leader has written the manifest, or this leader has written it and the
		// reply was lost, or storage has refused the write although nothing was written.
		var current store.Manifest
		current, version, err = t.cfg.Store.Manifest(ctx, job)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return t.missingManifest(ctx, job, next)
		case err != nil:
			return err
		case current.Epoch > next.Epoch:
			return &fencedError{current.Epoch}
		case version == last:
			return fmt.Errorf("%w: version %q was refused but is still stored", store.ErrUnavailable, last)
		case current.Epoch < next.Epoch || current.Epoch == next.Epoch && current.Sequence < next.Sequence:
			return fmt.Errorf("%w: the manifest has epoch %d and sequence %d, this leader writes epoch %d and sequence %d",
				errRewound, current.Epoch, current.Sequence, next.Epoch, next.Sequence)
		case current.Epoch != next.Epoch || current.Sequence != next.Sequence:
			return fmt.Errorf("manifest was written by a non-leader: epoch %d, sequence %d", current.Epoch, current.Sequence)
		}
		return nil
	})
	return version, err
}

// missingManifest returns the outcome of a write that was refused because there is no manifest. It is
// nil if this leader has written the final manifest next and then the job was removed. A removal
// deletes the spec before the manifest.
func (t *Term) missingManifest(ctx context.Context, job string, next store.Manifest) error {
	if next.State.Final() {
		_, err := t.cfg.Store.Spec(ctx, job)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the manifest is missing", errRewound)
}

// readPartial returns the bytes of a partial. If the partial's bytes are lost or damaged, readPartial
// returns a *jobFault.
func (t *Term) readPartial(job string, p partial) ([]byte, error) {
	data, err := t.readStored(job, p)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		err = &jobFault{fmt.Errorf("a stored partial result is lost or damaged, resubmit the job: %w", err)}
	}
	return data, err
}

// readOperand returns the bytes of an operand like readPartial. If they are lost and the next leader can compute them
// again, the error is errRewound: see dropLostNodes.
func (t *Term) readOperand(job string, p partial) ([]byte, error) {
	if !t.cfg.Store.CountsWrites() {
		return t.readPartial(job, p)
	}
	data, err := t.readStored(job, p)
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = fmt.Errorf("%w: %w", errRewound, err)
	case errors.Is(err, store.ErrCorrupt):
		err = &jobFault{fmt.Errorf("a stored partial result is damaged, resubmit the job: %w", err)}
	}
	return data, err
}

func (t *Term) readStored(job string, p partial) ([]byte, error) {
	if !p.stored() {
		return p.data, nil
	}
	return retryRead(t, "read partial", func(ctx context.Context) ([]byte, error) { return t.cfg.Store.Partial(ctx, job, p.blob) })
}

// putMerged writes the merged partials that are too large for the leader's memory into blobs.
func (t *Term) putMerged(j *activeJob, merged []nodePartial) error {
	for i := range merged {
		if p := &merged[i]; p.needsBlob(maxInMemory) {
			if err := t.putPartial(j, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// putPartial writes a partial into a blob and drops a large partial's bytes from memory. If the
// partial is too large for storage, putPartial returns a *jobFault. If the job is ending, putPartial
// writes and retries nothing, because storage may be full until the job has ended.
func (t *Term) putPartial(j *activeJob, p *nodePartial) error {
	err := t.retry("write partial", func(ctx context.Context) error {
		if j.ending.Load() {
			return nil
		}
		blob, err := t.cfg.Store.PutPartial(ctx, j.id, p.node, p.data)
		switch {
		case err == nil:
			p.blob, p.size, p.written = blob, uint64(len(p.data)), true
		case errors.Is(err, store.ErrUnavailable) && j.ending.Load():
			return nil
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrTooLarge):
		return &jobFault{fmt.Errorf("write the partial of node %v: %w", p.node, err)}
	case p.blob != "" && len(p.data) > maxInMemory:
		p.data = nil
	}
	return err
}

// dropPartials deletes blobs that a job no longer needs. Blobs whose deletion fails, or that the
// leader does not delete before it dies, are deleted at the job's end.
func (t *Term) dropPartials(job string, blobs []string) {
	for _, blob := range blobs {
		err := t.retry("delete partial", func(ctx context.Context) error { return t.cfg.Store.DropPartial(ctx, job, blob) })
		if err != nil && t.ctx.Err() == nil {
			t.log.Warn("Could not delete a partial", "job", job, "error", err)
		}
	}
}
