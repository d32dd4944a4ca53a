package kept

import (
	"runtime"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// BenchmarkOpenMillion reads the indexes of a million kept partials and looks for each of them. The metric
// MB is the memory that the index takes.
func BenchmarkOpenMillion(b *testing.B) {
	const n = 1_000_000
	blobs, keys := memory.NewBlobs(), make([]engine.Key, n)
	p, err := Open(b.Context(), Config{Blobs: blobs, Family: family})
	if err != nil {
		b.Fatal(err)
	}
	for i := range keys {
		keys[i] = keyOf(i)
		p.Keep(b.Context(), keys[i], engine.KeptPartial{Data: keys[i][:16], Partitions: 1, Work: time.Millisecond})
	}
	p.Close(b.Context())
	p = nil
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if p, err = Open(b.Context(), Config{Blobs: blobs, Family: family}); err != nil {
			b.Fatal(err)
		}
		for _, key := range keys {
			if !p.Has(key) {
				b.Fatal("a partial was not found")
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e6, "MB")
	runtime.KeepAlive(p)
	runtime.KeepAlive(keys) // otherwise the index seems to be smaller by their size
}
