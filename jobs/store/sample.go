package store

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Sample is the progress of a job at one checkpoint.
type Sample struct {
	At       time.Duration `cbor:"1,keyasint"` // since the job began
	Epoch    uint64        `cbor:"2,keyasint"` // epoch of the leader
	Done     uint64        `cbor:"3,keyasint"` // finished partitions
	Executed uint64        `cbor:"4,keyasint,omitempty"`
	Failing  uint64        `cbor:"5,keyasint,omitempty"` // partitions that failed and are not done, and skipped ones
	Workers  int           `cbor:"6,keyasint,omitempty"` // workers that the manifest names
	Cells    []byte        `cbor:"7,keyasint,omitempty"` // the finished share of each cell, in 255ths, rounded down: see SampleCells
}

const (
	maxSampleCells = 64
	// maxSamples bounds the samples of a manifest before the newest, so that all take about
	// 5 kB.
	maxSamples = 64
)

// SampleCells returns the number of cells in a sample of a job, and how many partitions
// each has. The last cell may have fewer.
func SampleCells(partitions uint64) (cells int, size uint64) {
	if partitions == 0 {
		return 0, 0
	}
	size = (partitions-1)/maxSampleCells + 1
	return int((partitions-1)/size + 1), size
}

// AddSample adds the progress of the manifest's nodes at a moment of the job. Earlier
// samples are thinned out, so that their number stays bounded however long the job runs.
func (m *Manifest) AddSample(at time.Duration) {
	s := Sample{At: at, Epoch: m.Epoch, Executed: m.Executed, Failing: uint64(len(m.Attempts) + len(m.Skipped)), Workers: len(m.Workers)}
	s.Done, s.Cells = m.finishedCells()
	// Of each interval, the first sample is kept. The length of the intervals is a power of
	// two, so that an interval of the next length begins where an interval of this one does.
	interval := time.Millisecond
	for interval*maxSamples < at {
		interval *= 2
	}
	var kept []Sample // the array of m.Samples belongs to earlier manifests too
	for i, old := range m.Samples {
		if old.At < at && (i == 0 || old.At/interval > kept[len(kept)-1].At/interval) {
			kept = append(kept, old)
		}
	}
	m.Samples = append(kept, s)
}

// finishedCells returns the number of finished partitions and their share of each cell.
func (m *Manifest) finishedCells() (done uint64, shares []byte) {
	tree, err := jobs.NewTree(m.Partitions)
	if err != nil {
		return 0, nil // the job is not planned
	}
	cells, size := SampleCells(m.Partitions)
	finished := make([]uint64, cells)
	add := func(span jobs.Span) {
		span.Hi = min(span.Hi, m.Partitions)
		done += span.Len()
		for lo := span.Lo; lo < span.Hi; {
			cell := lo / size
			hi := min(span.Hi, (cell+1)*size)
			finished[cell] += hi - lo
			lo = hi
		}
	}
	if m.State == Completed { // the nodes are those of the checkpoint before
		add(jobs.Span{Hi: m.Partitions})
	} else {
		for _, n := range m.Nodes {
			add(tree.Span(n.Node))
		}
	}
	shares = make([]byte, cells)
	for i, n := range finished {
		of := min(size, m.Partitions-uint64(i)*size)
		shares[i] = byte(min(1, float64(n)/float64(of)) * 255)
	}
	return done, shares
}
