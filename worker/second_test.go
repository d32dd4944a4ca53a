package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// passing makes the job of a cluster one whose partials are lists of partitions, which are moved to storage if they have more
// than four elements. The second pass reads all lists in partition 0, and moves their elements to storage again, for Finish.
func (c *testCluster) passing() {
	c.job = jobs.MustNew(jobs.Definition[squaresParams, []string, string]{
		Name: "lists", Version: "1", Defaults: squaresParams{Partitions: 1},
		Plan: func(_ context.Context, p squaresParams) (jobs.Plan, error) {
			return jobs.Plan{Partitions: p.Partitions}, nil
		},
		Open: func(_ context.Context, p squaresParams, _ jobs.Plan) (jobs.Mapper[[]string], error) {
			return listMapper{p, c, nil}, nil
		},
		Merge: func(left, right []string) ([]string, error) { return append(left, right...), nil },
		SecondPass: &jobs.SecondPass[squaresParams, []string]{
			Has: func(squaresParams) bool { return true },
			Spill: func(ctx context.Context, _ squaresParams, merged []string) ([]string, error) {
				if short := slices.IndexFunc(merged, func(s string) bool { return len(s) < 64 }); short < 0 || len(merged) < 4 {
					return merged, nil
				}
				data, err := json.Marshal(merged)
				if err != nil {
					return nil, err
				}
				name, err := jobs.PutSpill(ctx, data)
				return []string{name}, err
			},
			State: func(_ context.Context, _ squaresParams, _ uint64, root []string) ([]byte, error) {
				return json.Marshal(root)
			},
			Open: func(_ context.Context, p squaresParams, _ jobs.Plan, state []byte) (jobs.Mapper[[]string], error) {
				m := listMapper{p, c, []string{}}
				return m, json.Unmarshal(state, &m.names)
			},
		},
		Finish: func(ctx context.Context, _ squaresParams, root []string) (string, error) {
			list, err := expand(ctx, root)
			return strings.Join(list, " "), err
		},
	})
}

type listMapper struct {
	squaresParams
	cluster *testCluster
	names   []string // lists of the second pass; nil in the first pass
}

func (m listMapper) Map(ctx context.Context, partition uint64) ([]string, error) {
	square, err := squaresMapper{m.squaresParams, m.cluster}.Map(ctx, partition)
	switch {
	case err != nil:
		return nil, err
	case m.names == nil:
		return []string{fmt.Sprint(square)}, nil
	case partition > 0:
		return nil, nil
	}
	return expand(ctx, m.names)
}

// expand replaces the names of lists by the lists.
func expand(ctx context.Context, names []string) (list []string, err error) {
	for _, name := range names {
		if len(name) < 64 {
			list = append(list, name)
			continue
		}
		data, err := jobs.GetSpill(ctx, name)
		if err != nil {
			return nil, err
		}
		var inner []string
		if err := json.Unmarshal(data, &inner); err != nil {
			return nil, err
		}
		if inner, err = expand(ctx, inner); err != nil {
			return nil, err
		}
		list = append(list, inner...)
	}
	return list, nil
}

// noBlobs waits until the job has no more blobs in storage, except the last state.
func (c *testCluster) noBlobs(id, state string) {
	until(c.t, "what the job has moved to storage is removed", func() bool {
		left, err := c.store.Blobs().List(c.patient(), "partial/"+id+"/")
		left = slices.DeleteFunc(left, func(name string) bool { return state != "" && strings.HasSuffix(name, state) })
		return err == nil && len(left) == 0
	})
}

// TestSecondPass runs a job with a second pass whose leader leaves in each of the passes.
func TestSecondPass(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.passing()
	var workers []*testWorker
	for range 4 {
		workers = append(workers, c.start(nil))
	}
	id := c.submitEdited(rounds(2), "partitions=60", "sleep=20ms")
	for round := uint64(1); round <= 2; round++ {
		c.checkpoint(id, "the pass runs", func(m store.Manifest) bool {
			return m.State.Final() || m.Rounds != nil && m.Rounds.Round >= round && (m.Rounds.Round > round || len(m.Nodes) > 0)
		})
		leader := slices.IndexFunc(workers, func(w *testWorker) bool { return strings.Contains(w.log.String(), "msg=Leading") })
		if leader >= 0 {
			workers[leader].end()
			workers = slices.Delete(workers, leader, leader+1)
		}
	}
	m := c.await(id, "partitions=60")
	if m.State != store.Completed || m.Rounds.Counted() != 2 || m.Executed < 120 {
		t.Errorf("the job is %s: %s; rounds %+v, executed %d", m.State, m.Error, m.Rounds, m.Executed)
	}
	c.noBlobs(id, m.Rounds.Blob)
}

// TestCancelSecondPass cancels a job while its partitions move data to storage.
func TestCancelSecondPass(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.passing()
	c.start(nil)
	c.start(nil)
	id := c.submitEdited(rounds(2), "partitions=4000", "sleep=1ms")
	until(t, "partitions have moved data to storage", func() bool {
		found, err := c.store.Blobs().List(c.patient(), "partial/"+id+"/")
		return err == nil && len(found) > 10
	})
	c.cancel(id)
	c.checkpoint(id, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
	c.noBlobs(id, "")
}
