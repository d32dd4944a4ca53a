package term

import "context"

// blobGC finds the blobs of an active job that can be deleted. It is used only on the loop.
//
// A blob contains the partial of one node. When a node has entered the ledger's forest, the node or
// one of its ancestors stays in the forest. The same is true for the forest of each later leader
// that resumes from a checkpoint of this leader. When the ledger drops a partial from the forest,
// only two readers may still need the partial's blob:
//
//   - The next leader needs the blob if it resumes from an older checkpoint. The blob is therefore
//     kept until a checkpoint that was requested after the drop is durable.
//   - Merges in flight may need the blob. The blob is therefore kept until these merges are done.
//
// If a worker reports a dropped node again, the ledger ignores the partial in the report.
//
// Some blobs are kept until the job's end: blobs of nodes that were reported twice or refused, and
// blobs of nodes that a leader merged between its last checkpoint and its death.
type blobGC struct {
	dropped []string       // blobs to delete when a checkpoint that is requested later is durable, in the order of the drops
	merges  map[string]int // number of merges in flight that read a blob
}

func (g *blobGC) acquire(blob string) {
	if g.merges == nil {
		g.merges = map[string]int{}
	}
	g.merges[blob]++
}

func (g *blobGC) release(blob string) {
	if g.merges[blob]--; g.merges[blob] == 0 {
		delete(g.merges, blob)
	}
}

// durable records that a checkpoint is durable, and returns the blobs that can be deleted now. The
// parameter dropped is the length of g.dropped at the checkpoint's request.
func (g *blobGC) durable(dropped int) (free []string) {
	var kept []string
	for _, blob := range g.dropped[:dropped] {
		if g.merges[blob] > 0 {
			kept = append(kept, blob)
		} else {
			free = append(free, blob)
		}
	}
	g.dropped = append(kept, g.dropped[dropped:]...)
	return free
}

// maxBlobDeletes is the maximum number of concurrent blob deletions of one job.
const maxBlobDeletes = 4

// deleteBlobs deletes blobs that a job no longer needs. Blobs whose deletion fails, or that the leader
// does not delete before it dies, are deleted at the job's end.
func (t *Term) deleteBlobs(j *activeJob, free []string) {
	for _, blob := range free {
		j.blobs.deletes.acquire(func() {
			t.spawn(func() func() {
				err := t.retry("delete partial", func(ctx context.Context) error {
					return t.cfg.Store.DropPartial(ctx, j.spec.ID, blob)
				})
				if err != nil && t.ctx.Err() == nil {
					t.log.Warn("Could not delete a partial", "job", j.spec.ID, "error", err)
				}
				return j.blobs.deletes.release
			})
		})
	}
}
