package dataset

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// TestDeepMembers checks that the memory for a nested member grows with its depth only.
func TestDeepMembers(t *testing.T) {
	const depth = 5000
	path := strings.TrimSuffix(strings.Repeat("a.", depth), ".")
	r, err := newLayout(Input{}, ndjson, nil, []string{path, "a"}, nil).newRecord()
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Repeat(`{"a":`, depth) + "7" + strings.Repeat("}", depth))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if ok, err := r.parse(text); !ok || err != nil || string(r.Field(0)) != "7" || len(r.Field(1)) != len(text)-6 {
		t.Errorf("got %v, %v, %q and %d bytes, want the value", ok, err, r.Field(0), len(r.Field(1)))
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
		t.Errorf("got %d bytes of memory for a record of %d bytes", used, len(text))
	}
}

// TestStop checks that a partition ends when its context ends, although the rest of its text is in memory.
func TestStop(t *testing.T) {
	const records = 100_000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	folded := 0
	job := collect
	job.Open = func(Input, []string) (func(*[]string, *Record) error, error) {
		return func(*[]string, *Record) error {
			folded++
			cancel()
			time.Sleep(time.Millisecond) // lets the goroutine that stops the reading run
			return nil
		}, nil
	}
	from := new(memory.Driver)
	from.Put("mem://a.txt", []byte(strings.Repeat("\n", records)))
	in := Defaults()
	in.Source = "mem://a.txt"
	d := defineOn(job, from)
	plan, err := d.Plan(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Open(ctx, in, plan)
	if err != nil {
		t.Fatal(err)
	}
	defer m.(interface{ Close() error }).Close()
	if _, err = m.Map(ctx, 0); !errors.Is(err, context.Canceled) || folded >= records {
		t.Errorf("got %v after %d records, want an early end", err, folded)
	}
}
