package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

func TestConfigsAreChecked(t *testing.T) {
	some := procs.New(procs.Config{})
	defer some.Stop(0, nil)
	failover := FailoverConfig{Workers: 2, Flock: some, How: Kill, Failovers: 1, Watch: time.Second}
	overhead := OverheadConfig{Flock: some, Workers: 1, Partitions: []uint64{1}, Work: time.Second, Rounds: 1}
	throughput := ThroughputConfig{Workers: 1, Partitions: 1, Rounds: 1, AtOnce: []int{1}, Jobs: 1, Small: 1}
	scale := ScaleConfig{StartLeader: func(string) (func(), error) { return nil, nil }, Workers: []int{1}, Slots: 1, Lasts: time.Second, FixedPartitions: 1}
	for _, c := range []struct {
		want  string
		check func() error
	}{
		{"", failover.validate},
		{"", overhead.validate},
		{"", throughput.validate},
		{"", scale.validate},
		{"Viewers 33: want 0 to 32", func() error { c := scale; c.Viewers = 33; return c.validate() }},
		{"Workers 1: want at least 2", func() error { c := failover; c.Workers = 1; return c.validate() }},
		{"want 1 to 1000", func() error { c := failover; c.Failovers = 0; return c.validate() }},
		{"1s to 10m0s", func() error { c := failover; c.Watch = 0; return c.validate() }},
		{"want 1 to 1000", func() error { c := failover; c.Failovers = 1e9; return c.validate() }},
		{"1s to 10m0s", func() error { c := failover; c.Watch = time.Hour; return c.validate() }},
		{`How "hug": want kill`, func() error { c := failover; c.How = "hug"; return c.validate() }},
		{"want step-down without a Flock", func() error { c := failover; c.Flock = nil; return c.validate() }},
		{"want step-down without a Flock", func() error { c := failover; c.How = StepDown; return c.validate() }},
		{"Flock: want", func() error { c := overhead; c.Flock = nil; return c.validate() }},
		{"Rounds 0: want at least 1", func() error { c := overhead; c.Rounds = 0; return c.validate() }},
		{"Work 1ns: want at least 100ms", func() error { c := overhead; c.Work = 1; return c.validate() }},
		{"Partitions: want at least one", func() error { c := overhead; c.Partitions = nil; return c.validate() }},
		{"Workers 0: want at least 1", func() error { c := throughput; c.Workers = 0; return c.validate() }},
		{"Partitions 0: want at least 1", func() error { c := throughput; c.Partitions = 0; return c.validate() }},
		{"Jobs 0: want at least 1", func() error { c := throughput; c.Jobs = 0; return c.validate() }},
		{"AtOnce [0]: want at least 1 each", func() error { c := throughput; c.AtOnce = []int{0}; return c.validate() }},
		{"StartLeader: want a function", func() error { c := scale; c.StartLeader = nil; return c.validate() }},
		{"Slots 5000: want 1 to 1000", func() error { c := scale; c.Slots = 5000; return c.validate() }},
		{"1s", func() error { c := scale; c.Lasts = 0; return c.validate() }},
		{"Workers 0: want at least 1", func() error { c := scale; c.Workers = []int{0}; return c.validate() }},
	} {
		switch err := c.check(); {
		case c.want == "" && err != nil:
			t.Errorf("a valid one: %v", err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
}
