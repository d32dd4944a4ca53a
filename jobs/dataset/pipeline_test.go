package dataset

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// collect is a job that collects all records in the order of the input.
var collect = Job[Input, []string, []string]{
	Name: "collect", Version: "1", Summary: "all records", Defaults: Defaults(),
	Open: func(_ Input, columns []string) (func(acc *[]string, r *Record) error, error) {
		return func(acc *[]string, r *Record) error {
			var fields []string
			for i := range max(1, len(columns)) {
				fields = append(fields, string(r.Field(i)))
			}
			*acc = append(*acc, strings.Join(fields, "|"))
			return nil
		}, nil
	},
	Merge:  func(left, right []string) ([]string, error) { return append(left, right...), nil },
	Finish: func(_ context.Context, _ Input, acc []string, _ Totals) ([]string, error) { return acc, nil },
}

// merged plans and maps a job and merges its partials in a random tree. Random partials are encoded
// and decoded, as in a cluster.
func merged[A, R any](t testing.TB, j Job[Input, A, R], from *memory.Driver, in Input, random *rand.Rand) (R, error) {
	t.Helper()
	var none R
	d := defineOn(j, from)
	plan, err := d.Plan(t.Context(), in)
	if err != nil {
		return none, err
	}
	m, err := d.Open(t.Context(), in, plan)
	if err != nil {
		return none, err
	}
	mapOne := m.(jobs.Forker[Partial[A]]).Fork()
	list := make([]Partial[A], plan.Partitions)
	for i := range list {
		if list[i], err = mapOne(t.Context(), uint64(i)); err != nil {
			return none, err
		}
	}
	for len(list) > 1 {
		i := random.IntN(len(list) - 1)
		both, err := d.Merge(recoded(t, list[i], random), recoded(t, list[i+1], random))
		if err != nil {
			return none, err
		}
		list[i] = both
		list = append(list[:i+1], list[i+2:]...)
	}
	return d.Finish(t.Context(), in, recoded(t, list[0], random))
}

var (
	encoding, _ = cbor.CoreDetEncOptions().EncMode()
	decoding, _ = cbor.DecOptions{MaxArrayElements: 1 << 24}.DecMode()
)

// recoded encodes and decodes every other partial.
func recoded[A any](t testing.TB, p Partial[A], random *rand.Rand) Partial[A] {
	if random.IntN(2) == 0 {
		return p
	}
	data, err := encoding.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var again Partial[A]
	if err := decoding.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	twice, err := encoding.Marshal(again)
	if err != nil || !bytes.Equal(data, twice) {
		t.Fatalf("partial %x is encoded again as %x, %v", data, twice, err)
	}
	return again
}
