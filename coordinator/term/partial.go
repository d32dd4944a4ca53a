package term

import (
	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// partial refers to the bytes of a node's partial: in memory, in a blob, or in both.
type partial struct {
	data []byte
	blob string
	size uint64 // size in bytes of a partial that is in a blob; 0 if an earlier version wrote the manifest or the report

	job      string // ID of the node's job, or of its round
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
	if j := t.active(p.job); j != nil && p.inForest && p.blob != "" {
		j.blobs.gc.dropped = append(j.blobs.gc.dropped, p.blob)
	}
}

// bytes returns the size of a partial in bytes, or 0 if the size is not known.
func (p partial) bytes() uint64 { return max(p.size, uint64(len(p.data))) }

// noteSize records the size in bytes of a partial of the job.
func (j *activeJob) noteSize(size uint64) { j.largest = max(j.largest, size) }

// operandSize returns the size of an operand in a blob. If the size is not known, operandSize
// returns the size of the job's largest partial, so that the worker reserves enough memory.
func (t *Term) operandSize(p partial) uint64 {
	if j := t.active(p.job); j != nil && p.size == 0 {
		return j.largest
	}
	return p.size
}

// stored reports whether the bytes of a partial are in storage but not in memory.
func (p partial) stored() bool { return p.blob != "" && p.data == nil }

// needsBlob reports whether a partial that may have up to limit bytes outside a blob must be written
// into a blob.
func (p partial) needsBlob(limit int) bool { return p.blob == "" && len(p.data) > limit }

// nodePartial is a node with its partial.
type nodePartial struct {
	node engine.Node
	partial
	written bool // putPartial has written the partial into a blob
}
