package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// walkParams are the parameters of a job with rounds. Each round sums numbers that depend on its state.
type walkParams struct {
	Partitions uint64        `json:"partitions" min:"1"`
	Rounds     uint64        `json:"rounds" min:"1"`
	Sleep      time.Duration `json:"sleep"` // duration of each partition
	Pad        int           `json:"pad"`   // size in bytes of each state and partial
	Hold       bool          `json:"hold"`  // not used
}

type walkState struct {
	At    float64
	Round uint64
	Pad   []byte
}

// walks counts what the processes of a test do with the job.
type walks struct {
	opened, closed, cleaned atomic.Int64
}

func (c *testCluster) walking(edit func(*jobs.Rounds[walkParams, walkState, walkState, float64])) *walks {
	w := &walks{}
	d := jobs.Rounds[walkParams, walkState, walkState, float64]{
		Name: "walk", Version: "1", Defaults: walkParams{Partitions: 50, Rounds: 6}, Measure: "place",
		Limits: jobs.Limits{Finish: time.Second},
		Plan: func(_ context.Context, p walkParams) (jobs.Plan, error) {
			return jobs.Plan{Partitions: p.Partitions}, nil
		},
		Start: func(_ context.Context, p walkParams, plan jobs.Plan) (walkState, error) {
			return walkState{float64(plan.Partitions), 1, make([]byte, p.Pad)}, nil
		},
		Open: func(_ context.Context, p walkParams, _ jobs.Plan) (jobs.Rounder[walkState, walkState], error) {
			w.opened.Add(1)
			return walker{p, c, w}, nil
		},
		Merge: func(left, right walkState) (walkState, error) {
			left.At = left.At*1.0000001 + right.At
			return left, nil
		},
		Next: func(_ context.Context, p walkParams, state, total walkState, round uint64) (jobs.Step[walkState], error) {
			next := walkState{total.At/float64(p.Partitions) + 0.1*state.At, round + 1, state.Pad}
			return jobs.Step[walkState]{State: next, Value: next.At}, nil
		},
		Continue: func(_ context.Context, p walkParams, _ jobs.Plan, earlier walkState) (walkState, error) {
			if len(earlier.Pad) != p.Pad {
				return walkState{}, jobs.Permanent(fmt.Errorf("the state has %d bytes: want pad=%d", len(earlier.Pad), len(earlier.Pad)))
			}
			return earlier, nil
		},
		MaxRounds: func(p walkParams) uint64 { return p.Rounds },
		Finish:    func(_ context.Context, _ walkParams, state walkState) (float64, error) { return state.At, nil },
	}
	if edit != nil {
		edit(&d)
	}
	c.job = jobs.MustNewRounds(d)
	return w
}

// walker counts its uses.
type walker struct {
	walkParams
	cluster *testCluster
	uses    *walks
}

func (w walker) Round(_ context.Context, state walkState) (jobs.Mapper[walkState], error) {
	return walkMapper{w.walkParams, w.cluster, state}, nil
}

func (w walker) Close() error { w.uses.closed.Add(1); return nil }

func (w walker) CleanUp(context.Context) error { w.uses.cleaned.Add(1); return nil }

type walkMapper struct {
	walkParams
	cluster *testCluster
	state   walkState
}

func (m walkMapper) Map(ctx context.Context, partition uint64) (walkState, error) {
	m.cluster.runs.Add(1)
	select {
	case <-time.After(m.Sleep):
	case <-ctx.Done():
		return walkState{}, ctx.Err()
	}
	return walkState{At: m.state.At / float64(partition+1), Pad: make([]byte, m.Pad)}, nil
}

// rounds adds to a spec what the client adds for a job with rounds.
func rounds(most uint64) func(*store.Spec) { return func(s *store.Spec) { s.Rounds = most } }

