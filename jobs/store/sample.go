package store

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Sample is the progress of a job at one checkpoint.
type Sample struct {
	At       time.Duration `cbor:"1,keyasint"` // time since the job began
	Epoch    uint64        `cbor:"2,keyasint"` // epoch of the leader
	Done     uint64        `cbor:"3,keyasint"` // number of finished partitions, in all rounds
	Executed uint64        `cbor:"4,keyasint,omitempty"`
	Failing  uint64        `cbor:"5,keyasint,omitempty"` // number of partitions that have failed and are not done, including skipped partitions
	Workers  int           `cbor:"6,keyasint,omitempty"` // number of workers that have reported
	Cells    []byte        `cbor:"7,keyasint,omitempty"` // finished share of each cell of SampleCells, from 0 to 255, rounded down
}

const (
	maxSampleCells = 64
	// maxSamples is the maximum number of samples in a manifest, not counting the newest sample. All samples
	// together take about 5 kB.
	maxSamples = 64
)

// SampleCells returns the number of cells in a sample and the number of partitions per cell. A cell
// is a range of the job's partitions, and all cells have the same size. The last cell may have
// fewer partitions.
func SampleCells(partitions uint64) (cells int, size uint64) {
	if partitions == 0 {
		return 0, 0
	}
	size = (partitions-1)/maxSampleCells + 1
	return int((partitions-1)/size + 1), size
}

// AddSample adds a sample of the current progress to the manifest. The parameter at is the time
// since the job began. AddSample removes some of the earlier samples, so that their number stays
// bounded for jobs of any duration.
func (m *Manifest) AddSample(at time.Duration) {
	s := Sample{At: at, Epoch: m.Epoch, Executed: m.Executed, Failing: uint64(len(m.Attempts) + len(m.Skipped)), Workers: len(m.Workers)}
	s.Done, s.Cells = m.finishedCells()
	s.Done += m.Earlier()
	// The job's time is divided into intervals, and the first sample of each interval is kept. If
	// an interval is too short, its length is doubled. Borders of long intervals are also borders
	// of shorter intervals.
	interval := time.Millisecond
	for interval*maxSamples < at {
		interval *= 2
	}
	var kept []Sample // a new array, because earlier manifests share the array of m.Samples
	for i, old := range m.Samples {
		if old.At < at && (i == 0 || old.At/interval > kept[len(kept)-1].At/interval) {
			kept = append(kept, old)
		}
	}
	m.Samples = append(kept, s)
}

// finishedCells returns the number of finished partitions, and the finished share of each cell.
func (m *Manifest) finishedCells() (done uint64, shares []byte) {
	tree, err := engine.NewTree(m.Partitions)
	if err != nil {
		return 0, nil // the job is not planned yet
	}
	cells, size := SampleCells(m.Partitions)
	finished := make([]uint64, cells)
	add := func(span engine.Span) {
		span.Hi = min(span.Hi, m.Partitions)
		done += span.Len()
		for lo := span.Lo; lo < span.Hi; {
			cell := lo / size
			hi := min(span.Hi, (cell+1)*size)
			finished[cell] += hi - lo
			lo = hi
		}
	}
	if m.State == Completed || m.Rounds != nil && m.Rounds.Last { // a final manifest contains the nodes of the previous checkpoint
		add(engine.Span{Hi: m.Needed()})
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
