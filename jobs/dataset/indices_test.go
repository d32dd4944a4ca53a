package dataset

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// TestPlanOfManyObjects checks that a plan may list more objects than an array of CBOR may have elements.
func TestPlanOfManyObjects(t *testing.T) {
	const objects = 200_000
	var l listing
	data := planData{Format: csv, Headers: [][]string{{"a"}, {"b"}}}
	for i := range objects {
		l = append(l, source.Object{Name: fmt.Sprintf("mem://%06d.csv.gz", i), Size: 1})
		data.Bgzip, data.HeaderOf = append(data.Bgzip, uint64(i)), append(data.HeaderOf, uint64(i%2))
	}
	data.Listing = l.encode()
	encoded, err := cbor.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	got, list, err := decodePlan(jobs.Plan{Data: encoded})
	if err != nil || !slices.Equal(got.Bgzip, data.Bgzip) || !slices.Equal(got.HeaderOf, data.HeaderOf) || len(list) != objects {
		t.Errorf("got %d, %d and %d objects, %v", len(got.Bgzip), len(got.HeaderOf), len(list), err)
	}
	if encoded, err = cbor.Marshal(planData{Format: csv}); err != nil {
		t.Fatal(err)
	}
	var fields map[int]any
	if err := cbor.Unmarshal(encoded, &fields); err != nil || len(fields) != 3 {
		t.Errorf("the plan of a job without these lists has the fields %v, %v, want 3", fields, err)
	}
	for _, damaged := range [][]byte{{0x80}, {1, 0xff}} {
		if err := new(indexList).UnmarshalBinary(damaged); err == nil {
			t.Errorf("%x: got no error", damaged)
		}
	}
}
