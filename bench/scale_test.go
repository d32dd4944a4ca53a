package bench

import (
	"reflect"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestReadyWorkersBeyondTheList counts the workers of a cluster that is larger than the leader's list.
func TestReadyWorkersBeyondTheList(t *testing.T) {
	answer := client.Workers{Workers: make([]client.Worker, wire.MaxListed), More: 100}
	for i := range answer.Workers {
		answer.Workers[i].State = "idle"
	}
	answer.Workers[0].State = "silent"
	if ready, all := readyOf(answer); len(ready) != wire.MaxListed-1 || all != wire.MaxListed+99 {
		t.Errorf("got %d listed workers and %d in all, want %d and %d", len(ready), all, wire.MaxListed-1, wire.MaxListed+99)
	}
}

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
