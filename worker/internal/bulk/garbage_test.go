package bulk_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestFetchCollectsGarbage fetches a partial while the heap's size alone does not start the garbage
// collector.
func TestFetchCollectsGarbage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	s := &source{data: make([]byte, 66<<20)}
	client := clients["far"](serve(t, s))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := fetch(t.Context(), client, subject, "job", len(s.data), wire.Checksum(s.data)); err != nil {
		t.Fatal(err)
	}
	if runtime.ReadMemStats(&after); after.NumGC == before.NumGC {
		t.Error("the memory of the received messages was not freed")
	}
}
