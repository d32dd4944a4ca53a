package term

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// checkpoint makes a job's state durable: its large partials first, then the
// manifest that names them. One that the job's end overtakes is given up.
func (t *Term) checkpoint(c ledger.Checkpoint) {
	j := t.jobs[c.Job]
	list := make([]placed, len(c.Snapshot.Nodes))
	inBlob := make([]bool, len(list))
	for i, n := range c.Snapshot.Nodes {
		list[i] = placed{n.Node, t.use(n.Ref)}
		inBlob[i] = list[i].blob != ""
	}
	j.spares.asked()
	j.saving = t.env.Now()
	t.unload(j, list, inManifest, func(err error) {
		for i, p := range list {
			if p.blob != "" && !inBlob[i] {
				t.unloaded(j, c.Snapshot.Nodes[i].Ref, p.partial)
			}
		}
		switch {
		case err != nil:
			t.fail(err)
		case !j.ending.Load():
			t.write(j, func(m *store.Manifest) {
				m.Nodes = storedNodes(c.Snapshot.Nodes, list)
				describe(m, c.Snapshot)
			}, func() {
				t.cfg.Observe(CheckpointDone{t.since(j.saving)})
				j.saving = time.Time{}
				t.drop(j, j.spares.durable())
				t.step(ledger.Checkpointed{Job: c.Job})
			})
		}
	})
}

// unloaded: a partial has gone into a blob.
func (t *Term) unloaded(j *activeJob, ref ledger.Ref, p partial) {
	if _, known := t.partials[ref]; known {
		t.partials[ref] = p
	} else { // it was merged meanwhile
		j.spares.next = append(j.spares.next, p.blob)
	}
}

func storedNodes(nodes []ledger.FinishedNode, list []placed) []store.StoredNode {
	stored := make([]store.StoredNode, len(nodes))
	for i, p := range list {
		switch {
		case nodes[i].Ref == ledger.NoRef:
			stored[i] = store.StoredNode{Node: p.node, Empty: true}
		case p.blob != "":
			stored[i] = store.StoredNode{Node: p.node, Blob: p.blob}
		default:
			stored[i] = store.StoredNode{Node: p.node, Data: p.data}
		}
	}
	return stored
}

func describe(m *store.Manifest, s ledger.Snapshot) {
	m.Workers, m.Executed, m.Skipped, m.Attempts, m.CrashSuspects = s.Workers, s.Executed, s.Skipped, s.Attempts, s.CrashSuspects
}

// write replaces the job's manifest by the next one, which change makes out of the
// last, and goes on with then once that is durable. Writes follow one another, so
// each is conditional on the one before; a final one is the last.
func (t *Term) write(j *activeJob, change func(*store.Manifest), then func()) {
	j.writing.enter(func() {
		next, last := j.manifest, j.version
		next.Epoch = t.leadership.Epoch
		next.Sequence++
		change(&next)
		t.spawn(func() func() {
			version, err := t.replace(j.spec.ID, next, last)
			return func() {
				if err != nil {
					t.fail(fmt.Errorf("write manifest of job %s: %w", j.spec.ID, err))
					return
				}
				t.observeProgress(j, j.manifest, next)
				j.manifest, j.version = next, version
				j.writing.leave()
				then()
			}
		})
	})
}

// replace writes a manifest in place of one that was of that version. It is called
// from tasks.
func (t *Term) replace(job string, next store.Manifest, last store.Version) (version store.Version, err error) {
	err = t.persist("write manifest", func(ctx context.Context) (err error) {
		version, err = t.cfg.Store.PutManifest(ctx, job, next, store.IfVersion(last))
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		// Somebody wrote: another leader, or this one, and the answer was lost.
		var there store.Manifest
		there, version, err = t.cfg.Store.Manifest(ctx, job)
		switch {
		case errors.Is(err, store.ErrNotFound) && next.State.Final():
			return nil // it was written, and the job removed since
		case err != nil:
			return err
		case there.Epoch > next.Epoch:
			return &fencedError{there.Epoch}
		case there.Epoch != next.Epoch || there.Sequence != next.Sequence:
			return fmt.Errorf("somebody who did not lead wrote epoch %d, sequence %d", there.Epoch, there.Sequence)
		}
		return nil
	})
	return version, err
}
