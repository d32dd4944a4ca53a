package jetstream_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// BenchmarkSwap measures the compare-and-swap of a checkpoint, including the sync to disk.
func BenchmarkSwap(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 4 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			d := open(b, connect(b), jetstream.Config{})
			value := make([]byte, size)
			version, err := d.Put(b.Context(), "key", value, store.IfAbsent)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			each(b, func() {
				if version, err = d.Put(b.Context(), "key", value, store.IfVersion(version)); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkGet(b *testing.B) {
	for _, size := range []int{1 << 10, 4 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			d := open(b, connect(b), jetstream.Config{})
			if _, err := d.Put(b.Context(), "key", make([]byte, size), store.IfAbsent); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			each(b, func() {
				if _, _, err := d.Get(b.Context(), "key"); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkCreateAndDelete(b *testing.B) {
	d := open(b, connect(b), jetstream.Config{})
	each(b, func() {
		if _, err := d.Put(b.Context(), "key", nil, store.IfAbsent); err != nil {
			b.Fatal(err)
		}
		if err := d.Delete(b.Context(), "key"); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkMessage measures a message that is sent, received, extended and deleted.
func BenchmarkMessage(b *testing.B) {
	d := open(b, connect(b), jetstream.Config{})
	each(b, func() {
		if err := d.Send(b.Context(), []byte("x")); err != nil {
			b.Fatal(err)
		}
		m, err := d.Receive(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Extend(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := m.Delete(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}

// each reports the median and the 99th percentile in addition to the mean, because a few slow syncs
// of the disk distort the mean.
func each(b *testing.B, do func()) {
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		do()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
