package worker_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/worker"
)

type vectorParams struct {
	Partitions uint64        `json:"partitions" min:"1"`
	Length     int           `json:"length" min:"1"`
	Sleep      time.Duration `json:"sleep"` // duration of each partition
	Hold       bool          `json:"hold"`  // the last partition waits for release
}

// vectors is a job that adds up vectors, of 800 KB by default. The last bits of the sum depend on
// the order of the additions.
func (c *testCluster) vectors() jobs.Definition[vectorParams, []float64, string] {
	return jobs.Definition[vectorParams, []float64, string]{
		Name: "vectors", Version: "1", Defaults: vectorParams{Partitions: 1, Length: 100_000}, Codec: jobs.Vector[float64]{},
		Plan: func(_ context.Context, p vectorParams) (jobs.Plan, error) {
			return jobs.Plan{Partitions: p.Partitions}, nil
		},
		Open: func(_ context.Context, p vectorParams, _ jobs.Plan) (jobs.Mapper[[]float64], error) {
			return vectorMapper{p, c}, nil
		},
		Merge: func(left, right []float64) ([]float64, error) {
			add(left, right)
			return left, nil
		},
		Finish: func(_ context.Context, _ vectorParams, root []float64) (string, error) {
			data, err := jobs.Vector[float64]{}.EncodeInPlace(root)
			sum := sha256.Sum256(data)
			return hex.EncodeToString(sum[:]), err
		},
	}
}

type vectorMapper struct {
	vectorParams
	cluster *testCluster
}

func (m vectorMapper) Map(ctx context.Context, partition uint64) ([]float64, error) {
	return m.Fill(ctx, partition, nil)
}

func (m vectorMapper) Fill(ctx context.Context, partition uint64, v []float64) ([]float64, error) {
	if _, err := (squaresMapper{squaresParams{Partitions: m.Partitions, Sleep: m.Sleep, Hold: m.Hold}, m.cluster}).Map(ctx, partition); err != nil {
		return nil, err
	}
	if len(v) != m.Length {
		v = make([]float64, m.Length)
	}
	fill(v, partition)
	return v, nil
}

// add adds right to left. The race detector would make add and fill ten times as slow.
//
//go:norace
func add(left, right []float64) {
	for i := range left {
		left[i] += right[i]
	}
}

// fill sets the vector of a partition.
//
//go:norace
func fill(v []float64, partition uint64) {
	for i := range v {
		v[i] = 1 / float64(partition*7+uint64(i)+3)
	}
}

// vectorCluster makes a cluster whose job sums vectors.
func vectorCluster(t *testing.T) *testCluster {
	c := newCluster(t)
	c.job = jobs.MustNew(c.vectors())
	return c
}

// TestLargePartials adds up vectors on three workers, which merge them without the leader.
func TestLargePartials(t *testing.T) {
	t.Parallel()
	c := vectorCluster(t)
	for range 3 {
		c.start(nil)
	}
	id := c.submit("partitions=50", "sleep=5ms")
	m := c.await(id, "partitions=50")
	if m.Executed < 50 || !c.stalled() && (m.Executed > 50 || len(m.Epochs) != 1) {
		t.Errorf("%d partitions were executed, under epochs %v", m.Executed, m.Epochs)
	}
}

// TestLargePartialsLeave stops the workers that hold partials one after the other, including the
// leader. The stopping workers first write their partials to storage, so that nothing is computed
// again.
func TestLargePartialsLeave(t *testing.T) {
	t.Parallel()
	c := vectorCluster(t)
	var workers []*testWorker
	for range 2 {
		workers = append(workers, c.start(nil))
	}
	id := c.submit("partitions=30", "sleep=5ms", "hold=true")
	until(t, "all but one partition have run", func() bool { return c.runs.Load() == 30 })
	last := c.start(nil)
	last.logged(`msg=(Following|Leading)`)
	close(c.release)
	for _, w := range workers {
		w.end()
	}
	m := c.await(id, "partitions=30")
	if m.Executed > 31 && !c.stalled() { // the waiting partition may be cancelled
		t.Errorf("%d partitions were executed, want at most 31", m.Executed)
	}
}

// lack are the parameters of a job whose partials have 34 MB. A worker with the least memory begins no
// second partition before the first partial has left the memory.
var lack = []string{"partitions=2", "length=4250000"}

// TestLargePartialsSpill computes more partials than fit into memory, so that they move to the
// spill folder.
func TestLargePartialsSpill(t *testing.T) {
	t.Parallel()
	c := vectorCluster(t)
	dir := t.TempDir()
	w := c.start(func(cfg *worker.Config) { cfg.Memory, cfg.SpillDir = 64<<20, dir })
	id := c.submit(lack...)
	c.await(id, lack...)
	w.logged(`msg="Moved a partial to the spill folder" .*job=` + id + ` node=[0-9/]+ bytes=34000000`)
	if n := w.log.Count("Wrote a held partial to storage"); n > 0 {
		t.Errorf("%d partials were written to storage, want 0", n)
	}
}

// TestLargePartialsSpillFails computes more partials than fit into memory without a spill folder,
// so that they move to storage.
func TestLargePartialsSpillFails(t *testing.T) {
	t.Parallel()
	c := vectorCluster(t)
	dir := filepath.Join(t.TempDir(), "spill")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w := c.start(func(cfg *worker.Config) { cfg.Memory, cfg.SpillDir = 64<<20, dir })
	w.logged(`msg=Leading`)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	id := c.submit(append(lack, "hold=true")...)
	c.checkpoint(id, "storage has the partial of the first partition", func(m store.Manifest) bool {
		return slices.ContainsFunc(m.Nodes, func(n store.StoredNode) bool { return n.Blob != "" })
	})
	c.finish(id, lack...)
	w.logged(`Cannot write a partial to the spill folder, it stays in memory.* job=` + id + ` node=[0-9/]+ bytes=34000000`)
	w.logged(`msg="Wrote a held partial to storage" .*job=` + id + ` node=[0-9/]+ bytes=34000000`)
}
