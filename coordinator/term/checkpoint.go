package term

import (
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// checkpoint makes a job's state durable in one task: first its large partials, then the manifest
// that names them. If the job's end is decided before the write of the manifest begins, the
// checkpoint is abandoned.
func (t *Term) checkpoint(c ledger.Checkpoint) {
	j := t.jobs.active[c.Job]
	list := make([]nodePartial, len(c.Nodes))
	for i, n := range c.Nodes {
		list[i] = nodePartial{node: n.Node, partial: t.partials.use(n.Ref)}
	}
	dropped := len(j.blobs.gc.dropped)
	j.manifest.checkpointSince = t.env.Now()
	t.writeManifest(j, c.Work, func(next *store.Manifest) error {
		if err := t.putPartials(j, list); err != nil {
			return err
		}
		if j.ending.Load() {
			return errEnding
		}
		next.Nodes = storedNodes(c.Nodes, list)
		next.AddSample(next.Elapsed)
		return nil
	}, func(err error) {
		for i, p := range list {
			if p.written {
				t.movedToBlob(j, c.Nodes[i].Ref, p.partial)
			}
		}
		switch {
		case err == nil:
			t.checkpointed(j, dropped)
		case !errors.Is(err, errEnding):
			t.failJob(j, err)
		}
	})
}

// errEnding means that a checkpoint was abandoned because the job's end was decided.
var errEnding = errors.New("job is ending")

// checkpointed handles a durable checkpoint. The parameter dropped is the number of blobs that only
// earlier checkpoints need.
func (t *Term) checkpointed(j *activeJob, dropped int) {
	t.cfg.Observe(CheckpointDone{t.since(j.manifest.checkpointSince)})
	j.manifest.checkpointSince = time.Time{}
	t.deleteBlobs(j, j.blobs.gc.durable(dropped))
	t.step(ledger.Checkpointed{Job: j.spec.ID})
}

// movedToBlob records the blob of a partial that was written by a checkpoint.
func (t *Term) movedToBlob(j *activeJob, ref ledger.Ref, p partial) {
	j.blobs.exist = true
	if known := t.partials.byRef[ref]; known != nil {
		*known = p
	} else { // the partial was merged during the checkpoint
		j.blobs.gc.dropped = append(j.blobs.gc.dropped, p.blob)
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

// writeManifest replaces the job's manifest in one task. In the task, prepare writes the objects
// that the next manifest names, and completes the next manifest, which begins as a copy of the last
// one; an error of prepare abandons the write. On the loop, writeManifest then calls then with that
// error, or with nil if the next manifest is durable. Only one write of a job's manifest is in
// flight at a time, and each write is conditional on the previous one. Nothing is written after a
// final manifest.
func (t *Term) writeManifest(j *activeJob, work store.Work, prepare func(next *store.Manifest) error, then func(error)) {
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
					then(err)
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
				then(nil)
			}
		})
	})
}