// TestRounds runs jobs with rounds on any number of workers, with states and partials of any size, while the leader changes.
func TestRounds(t *testing.T) {
	for _, test := range []struct {
		workers, pad int
		leaves       bool
	}{{1, 0, false}, {3, 0, true}, {2, 10 << 10, true}, {3, 300 << 10, true}} {
		t.Run(fmt.Sprintf("%d workers, %d bytes", test.workers, test.pad), func(t *testing.T) {
			c := newCluster(t)
			uses := c.walking(nil)
			var list []*testWorker
			for range test.workers {
				list = append(list, c.start(nil))
			}
			params := []string{"rounds=6", "partitions=40", fmt.Sprintf("pad=%d", test.pad)}
			id := c.submitEdited(rounds(6), append(params, "sleep=5ms")...)
			if test.leaves {
				c.checkpoint(id, "round 3 runs", func(m store.Manifest) bool { return m.Rounds != nil && m.Rounds.Round >= 3 || m.State.Final() })
				list[0].end()
			}
			m := c.await(id, params...)
			if m.State != store.Completed || m.Rounds.Counted() != 6 || !m.Rounds.Last || len(m.Rounds.Finished) != 6 || m.Executed < 240 {
				t.Fatalf("the job is %s: %s; rounds %+v, executed %d", m.State, m.Error, m.Rounds, m.Executed)
			}
			if first := m.Rounds.Finished[0]; first.Round != 1 || first.Value == 0 {
				t.Errorf("first round %+v", first)
			}
			// Each worker has opened the job once. The run in one process, with which await compares, has opened it too.
			until(t, "all workers have closed the job", func() bool { return uses.closed.Load() == uses.opened.Load() })
			if opened := uses.opened.Load(); opened > int64(test.workers)+1 {
				t.Errorf("%d workers and a run in one process opened the job %d times", test.workers, opened)
			}
			until(t, "only a large state is left in storage", func() bool {
				left, err := c.store.Blobs().List(c.patient(), "partial/"+id+"/")
				return err == nil && (len(left) == 0 && m.Rounds.Blob == "" || len(left) == 1 && m.Rounds.Blob != "" && strings.HasSuffix(left[0], m.Rounds.Blob))
			})
		})
	}
}

