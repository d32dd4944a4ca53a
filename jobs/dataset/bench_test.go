package dataset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

type stats struct {
	Count    int64
	Min, Max float64
	Sum      float64
}

// byKey is a job that computes the minimum, mean and maximum of column 1 for each value of column
// 0.
var byKey = Job[Input, map[string]*stats, map[string]*stats]{
	Name: "by-key", Version: "1", Summary: "statistics by key", Defaults: Defaults(),
	Columns: func(Input) []string { return []string{"station", "temperature"} },
	Start:   func() map[string]*stats { return map[string]*stats{} },
	Fold: func(acc *map[string]*stats, r *Record) error {
		t, err := r.Float(1)
		if err != nil {
			return err
		}
		key := r.Field(0)
		s := (*acc)[string(key)]
		if s == nil {
			s = &stats{Min: t, Max: t}
			(*acc)[string(key)] = s
		}
		s.Count++
		s.Sum += t
		s.Min, s.Max = min(s.Min, t), max(s.Max, t)
		return nil
	},
	Merge: func(left, right map[string]*stats) (map[string]*stats, error) {
		for key, r := range right {
			l := left[key]
			if l == nil {
				left[key] = r
				continue
			}
			l.Count += r.Count
			l.Sum += r.Sum
			l.Min, l.Max = min(l.Min, r.Min), max(l.Max, r.Max)
		}
		return left, nil
	},
	Finish: func(_ context.Context, _ Input, acc map[string]*stats, _ Totals) (map[string]*stats, error) {
		return acc, nil
	},
}

// measurements returns about size bytes of rows with 413 keys. If n is not 0, every n-th key is
// quoted.
func measurements(size, n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	b := []byte("station;temperature\n")
	for row := 1; len(b) < size; row++ {
		key := fmt.Sprintf("Station %d", random.IntN(413))
		if n > 0 && row%n == 0 {
			key = `"` + key + `"`
		}
		b = fmt.Appendf(b, "%s;%.1f\n", key, random.Float64()*140-50)
	}
	return b
}

func BenchmarkByKey(b *testing.B) {
	for _, bench := range []struct {
		name   string
		quoted int
	}{{"plain", 0}, {"one key in 1000 quoted", 1000}, {"all keys quoted", 1}} {
		b.Run(bench.name, func(b *testing.B) {
			from := new(memory.Driver)
			data := measurements(64<<20, bench.quoted)
			from.Put("mem://m.csv", data)
			in := Defaults()
			in.Source, in.Delimiter = "mem://m.csv", ";"
			job := jobs.MustNew(defineOn(byKey, from))
			params, err := job.EncodeParams(in)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := (jobs.Local{Slots: 1}).Run(context.Background(), job, params); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
