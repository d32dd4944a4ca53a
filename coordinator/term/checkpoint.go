package term

import (
	"errors"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// checkpoint makes a job's state durable: first its large partials, which tasks write in parallel,
// and then the manifest that names them. If the job's end is decided before the write of the manifest
// begins, the checkpoint is abandoned.
func (t *Term) checkpoint(c ledger.Checkpoint) {
	j := t.active(c.Job)
	list := make([]nodePartial, len(c.Nodes))
	for i, n := range c.Nodes {
		list[i] = nodePartial{node: n.Node, partial: t.partials.use(n.Ref)}
	}
	superseded := j.blobs.gc.takeUnread()
	j.manifest.checkpointSince = t.env.Now()
	t.moveToBlobs(j, list, func() {
		t.writeManifest(j, c.Work, func(next *store.Manifest) error {
			if j.ending.Load() {
				return errEnding
			}
			next.Nodes = storedNodes(c.Nodes, list)
			if c.Whole {
				next.Whole = slices.DeleteFunc(slices.Clone(next.Nodes), func(n store.StoredNode) bool { return n.Empty })
			}
			next.AddSample(next.Elapsed)
			return nil
		}, func() {
			if c.Whole {
				j.blobs.gc.keepWhole(j.manifest.last.Whole)
			}
			for i, p := range list {
				if p.written {
					t.movedToBlob(j, c.Nodes[i].Ref, p.partial)
				}
			}
			t.env.Go(func() { t.dropPartials(j.id, superseded) })
			t.cfg.Observe(CheckpointDone{t.since(j.manifest.checkpointSince)})
			j.manifest.checkpointSince = time.Time{}
			t.step(ledger.Checkpointed{Job: c.Job})
		})
	})
}

// errEnding means that a checkpoint was abandoned because the job's end was decided.
var errEnding = errors.New("job is ending")

// maxBlobWrites is the largest number of partials that checkpoints write concurrently, those of all jobs
// together. It bounds the memory for encoded partials. With storage calls of 10 ms, 4,000 partials take 1.25 s.
const maxBlobWrites = 32

// moveToBlobs writes the partials that are too large for a manifest into blobs, each in a task, and
// then calls then on the loop. It does not call then if a write has failed or the job is ending.
func (t *Term) moveToBlobs(j *activeJob, list []nodePartial, then func()) {
	var large []*nodePartial
	for i := range list {
		if p := &list[i]; p.needsBlob(maxInManifest) {
			large = append(large, p)
		}
	}
	if len(large) == 0 {
		then()
		return
	}
	j.blobs.exist = true
	j.blobs.writers++
	left, failed := len(large), false
	for _, p := range large {
		t.limits.blobs.acquire(func() {
			t.spawn(func() func() {
				err := t.putPartial(j, p)
				return func() {
					t.limits.blobs.release()
					if err != nil && !failed {
						failed = true
						t.failJob(j, err)
					}
					if left--; left > 0 {
						return
					}
					j.blobs.writers--
					if !failed && !j.ending.Load() {
						then()
					}
					t.cleanUpEnded(j)
				}
			})
		})
	}
}

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
