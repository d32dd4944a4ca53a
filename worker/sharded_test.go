package worker_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// shards is the number of shards of the job of sharded.
const shards = 5

// sharded makes the job of a cluster one whose result is a list of numbers, of which each shard has one: the sum of the
// partitions. Partition fails of shard 2 fails.
func (c *testCluster) sharded(fails *atomic.Int64) {
	c.job = jobs.MustNewSharded(jobs.Sharded[squaresParams, []uint64, string, jobs.Attachment]{
		Name: "sums", Version: "1", Defaults: squaresParams{Partitions: 1},
		Plan: func(_ context.Context, p squaresParams) (jobs.ShardedPlan, error) {
			return jobs.ShardedPlan{Shards: shards, Partitions: p.Partitions}, nil
		},
		Open: func(_ context.Context, p squaresParams, _ jobs.ShardedPlan) (jobs.ShardMapper[[]uint64], error) {
			return sumMapper{squaresMapper{p, c}, fails}, nil
		},
		Merge: func(left, right []uint64) ([]uint64, error) {
			left[0] += right[0]
			return left, nil
		},
		FinishShard: func(ctx context.Context, _ squaresParams, _ uint64, merged []uint64) (string, error) {
			data, err := jobs.Vector[uint64]{}.Encode(merged)
			if err != nil {
				return "", err
			}
			return jobs.PutSpill(ctx, data)
		},
		Finish: func(ctx context.Context, _ squaresParams, shards []string) (jobs.Attachment, error) {
			return jobs.AttachSpills(ctx, "sums.u64", shards)
		},
		Codec: jobs.Vector[uint64]{},
	})
}

type sumMapper struct {
	squares squaresMapper
	fails   *atomic.Int64
}

func (m sumMapper) Map(ctx context.Context, shard, partition uint64) ([]uint64, error) {
	if shard == 2 && int64(partition) == m.fails.Load() {
		return nil, errors.New("unreadable")
	}
	square, err := m.squares.Map(ctx, partition)
	return []uint64{square + 1000*shard}, err
}

// attached returns the numbers in the attachment of a job's result.
func (c *testCluster) attached(id string) []uint64 {
	c.t.Helper()
	user, err := client.Connect(c.t.Context(), client.Config{Cluster: c.cfg, Timeout: patience})
	if err != nil {
		c.t.Fatal(err)
	}
	defer user.Close()
	o, err := user.Outcome(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	a, ok := o.Attachment()
	if !ok {
		c.t.Fatalf("the result %s has no attachment", o.Result)
	}
	var data bytes.Buffer
	if err := user.WriteAttachment(c.t.Context(), id, a, &data); err != nil {
		c.t.Fatal(err)
	}
	var list []uint64
	for number := range slices.Chunk(data.Bytes(), 8) {
		list = append(list, binary.LittleEndian.Uint64(number))
	}
	return list
}

// TestSharded runs a sharded job whose leader leaves, and reads the attachment, which consists of the shards.
func TestSharded(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	fails := new(atomic.Int64)
	fails.Store(-1)
	c.sharded(fails)
	var workers []*testWorker
	for range 4 {
		workers = append(workers, c.start(nil))
	}
	id := c.submit("partitions=20", "sleep=20ms")
	c.checkpoint(id, "partitions are finished", func(m store.Manifest) bool { return m.State.Final() || len(m.Nodes) > 0 })
	leader := slices.IndexFunc(workers, func(w *testWorker) bool { return strings.Contains(w.log.String(), "msg=Leading") })
	if leader >= 0 {
		workers[leader].end()
	}
	m := c.await(id, "partitions=20")
	if m.State != store.Completed || m.Executed < 20*shards {
		t.Errorf("the job is %s: %s; executed %d", m.State, m.Error, m.Executed)
	}
	if got, want := c.attached(id), []uint64{2470, 22470, 42470, 62470, 82470}; !slices.Equal(got, want) {
		t.Errorf("the attachment has the numbers %v, want %v", got, want)
	}
	c.noBlobs(id, "")
}

// TestShardedSkips runs a sharded job that skips a partition of a shard, which alone lacks it, and retries it.
func TestShardedSkips(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	fails := new(atomic.Int64)
	fails.Store(3)
	c.sharded(fails)
	c.start(nil)
	c.start(nil)
	id := c.submitEdited(func(s *store.Spec) { s.MaxSkipped = 1 }, "partitions=5")
	m := c.checkpoint(id, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
	if m.State != store.Completed || len(m.Skipped) != 1 {
		t.Errorf("the job is %s: %s", m.State, m.Error)
	}
	if got, want := c.attached(id), []uint64{30, 5030, 30 - 9 + 8000, 15030, 20030}; !slices.Equal(got, want) {
		t.Errorf("the attachment has the numbers %v, want %v", got, want)
	}
	c.noBlobs(id, "")
	fails.Store(-1)
	again := c.submitEdited(func(s *store.Spec) { s.Retries = id }, "partitions=5")
	c.await(again, "partitions=5")
	if got, want := c.attached(again), []uint64{30, 5030, 10030, 15030, 20030}; !slices.Equal(got, want) {
		t.Errorf("the attachment of the retry has the numbers %v, want %v", got, want)
	}
}
