package bench

import (
	"reflect"
	"testing"
)

func TestScaleMeasuresAPointOfBothSeriesOnce(t *testing.T) {
	cfg := ScaleConfig{
		Workers: []int{1, 1000, 10}, Partitions: []uint64{1e3, 1e6, 1e3},
		FixedWorkers: 1000, FixedPartitions: 1e6, Slots: 8,
	}
	points := cfg.points()
	want := []ScalePoint{{Workers: 1, Partitions: 1e6}, {Workers: 1000, Partitions: 1e6}, {Workers: 10, Partitions: 1e6}, {Workers: 1000, Partitions: 1e3}}
	if !reflect.DeepEqual(points, want) {
		t.Errorf("points: got %v, want %v", points, want)
	}
	got := cfg.report(points)
	both := ScaleReport{
		Slots:        8,
		ByWorkers:    []ScalePoint{want[0], want[2], want[1]},
		ByPartitions: []ScalePoint{want[3], want[1]},
	}
	if !reflect.DeepEqual(got, both) {
		t.Errorf("report: got %v, want %v", got, both)
	}
}
