package executor

import (
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestConfig(t *testing.T) {
	good := Config{Subjects: subjects(t), ID: "w-1", Jobs: []jobs.Job{sum("sum", nil)}, Logger: slog.New(slog.DiscardHandler)}
	got := good.withDefaults()
	if err := got.validate(); err != nil || got.Slots != runtime.GOMAXPROCS(0) || got.DrainTimeout != 20*time.Second {
		t.Errorf("defaults: got %+v, %v", got, got.validate())
	}
	for want, spoil := range map[string]func(*Config){
		"Subjects: want":             func(c *Config) { c.Subjects = wire.Subjects{} },
		`ID "W 1"`:                   func(c *Config) { c.ID = "W 1" },
		"Slots -1":                   func(c *Config) { c.Slots = -1 },
		"Slots 5000":                 func(c *Config) { c.Slots = 5000 },
		"DrainTimeout 10ms: ":        func(c *Config) { c.DrainTimeout = 10 * time.Millisecond },
		"Logger: want":               func(c *Config) { c.Logger = nil },
		"Jobs: want 1 to 256, got 0": func(c *Config) { c.Jobs = nil },
		"got 257":                    func(c *Config) { c.Jobs = make([]jobs.Job, 257) },
		"made by jobs.New":           func(c *Config) { c.Jobs = []jobs.Job{{}} },
		"sum version 1 once":         func(c *Config) { c.Jobs = append(c.Jobs, sum("sum", nil)) },
	} {
		c := good
		spoil(&c)
		if _, err := New(&nats.Conn{}, noStore{t}, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error about %s", err, want)
		}
	}
	if _, err := New(nil, noStore{t}, good); err == nil {
		t.Error("a worker without a connection was made")
	}
	if _, err := New(&nats.Conn{}, nil, good); err == nil {
		t.Error("a worker without a store was made")
	}
}

func TestNextClaimAimsAtItsTarget(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		last, ran uint64
		took      time.Duration
		want      uint64
	}{
		{1, 1, 0, 8},             // the claim is too fast to measure
		{100, 100, ms, 100},      // the claim takes the target time
		{100, 100, ms / 2, 200},  // the claim takes half the target time
		{100, 100, ms / 50, 800}, // the size grows gradually
		{100, 100, 10 * ms, 10},  // the claim takes ten times the target time
		{100, 100, time.Hour, 1}, // the size is at least one
		{1, 0, 0, 1},             // the claim was stopped before its first partition
		{100, 50, ms, 50},        // the claim was stopped at half, after the target time
		{1 << 30, 1 << 30, 1, 1 << 30},
	} {
		if got := nextClaim(c.last, c.ran, c.took, ms); got != c.want {
			t.Errorf("after %d of %d in %v: got %d, want %d", c.ran, c.last, c.took, got, c.want)
		}
	}
}

func TestFailureTextIsBounded(t *testing.T) {
	f := failure(7, errors.New("\xff"+strings.Repeat("ü", wire.MaxErrorText)))
	report := wire.Report{Epoch: 1, Worker: "w", Sequence: 2, Jobs: []wire.JobReport{{Job: "j", First: 1, Items: []wire.Item{{Failure: &f}}}}}
	if _, err := wire.Decode[wire.Report](wire.Encode(report)); err != nil || f.Partition != 7 || len(f.Error) < wire.MaxErrorText-1 {
		t.Errorf("got %d bytes, %v", len(f.Error), err)
	}
}
