package term

import (
	"errors"
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
		j.blobs.exist = j.blobs.exist || list[i].needsBlob(maxInManifest)
	}
	superseded := j.blobs.gc.takeUnread()
	j.manifest.checkpointSince = t.env.Now()
	t.writeManifest(j, c.Work, func(next *store.Manifest) error {
		if err := t.putPartials(j, list, maxInManifest); err != nil {
			return err
		}
		if j.ending.Load() {
			return errEnding
		}
		next.Nodes = storedNodes(c.Nodes, list)
		next.AddSample(next.Elapsed)
		return nil
	}, func() {
		for i, p := range list {
			if p.written {
				t.movedToBlob(j, c.Nodes[i].Ref, p.partial)
			}
		}
		t.env.Go(func() { t.dropPartials(j.spec.ID, superseded) })
		t.cfg.Observe(CheckpointDone{t.since(j.manifest.checkpointSince)})
		j.manifest.checkpointSince = time.Time{}
		t.step(ledger.Checkpointed{Job: c.Job})
	})
}

// errEnding means that a checkpoint was abandoned because the job's end was decided.
var errEnding = errors.New("job is ending")

// movedToBlob records the blob of a partial that was written by a checkpoint.
func (t *Term) movedToBlob(j *activeJob, ref ledger.Ref, p partial) {
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
