package coordinator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// activeJob is a job that this leader works on.
type activeJob struct {
	spec store.Spec
	job  jobs.Job
	tree jobs.Tree

	blobs     atomic.Bool  // some partial is in a blob
	unloading sync.RWMutex // held for reading while one is written
	over      bool         // no more may be

	submission *store.Submission // nil where this leader did not receive it
	waiting    []func(error)     // who waits for the job's end, after cancelling it

	spares spares

	mu       sync.Mutex     // held while the manifest is written
	manifest store.Manifest // as it was written last
	version  store.Version
	hasRoom  bool // it took one of the reign's tokens

	notes noteCount
}

// errFenced: another leader has written the manifest.
var errFenced = errors.New("manifest belongs to another leader")

// write replaces the manifest by the next one, which change makes out of the
// last. Writes follow one another; after a final one there are no more.
func (r *reign) write(j *activeJob, change func(*store.Manifest)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.manifest.State.Final() {
		return nil
	}
	next := j.manifest
	next.Epoch = r.term.Epoch
	next.Sequence++
	change(&next)
	err := r.persist("write manifest", func(ctx context.Context) error {
		version, err := r.cfg.Store.PutManifest(ctx, j.spec.ID, next, store.IfVersion(j.version))
		if err == nil {
			j.manifest, j.version = next, version
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		// Somebody wrote: another leader, or this one, and the answer was lost.
		there, version, err := r.cfg.Store.Manifest(ctx, j.spec.ID)
		if err != nil {
			return err
		}
		switch {
		case there.Epoch > next.Epoch:
			r.term.Deposed(there.Epoch)
			return fmt.Errorf("%w: epoch %d, sequence %d", errFenced, there.Epoch, there.Sequence)
		case there.Epoch != next.Epoch || there.Sequence != next.Sequence:
			return fmt.Errorf("somebody who did not lead wrote epoch %d, sequence %d", there.Epoch, there.Sequence)
		}
		j.manifest, j.version = next, version
		return nil
	})
	if err != nil {
		return fmt.Errorf("write manifest of job %s: %w", j.spec.ID, err)
	}
	return nil
}

// gather looks up the partials of a snapshot's nodes.
func (r *reign) gather(nodes []ledger.Finished) []partial {
	list := make([]partial, len(nodes))
	for i, n := range nodes {
		list[i] = r.use(n.Ref)
	}
	return list
}

// checkpoint makes a job's state durable.
func (r *reign) checkpoint(c ledger.Checkpoint) {
	j := r.jobs[c.Job]
	partials := r.gather(c.State.Nodes)
	j.spares.asked()
	r.spawn(func() {
		nodes := make([]store.StoredNode, len(partials))
		for i, p := range partials {
			kept, err := r.unload(j, c.State.Nodes[i].Node, p, inManifest)
			if err != nil {
				r.failWrite(err)
				return
			}
			nodes[i] = storedNode(c.State.Nodes[i], kept)
			if kept.blob != p.blob {
				r.post(unloaded{c.State.Nodes[i].Ref, kept})
			}
		}
		err := r.write(j, func(m *store.Manifest) {
			m.Nodes = nodes
			describe(m, c.State)
		})
		if err != nil {
			r.failWrite(err)
			return
		}
		r.post(checkpointed{c.Job})
	})
}

func storedNode(n ledger.Finished, p partial) store.StoredNode {
	switch {
	case n.Ref == ledger.NoRef:
		return store.StoredNode{Node: n.Node, Empty: true}
	case p.blob != "":
		return store.StoredNode{Node: n.Node, Blob: p.blob}
	}
	return store.StoredNode{Node: n.Node, Data: p.data}
}

func describe(m *store.Manifest, s ledger.Snapshot) {
	m.Workers, m.Executed, m.Skipped, m.Attempts, m.Suspects = s.Workers, s.Executed, s.Skipped, s.Attempts, s.Suspects
}

// failWrite reports why something could not be made durable. Being fenced ends
// the term by itself; anything else is worth a person's attention.
func (r *reign) failWrite(err error) {
	if r.ctx.Err() == nil && !errors.Is(err, errFenced) {
		r.post(broken{err})
	}
}

// broken: storage answers in a way that no retry mends. The process cannot lead;
// another may.
type broken struct{ err error }

func (in broken) on(r *reign) {
	r.log.Error("Cannot make a job's state durable, stepping down", "error", in.err)
	r.leave()
}

// unloaded: a partial has gone into a blob.
type unloaded struct {
	ref  ledger.Ref
	kept partial
}

func (in unloaded) on(r *reign) {
	if _, known := r.partials[in.ref]; known {
		r.partials[in.ref] = in.kept
	} else if j := r.jobs[in.kept.job]; j != nil { // it was merged meanwhile
		j.spares.next = append(j.spares.next, in.kept.blob)
	}
}

type checkpointed struct{ job string }

func (in checkpointed) on(r *reign) {
	if j := r.jobs[in.job]; j != nil {
		r.drop(in.job, j.spares.durable())
	}
	r.step(ledger.Checkpointed{Job: in.job})
}

// end makes a job's end durable: the result first, then the manifest that says
// so, then what reminds a leader of the job.
func (r *reign) end(e ledger.End) {
	j := r.jobs[e.Job]
	root := r.partials[e.Root]
	r.spawn(func() {
		final := func(m *store.Manifest) {
			m.Nodes = nil
			describe(m, e.State)
			m.State, m.Error, m.Finished = e.As, e.Error, time.Now().UTC()
			m.Suspects = nil
		}
		change := final
		if e.As == store.Completed {
			digest, err := r.result(j, root)
			var fault *jobFault
			switch {
			case errors.As(err, &fault):
				change = func(m *store.Manifest) {
					final(m)
					m.State, m.Error = store.Failed, fault.Error()
				}
			case err != nil:
				r.failWrite(err)
				return
			default:
				change = func(m *store.Manifest) {
					final(m)
					m.SHA256 = digest
				}
			}
		}
		if err := r.write(j, change); err != nil {
			r.failWrite(err)
			return
		}
		r.post(ended{e.Job, j.manifest.State, j.manifest.Error})
	})
}

// jobFault is an error of the job's own code, which ends the job.
type jobFault struct{ err error }

func (f *jobFault) Error() string { return f.err.Error() }

// result finishes the job and keeps its result. It returns the result's digest.
func (r *reign) result(j *activeJob, root partial) (digest string, err error) {
	data, err := r.load(j, root)
	if err != nil {
		return "", err
	}
	if err := r.merging.Acquire(r.ctx, 1); err != nil {
		return "", err
	}
	result, err := j.job.Finish(r.ctx, j.spec.Params, data)
	r.merging.Release(1)
	switch {
	case r.ctx.Err() != nil: // and the error may be that
		return "", context.Cause(r.ctx)
	case err != nil:
		return "", &jobFault{err}
	}
	err = r.persist("write result", func(ctx context.Context) error {
		return r.cfg.Store.PutResult(ctx, j.spec.ID, result)
	})
	if errors.Is(err, store.ErrConflict) {
		return "", &jobFault{errors.New("an earlier leader has kept other bytes as the result: the job is not deterministic")}
	}
	sum := sha256.Sum256(result)
	return hex.EncodeToString(sum[:]), err
}

// tidy removes what reminds a leader of a job that has ended. If it does not get
// far, the next leader does it again.
func (r *reign) tidy(id string, submission *store.Submission, blobs bool) {
	steps := []func(ctx context.Context) error{
		func(ctx context.Context) error { return r.cfg.Store.Deactivate(ctx, id) },
	}
	if blobs {
		// Before the index forgets the job, or nobody would come back for them.
		steps = slices.Insert(steps, 0, func(ctx context.Context) error { return r.cfg.Store.DropPartials(ctx, id) })
	}
	if submission != nil {
		steps = append(steps, submission.Delete)
	}
	for _, step := range steps {
		if err := r.persist("tidy up", step); err != nil {
			if r.ctx.Err() == nil {
				r.log.Warn("Could not tidy up after a job", "job", id, "error", err)
			}
			return
		}
	}
}

// ended: a job's end is durable.
type ended struct {
	job   string
	state store.State
	err   string
}

func (in ended) on(r *reign) {
	j := r.jobs[in.job]
	r.log.Info("Job ended", "job", in.job, "state", in.state, "error", in.err)
	delete(r.jobs, in.job)
	if j.hasRoom {
		<-r.room
	}
	r.step(ledger.JobEnded{Job: in.job})
	r.spawn(func() {
		j.unloading.Lock()
		j.over = true
		j.unloading.Unlock()
		// Of a job cut short, workers may have put partials there that nobody has told of.
		r.tidy(in.job, j.submission, j.blobs.Load() || in.state != store.Completed)
	})
	for _, answer := range j.waiting {
		if in.state == store.Cancelled {
			answer(nil)
		} else {
			answer(fmt.Errorf("job %s has ended before it could be cancelled: it is %s", in.job, in.state))
		}
	}
}
