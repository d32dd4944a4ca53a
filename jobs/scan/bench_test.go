package scan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

// BenchmarkByKey measures the minimum, mean and maximum of a column by 413 keys in one slot.
func BenchmarkByKey(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	data := []byte("station;temperature\n")
	for len(data) < 64<<20 {
		data = fmt.Appendf(data, "Station %d;%.1f\n", random.IntN(413), random.Float64()*140-50)
	}
	job := jobs.MustNew(Definition)
	params, err := job.Params(nil, "input="+write(b, "m.csv", string(data)), "delimiter=;", "by=station",
		"aggregate=min(temperature),mean(temperature),max(temperature)")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := (jobs.Local{Grant: files, Slots: 1}).Run(b.Context(), job, params); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManyKeys measures the same query by a million keys, each of which is in two records.
func BenchmarkManyKeys(b *testing.B) {
	const keys = 1_000_000
	data := []byte("key,t\n")
	for i := range 2 * keys {
		data = fmt.Appendf(data, "key%d,%.1f\n", 10*keys+i*7919%keys, float64(i%20000)/10)
	}
	job := jobs.MustNew(Definition)
	params, err := job.Params(nil, "input="+write(b, "m.csv", string(data)), "by=key",
		"aggregate=min(t),mean(t),max(t)", "limit=3", "block=4000000")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := (jobs.Local{Grant: files, Slots: 1}).Run(b.Context(), job, params); err != nil {
			b.Fatal(err)
		}
	}
}
