package dataset

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// watched is a source that records the ranges that were requested and are not closed.
type watched struct {
	memory.Driver
	mu       sync.Mutex
	open     int
	requests []segment
	changed  sync.Cond
}

func (w *watched) Read(ctx context.Context, o source.Object, from, to int64) (io.ReadCloser, error) {
	body, err := w.Driver.Read(ctx, o, from, to)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	w.requests = append(w.requests, segment{o, from, to})
	w.changed.Broadcast()
	return &watchedBody{body, w}, err
}

type watchedBody struct {
	io.ReadCloser
	of *watched
}

func (b *watchedBody) Close() error {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.of.open--
	return b.ReadCloser.Close()
}

// TestReadAhead checks that a slot requests its next partition while it computes a partition, that
// each segment is requested once, and that no request remains open after Close.
func TestReadAhead(t *testing.T) {
	w := &watched{}
	w.changed.L = &w.mu
	row := strings.Repeat("x", 1<<10-1) + "\n"
	const objects, size = 6, 3 << 20 // one object is larger than the pieces that a transfer reads in advance
	for i := range objects {
		w.Put(fmt.Sprintf("mem://%d.txt", i), []byte(strings.Repeat(row, size>>10)))
	}
	begun := 0
	count := Job[Input, int, int]{
		Name: "count", Version: "1", Summary: "number of records", Defaults: Defaults(),
		Fold: func(acc *int, r *Record) error {
			*acc++
			if r.Offset() > 0 {
				return nil
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			for begun++; len(w.requests) < min(objects, begun+1); {
				w.changed.Wait()
			}
			return nil
		},
		Merge:  func(left, right int) (int, error) { return left + right, nil },
		Finish: func(_ context.Context, _ Input, acc int, _ Totals) (int, error) { return acc, nil },
	}
	d := defineOn(count, w)
	in := Defaults()
	in.Source, in.Block = "mem://", size
	plan, err := d.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Open(t.Context(), in, plan)
	if err != nil {
		t.Fatal(err)
	}
	mapOne := m.(jobs.Forker[Partial[int]]).Fork()
	for i := range plan.Partitions {
		p, err := mapOne(t.Context(), i)
		if err != nil || p.Readings[0].Records != size>>10 {
			t.Fatalf("partition %d: %+v, %v", i, p.Readings, err)
		}
	}
	if len(w.requests) != objects {
		t.Errorf("got %d requests, want %d", len(w.requests), objects)
	}
	if err := m.(io.Closer).Close(); err != nil || w.open != 0 {
		t.Errorf("close: %v, %d requests are open, want none", err, w.open)
	}
}

// TestReadAheadInAnyOrder checks that the partials of a job do not depend on the order in which
// slots run partitions, and that Close ends transfers that no slot has used.
func TestReadAheadInAnyOrder(t *testing.T) {
	w := &watched{}
	w.changed.L = &w.mu
	w.Put("mem://0.txt", []byte(strings.Repeat(strings.Repeat("some text ", 10)+"\n", 40_000)))
	w.Put("mem://1.txt", []byte("a\nb"))
	d := defineOn(collect, w)
	in := Defaults()
	in.Source, in.Block = "mem://", 300_000
	plan, err := d.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Open(t.Context(), in, plan)
	if err != nil {
		t.Fatal(err)
	}
	forker := m.(jobs.Forker[Partial[[]string]])
	slots := []func(context.Context, uint64) (Partial[[]string], error){forker.Fork(), forker.Fork(), forker.Fork()}
	random := rand.New(rand.NewPCG(1, 2))
	want := map[uint64]uint64{}
	for n := range 100 {
		i := random.Uint64N(plan.Partitions - 1) // the last partition is read in advance at most
		p, err := slots[random.IntN(len(slots))](t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Readings[0].Records; n > 0 && want[i] > 0 && got != want[i] {
			t.Errorf("partition %d has %d records, had %d", i, got, want[i])
		}
		want[i] = p.Readings[0].Records
	}
	if err := m.(io.Closer).Close(); err != nil || w.open != 0 {
		t.Errorf("close: %v, %d requests are open, want none", err, w.open)
	}
}