// TestRoundsThatDoHarm checks that a job with rounds ends by a rule whatever its code does, and that the error names the
// function.
func TestRoundsThatDoHarm(t *testing.T) {
	release := make(chan struct{})
	type definition = jobs.Rounds[walkParams, walkState, walkState, float64]
	for _, test := range []struct {
		name, want string
		edit       func(*definition)
	}{
		{"Start fails", "Start failed once, |start job walk: no start", func(d *definition) {
			d.Start = func(context.Context, walkParams, jobs.Plan) (walkState, error) {
				return walkState{}, errors.New("no start")
			}
		}},
		{"Next panics", "Next failed once, |compute the state after round 2 of job walk: panic: oops", func(d *definition) {
			next := d.Next
			d.Next = func(ctx context.Context, p walkParams, s, total walkState, round uint64) (jobs.Step[walkState], error) {
				if round == 2 {
					panic("oops")
				}
				return next(ctx, p, s, total, round)
			}
		}},
		{"Next hangs", "Next failed once", func(d *definition) {
			d.Next = func(context.Context, walkParams, walkState, walkState, uint64) (jobs.Step[walkState], error) {
				<-release
				return jobs.Step[walkState]{}, nil
			}
		}},
		{"a state is NaN", "state.At is NaN", func(d *definition) {
			d.Next = func(_ context.Context, _ walkParams, s, _ walkState, _ uint64) (jobs.Step[walkState], error) {
				zero := 0 * s.At
				return jobs.Step[walkState]{State: walkState{At: zero / zero}}, nil
			}
		}},
		{"Round fails", "Open failed on", func(d *definition) {
			d.Open = func(context.Context, walkParams, jobs.Plan) (jobs.Rounder[walkState, walkState], error) {
				return noRound{}, nil
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			c.walking(test.edit)
			c.start(nil)
			c.start(nil)
			id := c.submitEdited(rounds(6), "partitions=10")
			m := c.checkpoint(id, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
			if m.State != store.Failed || !containsAll(m.Error, test.want) {
				t.Errorf("the job is %s: %s; want %q", m.State, m.Error, test.want)
			}
			if test.name == "Next hangs" {
				close(release)
			}
		})
	}
}

type noRound struct{}

func (noRound) Round(context.Context, walkState) (jobs.Mapper[walkState], error) {
	return nil, errors.New("no round")
}

// TestCancelRounds cancels a job with rounds in the middle of a round.
func TestCancelRounds(t *testing.T) {
	c := newCluster(t)
	uses := c.walking(nil)
	c.start(nil)
	id := c.submitEdited(rounds(1000), "rounds=1000", "sleep=1ms")
	c.checkpoint(id, "round 3 runs", func(m store.Manifest) bool { return m.Rounds != nil && m.Rounds.Round >= 3 })
	c.cancel(id)
	m := c.checkpoint(id, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
	if m.State != store.Cancelled {
		t.Errorf("the job is %s: %s", m.State, m.Error)
	}
	until(t, "the job is closed and cleaned up", func() bool { return uses.closed.Load() == 1 && uses.cleaned.Load() == 1 })
}

// TestRetryRounds retries a job with rounds of which a partition has failed in a later round. The second job goes on in that
// round, with its finished partitions and its state.
func TestRetryRounds(t *testing.T) {
	for _, pad := range []int{0, 300 << 10} {
		c := newCluster(t)
		var fails atomic.Bool
		var early atomic.Int64 // partitions of earlier rounds that the second job has run
		fails.Store(true)
		c.walking(func(d *jobs.Rounds[walkParams, walkState, walkState, float64]) {
			open := d.Open
			d.Open = func(ctx context.Context, p walkParams, plan jobs.Plan) (jobs.Rounder[walkState, walkState], error) {
				r, err := open(ctx, p, plan)
				return failingWalker{r.(walker), &fails, &early}, err
			}
		})
		params := []string{"rounds=4", "partitions=8", fmt.Sprintf("pad=%d", pad)}
		c.start(nil)
		first := c.submitEdited(rounds(4), params...)
		old := c.checkpoint(first, "the job has failed", func(m store.Manifest) bool { return m.State.Final() })
		if old.State != store.Failed || old.Rounds == nil || old.Rounds.Round != 3 {
			t.Fatalf("the first job is %s: %s; rounds %+v", old.State, old.Error, old.Rounds)
		}
		fails.Store(false)
		id := c.submitEdited(func(s *store.Spec) { s.Rounds, s.Retries = 4, first }, params...)
		m := c.checkpoint(id, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
		if m.State != store.Completed || m.Inherited < 16 || early.Load() > 0 {
			t.Errorf("the job is %s: %s; inherited %d partitions, ran %d of earlier rounds again", m.State, m.Error, m.Inherited, early.Load())
		}
		c.await(id, params...)
	}
}

// TestContinue continues a job with rounds from one that has completed, from one that was cancelled, and from one that has not
// ended yet.
func TestContinue(t *testing.T) {
	for _, pad := range []int{0, 5 << 10, 300 << 10} {
		c := newCluster(t)
		c.walking(nil)
		c.start(nil)
		c.start(nil)
		whole := []string{"rounds=6", "partitions=8", fmt.Sprintf("pad=%d", pad)}
		half := append([]string{"rounds=3"}, whole[1:]...)
		first := c.submitEdited(rounds(3), append([]string{"sleep=2ms"}, half...)...)
		id := c.submitEdited(func(s *store.Spec) { s.Rounds, s.From = 3, first }, half...)
		if m := c.await(id, whole...); m.State != store.Completed || m.Rounds.Counted() != 3 {
			t.Errorf("the job is %s: %s; rounds %+v", m.State, m.Error, m.Rounds)
		}
		c.await(c.submitEdited(func(s *store.Spec) { s.Rounds, s.From = 3, first }, half...), whole...)
		other := c.submitEdited(func(s *store.Spec) { s.Rounds, s.From = 3, first }, "rounds=3", "pad=7")
		m := c.checkpoint(other, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
		if want := fmt.Sprintf("Continue failed permanently on |want pad=%d", pad); m.State != store.Failed || !containsAll(m.Error, want) {
			t.Errorf("a state that does not fit: the job is %s: %s; want %s", m.State, m.Error, want)
		}
		if err := c.store.Remove(c.patient(), first); err != nil {
			t.Fatal(err)
		}
		m = c.checkpoint(c.submitEdited(func(s *store.Spec) { s.Rounds, s.From = 3, first }, half...), "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
		if m.State != store.Failed || !strings.Contains(m.Error, "job "+first+", from which this job continues, was removed") {
			t.Errorf("the earlier job was removed: the job is %s: %s", m.State, m.Error)
		}
	}
}

// TestContinueFromCancelled continues from a job that was cancelled in the middle of a round: all its rounds but this one count.
func TestContinueFromCancelled(t *testing.T) {
	for _, pad := range []int{0, 300 << 10} {
		c := newCluster(t)
		c.walking(nil)
		c.start(nil)
		params := []string{"rounds=1000", "partitions=8", "sleep=1ms", fmt.Sprintf("pad=%d", pad)}
		old := c.submitEdited(rounds(1000), params...)
		c.checkpoint(old, "round 3 runs", func(m store.Manifest) bool { return m.Rounds != nil && m.Rounds.Round >= 3 })
		user, err := client.Connect(t.Context(), client.Config{Cluster: c.cfg, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		defer user.Close()
		if err := user.Cancel(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		m := c.checkpoint(old, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
		id := c.submitEdited(func(s *store.Spec) { s.Rounds, s.From = 2, old }, append([]string{"rounds=2"}, params[1:]...)...)
		c.await(id, append([]string{fmt.Sprintf("rounds=%d", m.Rounds.Round-1+2)}, params[1:]...)...)
	}
}

// TestRoundsStopInTime ends a job with rounds with the result of its finished rounds.
func TestRoundsStopInTime(t *testing.T) {
	for _, pad := range []int{0, 300 << 10} {
		c := newCluster(t)
		c.walking(nil)
		list := []*testWorker{c.start(nil), c.start(nil)}
		params := []string{"partitions=20", fmt.Sprintf("pad=%d", pad)}
		id := c.submitEdited(func(s *store.Spec) { s.Rounds, s.StopAfter = 1000, 500*time.Millisecond }, append(params, "rounds=1000", "sleep=5ms")...)
		c.checkpoint(id, "round 2 runs", func(m store.Manifest) bool { return m.Rounds != nil && m.Rounds.Round >= 2 })
		list[0].end()
		m := c.checkpoint(id, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
		if m.State != store.Completed || !m.Rounds.TimeUp || int(m.Rounds.Counted()) != len(m.Rounds.Finished) {
			t.Fatalf("the job is %s: %s; rounds %+v", m.State, m.Error, m.Rounds)
		}
		c.await(id, append(params, fmt.Sprintf("rounds=%d", m.Rounds.Counted()))...)
	}
}

func containsAll(text, parts string) bool {
	for part := range strings.SplitSeq(parts, "|") {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// failingWalker fails a partition of round 3 for good.
type failingWalker struct {
	walker
	fails *atomic.Bool
	early *atomic.Int64
}

func (f failingWalker) Round(ctx context.Context, state walkState) (jobs.Mapper[walkState], error) {
	m, err := f.walker.Round(ctx, state)
	return failingWalk{m, f.fails, f.early, state.Round}, err
}

type failingWalk struct {
	jobs.Mapper[walkState]
	fails *atomic.Bool
	early *atomic.Int64
	round uint64
}

func (f failingWalk) Map(ctx context.Context, partition uint64) (walkState, error) {
	switch {
	case f.round == 3 && partition == 5 && f.fails.Load():
		return walkState{}, jobs.Permanent(errors.New("broken"))
	case f.round < 3 && !f.fails.Load():
		f.early.Add(1)
	}
	return f.Mapper.Map(ctx, partition)
}
