package term

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// checkpoint makes a job's state durable: first its large partials, then the manifest that names
// them. If the job's end is decided before the write of the manifest begins, the checkpoint is
// abandoned.
func (t *Term) checkpoint(c ledger.Checkpoint) {
	j := t.jobs.active[c.Job]
	nodes := c.Snapshot.Nodes
	list := make([]nodePartial, len(nodes))
	inBlob := make([]bool, len(list))
	for i, n := range nodes {
		list[i] = nodePartial{n.Node, t.partials.use(n.Ref)}
		inBlob[i] = list[i].blob != ""
	}
	j.blobs.gc.requested()
	j.manifest.checkpointSince = t.env.Now()
	t.writeBlobs(j, list, maxInManifest, func(err error) {
		for i, p := range list {
			if p.blob != "" && !inBlob[i] {
				t.movedToBlob(j, nodes[i].Ref, p.partial)
			}
		}
		switch {
		case err != nil:
			t.failJob(j, err)
		case !j.ending.Load():
			t.writeManifest(j, func(m *store.Manifest) {
				m.Nodes = storedNodes(nodes, list)
				addSnapshot(j, m, c.Snapshot)
				t.addSample(m)
			}, func() {
				t.cfg.Observe(CheckpointDone{t.since(j.manifest.checkpointSince)})
				j.manifest.checkpointSince = time.Time{}
				t.deleteBlobs(j, j.blobs.gc.durable())
				t.step(ledger.Checkpointed{Job: c.Job})
			})
		}
	})
}

// movedToBlob records the blob of a partial that was written by a checkpoint.
func (t *Term) movedToBlob(j *activeJob, ref ledger.Ref, p partial) {
	if known := t.partials.byRef[ref]; known != nil {
		*known = p
	} else { // the partial was merged during the write of the blob
		j.blobs.gc.afterNext = append(j.blobs.gc.afterNext, p.blob)
	}
}

func storedNodes(nodes []ledger.FinishedNode, list []nodePartial) []store.StoredNode {
	stored := make([]store.StoredNode, len(nodes))
	for i, p := range list {
		switch {
		case nodes[i].Ref == ledger.NoRef:
			stored[i] = store.StoredNode{Node: p.node, Empty: true}
		case p.blob != "":
			stored[i] = store.StoredNode{Node: p.node, Blob: p.blob, Size: p.size, Large: nodes[i].Large}
		default:
			stored[i] = store.StoredNode{Node: p.node, Data: p.data}
		}
	}
	return stored
}

func addSnapshot(j *activeJob, m *store.Manifest, s ledger.Snapshot) {
	m.Partitions, m.Work = j.tree.Partitions(), s.Work
}

// addSample adds the job's progress to its manifest, for display.
func (t *Term) addSample(m *store.Manifest) { m.AddSample(t.since(m.Started)) }

// writeManifest replaces the job's manifest. The parameter change turns a copy of the last manifest
// into the next manifest. When the new manifest is durable, writeManifest calls then. Only one
// write of a job's manifest is in flight at a time, and each write is conditional on the previous
// one. Nothing is written after a final manifest.
func (t *Term) writeManifest(j *activeJob, change func(*store.Manifest), then func()) {
	j.manifest.writes.acquire(func() {
		next, version := j.manifest.last, j.manifest.version
		next.Epoch = t.leadership.Epoch
		next.Sequence++
		change(&next)
		t.spawn(func() func() {
			version, err := t.replaceManifest(j.spec.ID, next, version)
			return func() {
				if err != nil {
					t.fail(fmt.Errorf("write manifest of job %s: %w", j.spec.ID, err))
					return
				}
				t.observeProgress(j, j.manifest.last, next)
				j.manifest.last, j.manifest.version, j.manifest.writtenAt = next, version, t.env.Now()
				j.manifest.writes.release()
				then()
			}
		})
	})
}

// replaceManifest replaces the manifest of the version last with the manifest next. Only tasks call
// replaceManifest, because it blocks.
func (t *Term) replaceManifest(job string, next store.Manifest, last store.Version) (version store.Version, err error) {
	err = t.retry("write manifest", func(ctx context.Context) (err error) {
		version, err = t.cfg.Store.PutManifest(ctx, job, next, store.IfVersion(last))
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		// Either another leader has written the manifest, or this leader has written it and the
		// reply was lost.
		var current store.Manifest
		current, version, err = t.cfg.Store.Manifest(ctx, job)
		switch {
		case errors.Is(err, store.ErrNotFound) && next.State.Final():
			return nil // this leader wrote the manifest, and then the job was removed
		case err != nil:
			return err
		case current.Epoch > next.Epoch:
			return &fencedError{current.Epoch}
		case current.Epoch != next.Epoch || current.Sequence != next.Sequence:
			return fmt.Errorf("manifest was written by a non-leader: epoch %d, sequence %d", current.Epoch, current.Sequence)
		}
		return nil
	})
	return version, err
}
