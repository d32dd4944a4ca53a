package coordinator

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// partial is where the bytes of a node's partial are: here, or in a blob, or both.
type partial struct {
	data []byte
	blob string

	job  string // whose it is
	used bool   // its node has been in the forest
}

const (
	// inMemory is the most bytes of a partial that the leader keeps in memory, and
	// that a worker puts into a report.
	inMemory = 256 << 10
	// inManifest is the most bytes of a partial that a manifest holds. Manifests are
	// written whole, so larger ones are written once, beside it.
	inManifest = 4 << 10
)

// merge performs one merge on the pool.
func (r *reign) merge(m ledger.Merge) {
	j := r.jobs[m.Job]
	left, right := r.use(m.Left), r.use(m.Right)
	for _, p := range []partial{left, right} {
		j.spares.use(p.blob)
	}
	r.spawn(func() {
		if r.merging.Acquire(r.ctx, 1) != nil {
			return // the term is over
		}
		defer r.merging.Release(1)
		merged, err := r.mergeTwo(j, m.Node, left, right)
		switch {
		case r.ctx.Err() != nil:
		case err != nil:
			r.post(mergeFailed{m.Job, err})
		default:
			r.post(mergedIn{j, m.Node, merged, [2]string{left.blob, right.blob}})
		}
	})
}

func (r *reign) mergeTwo(j *activeJob, n jobs.Node, left, right partial) (partial, error) {
	l, err := r.load(j, left)
	if err != nil {
		return partial{}, err
	}
	h, err := r.load(j, right)
	if err != nil {
		return partial{}, err
	}
	data, err := j.job.Merge(l, h)
	if err != nil {
		return partial{}, err
	}
	return r.unload(j, n, partial{data: data, job: j.spec.ID}, inMemory)
}

// use looks up a partial whose node is in the forest.
func (r *reign) use(ref ledger.Ref) partial {
	p := r.partials[ref]
	if ref != ledger.NoRef && !p.used {
		p.used = true
		r.partials[ref] = p
	}
	return p
}

// forget lets go of a partial.
func (r *reign) forget(ref ledger.Ref) {
	p := r.partials[ref]
	delete(r.partials, ref)
	if j := r.jobs[p.job]; j != nil && p.used && p.blob != "" {
		j.spares.next = append(j.spares.next, p.blob)
	}
}

// load returns the bytes of a partial.
func (r *reign) load(j *activeJob, p partial) (data []byte, err error) {
	if p.blob == "" || p.data != nil {
		return p.data, nil
	}
	err = r.persist("read partial", func(ctx context.Context) (err error) {
		data, err = r.cfg.Store.Partial(ctx, j.spec.ID, p.blob)
		return err
	})
	return data, err
}

// unload puts the partial of a node of more than limit bytes into a blob, unless the job has
// ended: then its blobs are being removed.
func (r *reign) unload(j *activeJob, n jobs.Node, p partial, limit int) (partial, error) {
	if len(p.data) <= limit || p.blob != "" {
		return p, nil
	}
	j.unloading.RLock()
	defer j.unloading.RUnlock()
	if j.over {
		return p, nil
	}
	err := r.persist("write partial", func(ctx context.Context) (err error) {
		p.blob, err = r.cfg.Store.PutPartial(ctx, j.spec.ID, n, p.data)
		return err
	})
	j.blobs.Store(true)
	if len(p.data) > inMemory {
		p.data = nil
	}
	return p, err
}

type mergedIn struct {
	job    *activeJob
	node   jobs.Node
	merged partial
	used   [2]string // blobs
}

func (in mergedIn) on(r *reign) {
	for _, blob := range in.used {
		in.job.spares.release(blob)
	}
	r.step(ledger.Merged{Job: in.job.spec.ID, Node: in.node, Ref: r.newRef(in.merged)})
}

type mergeFailed struct {
	job string
	err error
}

func (in mergeFailed) on(r *reign) { r.step(ledger.MergeFailed{Job: in.job, Error: in.err.Error()}) }

// Waits between tries of a storage call that fails.
const (
	firstWait = 50 * time.Millisecond
	longWait  = 2 * time.Second
)

// persist tries a storage call until it succeeds, fails for another reason than
// storage being out of reach, or the term is over. An outage is logged when it
// begins and when it ends.
func (r *reign) persist(what string, call func(ctx context.Context) error) error {
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		err := call(r.ctx)
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if !errors.Is(err, store.ErrUnavailable) {
			if wait > firstWait {
				r.log.Info("Storage is back", "doing", what)
			}
			return err
		}
		if wait == firstWait {
			r.log.Warn("Storage is out of reach, trying until it is back", "doing", what, "error", err)
		}
		select {
		case <-time.After(wait):
		case <-r.ctx.Done():
		}
	}
}
