package store

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// TestSamplesAreBounded adds a sample for each second of a month.
func TestSamplesAreBounded(t *testing.T) {
	m := Manifest{Epoch: 7, State: Running, Partitions: engine.MaxPartitions, Nodes: []StoredNode{{Node: engine.Node{Level: 60}}}}
	for at := time.Second; at < 31*24*time.Hour; at = at*1001/1000 + time.Second {
		m.AddSample(at)
		n := len(m.Samples)
		if n > maxSamples+2 || m.Samples[n-1].At != at {
			t.Fatalf("%d samples at %v, the last at %v: want at most %d, the last at that time", n, at, m.Samples[n-1].At, maxSamples+2)
		}
		for i := range m.Samples[:n-1] {
			if gap := m.Samples[i+1].At - m.Samples[i].At; gap <= 0 || gap > 4*at/maxSamples+2*time.Second {
				t.Fatalf("at %v, two samples are %v apart", at, gap)
			}
		}
	}
	if size := len(encodeManifest(m)); size > 7_000 {
		t.Errorf("the manifest has %d bytes, want at most 7,000", size)
	}
}

func TestSampleOfNodes(t *testing.T) {
	m := Manifest{Partitions: 100, Nodes: []StoredNode{{Node: engine.Node{Level: 2}}, {Node: engine.Leaf(5)}, {Node: engine.Leaf(99)}}}
	before := m.Samples
	m.AddSample(time.Second)
	s := m.Samples[0]
	want := make([]byte, 50) // each cell has two partitions
	want[0], want[1], want[2], want[49] = 255, 255, 127, 127
	if s.Done != 6 || !bytes.Equal(s.Cells, want) || len(before) != 0 {
		t.Errorf("got %d done, cells %v, want 6 done, cells %v", s.Done, s.Cells, want)
	}
	m.State = Completed
	m.AddSample(2 * time.Second)
	if s := m.Samples[1]; s.Done != 100 || slices.Min(s.Cells) != 255 {
		t.Errorf("completed: got %d done, cells %v, want all", s.Done, s.Cells)
	}
	for n, want := range map[uint64]int{0: 0, 1: 1, 64: 64, 65: 33, 1000: 63, engine.MaxPartitions: 64} {
		if cells, size := SampleCells(n); cells != want || n > 0 && (uint64(cells-1)*size >= n || uint64(cells)*size < n) {
			t.Errorf("%d partitions: got %d cells of %d, want %d cells", n, cells, size, want)
		}
	}
}
