package ledger

import (
	"math/rand/v2"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// TestRetriedPartitionsAreBounded adds many partitions, and expects few small spans that contain
// all of them.
func TestRetriedPartitionsAreBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var r retriedPartitions
	for range 10_000 {
		p := random.Uint64N(engine.MaxPartitions)
		r.add(single(p))
		if len(r.set.spans) > maxRetried {
			t.Fatalf("%d spans, want at most %d", len(r.set.spans), maxRetried)
		}
		if r.set.prefix(single(p)).Empty() {
			t.Fatalf("partition %d is missing", p)
		}
	}
	var few retriedPartitions
	for p := range uint64(maxRetried) {
		few.add(single(2 * p))
	}
	if few.set.size != maxRetried {
		t.Errorf("%d partitions, want %d", few.set.size, maxRetried)
	}
}
