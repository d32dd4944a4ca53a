package worker_test

import (
	"context"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/worker"
)

func reuses(s *store.Spec) { s.Keep = 1 << 30 }

// keyedMapper has the keys of input that grows at its end.
type keyedMapper struct{ squaresMapper }

func (m keyedMapper) Key(_ context.Context, partition uint64) []byte {
	return binary.BigEndian.AppendUint64(nil, partition)
}

// growing lets the number of partitions of the cluster's job change without its parameters.
func (c *testCluster) growing() (size *atomic.Uint64) {
	size = new(atomic.Uint64)
	d := c.squares()
	d.Plan = func(context.Context, squaresParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: size.Load()}, nil
	}
	d.Open = func(_ context.Context, p squaresParams, _ jobs.Plan) (jobs.Mapper[uint64], error) {
		return keyedMapper{squaresMapper{p, c}}, nil
	}
	c.job = jobs.MustNew(d)
	return size
}

// runAlone runs a job on two workers, and stops them: then all is kept. It returns the final manifest and the number of
// partitions that ran.
func (c *testCluster) runAlone(edit func(*store.Spec), params ...string) (m store.Manifest, ran uint64) {
	c.t.Helper()
	before := c.runs.Load()
	list := []*testWorker{c.start(nil), c.start(func(cfg *worker.Config) { cfg.Slots = 2 })}
	m = c.await(c.submitEdited(edit, params...), params...)
	ran = uint64(c.runs.Load() - before)
	for _, w := range list {
		w.end()
	}
	return m, ran
}

// packs returns the keys of all packs of kept partials.
func (c *testCluster) packs() []string {
	c.t.Helper()
	keys, err := c.store.Blobs().List(c.patient(), "packs/")
	if err != nil || len(keys) == 0 {
		c.t.Fatalf("packs %q, %v", keys, err)
	}
	return keys
}

// eachPack changes all packs of kept partials.
func (c *testCluster) eachPack(change func(key string) error) {
	c.t.Helper()
	for _, key := range c.packs() {
		if err := change(key); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestReuse checks that jobs compute only what no earlier job has kept, and compute what was damaged or removed. At the
// end of a job, idle workers may run partitions a second time.
func TestReuse(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	size := c.growing()
	for _, test := range []struct {
		name           string
		before         func()
		size, computed uint64
		lost           bool
	}{
		{"the first job", nil, 100, 100, false},
		{"the same job", nil, 100, 0, false},
		{"seven more", nil, 107, 7, false},
		{"less", nil, 50, 0, false},
		{"damaged packs", func() {
			c.eachPack(func(key string) error {
				_, err := c.store.Blobs().Put(c.patient(), key, []byte("damaged"), store.Always)
				return err
			})
		}, 107, 107, true},
		{"after damage", nil, 107, 0, false},
		{"removed packs", func() {
			c.eachPack(func(key string) error { return c.store.Blobs().Delete(c.patient(), key) })
		}, 107, 107, true},
	} {
		if test.before != nil {
			test.before()
		}
		size.Store(test.size)
		m, ran := c.runAlone(reuses, "sleep=2ms")
		if ran < test.computed || test.computed == 0 && ran > 0 {
			t.Errorf("%s: %d partitions ran, want %d", test.name, ran, test.computed)
		}
		if m.Reused == nil || m.Reused.Partitions != test.size-test.computed || (m.Reused.Lost > 0) != test.lost || m.Executed < test.size {
			t.Errorf("%s: %d executed, reused %+v, want %d computed, lost packs: %v", test.name, m.Executed, m.Reused, test.computed, test.lost)
		}
	}
	if m, ran := c.runAlone(func(*store.Spec) {}, "sleep=2ms"); m.Reused != nil || ran < 107 {
		t.Errorf("a job without reuse ran %d partitions and reused %+v", ran, m.Reused)
	}
}

// TestReuseKeepsOnce checks that a job that reuses its root does not keep it once more: otherwise each run of the same job
// would add a pack that later jobs read.
func TestReuseKeepsOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.growing().Store(100)
	c.runAlone(reuses, "sleep=2ms")
	before := c.packs()
	if m, _ := c.runAlone(reuses, "sleep=2ms"); m.Reused == nil || m.Reused.Partitions != 100 {
		t.Errorf("the same job reused %+v", m.Reused)
	}
	if after := c.packs(); !slices.Equal(before, after) {
		t.Errorf("the packs were %q, and after the same job %q", before, after)
	}
}

// TestReuseLarge reuses partials that are too large for messages, and whose last bits depend on the order of the merges.
func TestReuseLarge(t *testing.T) {
	t.Parallel()
	c := vectorCluster(t)
	params := []string{"partitions=9", "length=40000", "sleep=100ms"}
	if m, ran := c.runAlone(reuses, params...); m.Reused == nil || m.Reused.Partitions != 0 || ran < 9 {
		t.Errorf("the first job ran %d partitions and reused %+v", ran, m.Reused)
	}
	if m, ran := c.runAlone(reuses, params...); m.Reused == nil || m.Reused.Partitions != 9 || ran != 0 {
		t.Errorf("the same job ran %d partitions and reused %+v", ran, m.Reused)
	}
}
