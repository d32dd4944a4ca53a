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
func (t *Term) newRef(p partial) ledger.Ref {
	t.lastRef++
	t.partials[t.lastRef] = p
	return t.lastRef
}

// use looks up a partial whose node is in the forest.
func (t *Term) use(ref ledger.Ref) partial {
	p := t.partials[ref]
	if ref != ledger.NoRef && !p.used {
		p.used = true
		t.partials[ref] = p
	}
	return p
}

// forget lets go of a partial.
func (t *Term) forget(ref ledger.Ref) {
	p := t.partials[ref]
	delete(t.partials, ref)
	if j := t.jobs[p.job]; j != nil && p.used && p.blob != "" {
		j.spares.next = append(j.spares.next, p.blob)
	}
}

// load returns the bytes of a partial. It is called from tasks.
func (t *Term) load(job string, p partial) (data []byte, err error) {
	if p.blob == "" || p.data != nil {
		return p.data, nil
	}
	err = t.persist("read partial", func(ctx context.Context) (err error) {
		data, err = t.cfg.Store.Partial(ctx, job, p.blob)
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
func (t *Term) unload(j *activeJob, list []placed, limit int, then func(err error)) {
	large := func(p placed) bool { return p.blob == "" && len(p.data) > limit }
	if !slices.ContainsFunc(list, large) || j.ending.Load() {
		then(nil)
		return
	}
	j.blobs = true
	j.unloading++
	t.spawn(func() func() {
		var err error
		for i := range list {
			if large(list[i]) && err == nil && !j.ending.Load() {
				err = t.putPartial(j.spec.ID, &list[i])
			}
		}
		return func() {
			then(err)
			j.unloading--
			t.tidyOver(j)
		}
	})
}

func (t *Term) putPartial(job string, p *placed) error {
	err := t.persist("write partial", func(ctx context.Context) error {
		blob, err := t.cfg.Store.PutPartial(ctx, job, p.node, p.data)
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
