package term

import (
	"context"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
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

// newRef enters a partial in the table.
func (r *Reign) newRef(p partial) ledger.Ref {
	r.lastRef++
	r.partials[r.lastRef] = p
	return r.lastRef
}

// use looks up a partial whose node is in the forest.
func (r *Reign) use(ref ledger.Ref) partial {
	p := r.partials[ref]
	if ref != ledger.NoRef && !p.used {
		p.used = true
		r.partials[ref] = p
	}
	return p
}

// forget lets go of a partial.
func (r *Reign) forget(ref ledger.Ref) {
	p := r.partials[ref]
	delete(r.partials, ref)
	if j := r.jobs[p.job]; j != nil && p.used && p.blob != "" {
		j.spares.next = append(j.spares.next, p.blob)
	}
}

// load returns the bytes of a partial. It is called from tasks.
func (r *Reign) load(job string, p partial) (data []byte, err error) {
	if p.blob == "" || p.data != nil {
		return p.data, nil
	}
	err = r.persist("read partial", func(ctx context.Context) (err error) {
		data, err = r.cfg.Store.Partial(ctx, job, p.blob)
		return err
	})
	return data, err
}

// placed is a node and its partial.
type placed struct {
	node jobs.Node
	partial
}

// unload puts those partials of more than limit bytes into blobs that are in none,
// and goes on with then. A job that is ending gets no more of them: its blobs are
// removed once those under way are there.
func (r *Reign) unload(j *activeJob, list []placed, limit int, then func(err error)) {
	large := func(p placed) bool { return p.blob == "" && len(p.data) > limit }
	if !slices.ContainsFunc(list, large) || j.ending.Load() {
		then(nil)
		return
	}
	j.blobs = true
	j.unloading++
	r.spawn(func() func() {
		var err error
		for i := range list {
			if large(list[i]) && err == nil && !j.ending.Load() {
				err = r.putPartial(j.spec.ID, &list[i])
			}
		}
		return func() {
			then(err)
			j.unloading--
			r.tidyOver(j)
		}
	})
}

func (r *Reign) putPartial(job string, p *placed) error {
	err := r.persist("write partial", func(ctx context.Context) error {
		blob, err := r.cfg.Store.PutPartial(ctx, job, p.node, p.data)
		if err == nil {
			p.blob = blob
		}
		return err
	})
	if err == nil && len(p.data) > inMemory {
		p.data = nil
	}
	return err
}
