package engine

import (
	"reflect"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	var d Durations
	d.Add(Span{0, 0}, time.Second, "w")
	d.Add(Span{0, 1}, 0, "w")
	if d.Counts != nil || d.Slowest != nil {
		t.Errorf("nothing was measured: got %+v", d)
	}
	d.Add(Span{0, 10}, 50*time.Microsecond, "w1")  // 5 µs each
	d.Add(Span{10, 12}, 30*time.Microsecond, "w1") // 15 µs each
	d.Add(Span{20, 21}, 40*time.Microsecond, "w2")
	copied := d.Clone()
	if want := []uint64{10, 2, 0, 1}; !reflect.DeepEqual(d.Counts, want) {
		t.Errorf("counts: got %v, want %v", d.Counts, want)
	}
	want := []SlowPartition{{20, 21, 40 * time.Microsecond, "w2"}, {10, 12, 15 * time.Microsecond, "w1"}, {0, 10, 5 * time.Microsecond, "w1"}}
	if !reflect.DeepEqual(d.Slowest, want) {
		t.Errorf("slowest: got %v, want %v", d.Slowest, want)
	}
	for i := range uint64(20) {
		d.Add(Span{i, i + 1}, time.Duration(i+1)*1000*time.Hour, "w3")
	}
	if len(d.Slowest) != MaxSlowest || d.Slowest[0].Lo != 19 || d.Slowest[4].Lo != 15 {
		t.Errorf("slowest: got %v", d.Slowest)
	}
	if len(d.Counts) != DurationBuckets || d.Counts[DurationBuckets-1] == 0 {
		t.Errorf("the last bucket has no upper end: got %v", d.Counts)
	}
	if !reflect.DeepEqual(copied.Slowest, want) || len(copied.Counts) != 4 {
		t.Errorf("the copy has changed: got %+v", copied)
	}
}
