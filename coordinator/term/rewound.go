package term

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// errRewound means that storage has lost writes that it had acknowledged. The files of a server were
// damaged or replaced by older ones, or a server that does not sync its writes has lost power. Then
// this leader may remember more than storage has: a job that has ended may be running in storage.
// Therefore the term fails, and the next leader reads everything again. It computes again what was in
// lost checkpoints.
var errRewound = errors.New("storage has lost writes that it had acknowledged")

// countEvery is the interval at which the leader reads the storage's counts of writes.
const countEvery = 5 * time.Second

// countedWrites is the state of the search for lost writes.
type countedWrites struct {
	reading bool
	read    time.Time    // time of the last read; zero before the first one
	counts  store.Writes // counts of the last read
}

// countWrites fails the term if storage has lost writes since the last call. A write of a manifest
// notices most losses too (see replaceManifest), but an idle leader writes none.
func (t *Term) countWrites() {
	w := &t.writes
	first := w.read.IsZero()
	if !t.cfg.Store.CountsWrites() || w.reading || !first && t.since(w.read) < countEvery {
		return
	}
	w.reading, w.read = true, t.env.Now()
	t.spawn(func() func() {
		counts, err := retryRead(t, "count writes", t.cfg.Store.Writes)
		if err != nil && t.ctx.Err() == nil {
			t.log.Warn("Could not search for lost writes", "error", err)
		}
		return func() {
			w.reading = false
			switch {
			case err != nil:
			case !first && counts.LostSince(w.counts):
				t.fail(fmt.Errorf("%w: it has counted %d and then %d, and dropped %d bytes", errRewound, w.counts.Count, counts.Count, counts.Lost))
			default:
				w.counts = counts
			}
		}
	})
}

// dropLostNodes drops the nodes of a job's manifest whose blobs are missing, so that their partitions are computed
// again. Storage that has lost its last writes may have an older manifest again, and not the blobs that were
// deleted since. Only storage that counts its writes is checked.
func (t *Term) dropLostNodes(j *activeJob) error {
	m := &j.manifest.last
	inBlob := func(n store.StoredNode) bool { return n.Blob != "" }
	if !t.cfg.Store.CountsWrites() || !slices.ContainsFunc(m.Nodes, inBlob) {
		return nil
	}
	stored, err := retryRead(t, "list partials", func(ctx context.Context) (map[string]bool, error) {
		return t.cfg.Store.PartialNames(ctx, j.spec.ID)
	})
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(m.Nodes), func(n store.StoredNode) bool { return inBlob(n) && !stored[n.Blob] })
	if lost := len(m.Nodes) - len(left); lost > 0 {
		t.log.Warn("Storage has lost partial results of a job, computing them again", "job", j.spec.ID, "nodes", lost)
		m.Nodes = left
	}
	return nil
}
