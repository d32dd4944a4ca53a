package term

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// partial refers to the bytes of a node's partial: in memory, in a blob, or in both.
type partial struct {
	data []byte
	blob string
	size uint64 // size in bytes of a partial that is in a blob; 0 if an earlier version wrote the manifest or the report

	job      string // ID of the node's job
	inForest bool   // true if the node is, or was, in the ledger's forest
}

const (
	// maxInMemory is the largest size in bytes of a partial in the leader's memory, and of a
	// partial in a worker's report.
	maxInMemory = 256 << 10
	// maxInManifest is the maximum size in bytes of a partial in a manifest. A larger partial goes
	// into a blob, which is written only once, because each checkpoint writes the whole manifest.
	maxInManifest = 4 << 10
)

// partialTable contains the partials to which the ledger refers.
type partialTable struct {
	byRef map[ledger.Ref]*partial
	last  ledger.Ref
}

func (p *partialTable) add(added partial) ledger.Ref {
	p.last++
	p.byRef[p.last] = &added
	return p.last
}

// get returns a partial, or the zero partial if the table has none for ref.
func (p *partialTable) get(ref ledger.Ref) partial {
	if found := p.byRef[ref]; found != nil {
		return *found
	}
	return partial{}
}

// use returns a partial like get, and records that the partial's node is in the forest.
func (p *partialTable) use(ref ledger.Ref) partial {
	used := p.byRef[ref]
	if used == nil {
		return partial{}
	}
	used.inForest = true
	return *used
}

// dropPartial removes a partial to which the ledger will not refer again. The dropped partial's
// blob is deleted later.
func (t *Term) dropPartial(ref ledger.Ref) {
	p := t.partials.get(ref)
	delete(t.partials.byRef, ref)
	if j := t.jobs.active[p.job]; j != nil && p.inForest && p.blob != "" {
		j.blobs.gc.afterNext = append(j.blobs.gc.afterNext, p.blob)
	}
}

// bytes returns the size of a partial in bytes, or 0 if the size is not known.
func (p partial) bytes() uint64 { return max(p.size, uint64(len(p.data))) }

// noteSize records the size in bytes of a partial of the job.
func (j *activeJob) noteSize(size uint64) { j.largest = max(j.largest, size) }

// operandSize returns the size of an operand in a blob. If the size is not known, operandSize
// returns the size of the job's largest partial, so that the worker reserves enough memory.
func (t *Term) operandSize(p partial) uint64 {
	if j := t.jobs.active[p.job]; j != nil && p.size == 0 {
		return j.largest
	}
	return p.size
}

// stored reports whether the bytes of a partial are in storage but not in memory.
func (p partial) stored() bool { return p.blob != "" && p.data == nil }

// read returns the bytes of a partial. If the partial's bytes are lost or damaged, read returns a
// *jobFault.
func (t *Term) read(job string, p partial) (data []byte, err error) {
	if !p.stored() {
		return p.data, nil
	}
	err = t.retry("read partial", func(ctx context.Context) (err error) {
		data, err = t.cfg.Store.Partial(ctx, job, p.blob)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		err = &jobFault{err}
	}
	return data, err
}

// nodePartial is a node with its partial.
type nodePartial struct {
	node jobs.Node
	partial
}

// writeBlobs writes each partial larger than limit bytes that has no blob into a blob, and then
// calls then. If the job is ending, writeBlobs writes nothing, because the job's blobs are removed
// as soon as all writers have returned.
func (t *Term) writeBlobs(j *activeJob, list []nodePartial, limit int, then func(err error)) {
	large := func(p nodePartial) bool { return p.blob == "" && len(p.data) > limit }
	if !slices.ContainsFunc(list, large) || j.ending.Load() {
		then(nil)
		return
	}
	j.blobs.exist = true
	j.blobs.writers++
	t.spawn(func() func() {
		var err error
		for i := range list {
			if large(list[i]) && err == nil && !j.ending.Load() {
				err = t.putPartial(j, &list[i])
			}
		}
		return func() {
			then(err)
			j.blobs.writers--
			t.cleanUpEnded(j)
		}
	})
}

// putPartial writes a partial into a blob and drops a large partial's bytes from memory. If the
// partial is too large for storage, putPartial returns a *jobFault. If the job is ending,
// putPartial does not retry while storage is unavailable, because storage may be full until the job
// has ended.
func (t *Term) putPartial(j *activeJob, p *nodePartial) error {
	err := t.retry("write partial", func(ctx context.Context) error {
		blob, err := t.cfg.Store.PutPartial(ctx, j.spec.ID, p.node, p.data)
		switch {
		case err == nil:
			p.blob, p.size = blob, uint64(len(p.data))
		case errors.Is(err, store.ErrUnavailable) && j.ending.Load():
			return nil
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrTooLarge):
		return &jobFault{fmt.Errorf("write the partial of node %v: %w", p.node, err)}
	case p.blob != "" && len(p.data) > maxInMemory:
		p.data = nil
	}
	return err
}
