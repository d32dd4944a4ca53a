package term_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

var rootKey = strings.Repeat("k", len(engine.Key{}))

// find writes to storage that the worker has found the partials of its spans, and returns the name of the blob.
func (w *worker) find(job string, plan wire.Output) string {
	w.cluster.t.Helper()
	must := func(err error) {
		if err != nil {
			w.cluster.t.Fatal(err)
		}
	}
	ctx := context.Background()
	tree, err := engine.NewTree(plan.Partitions)
	must(err)
	task, err := letters.Engine().Open(ctx, w.openings[job].Params, plan.Partitions, plan.Data)
	must(err)
	f := store.Found{Reused: store.Reused{Work: time.Minute, From: []string{"an earlier job"}, Root: []byte(rootKey), Build: wire.ThisBuild()}}
	for i, span := range w.finds {
		stack := task.NewStack()
		_, err := stack.Run(ctx, span, new(atomic.Bool))
		must(err)
		partials, err := stack.Drain(span.Hi)
		must(err)
		for _, p := range partials {
			n := store.StoredNode{Node: p.Node, Data: p.Data}
			if i == 0 { // as if the partial were too large for a message
				n = store.StoredNode{Node: p.Node, Blob: w.putPartial(job, p.Node, p.Data), Size: uint64(len(p.Data)), Large: true}
			}
			f.Nodes, f.Partitions = append(f.Nodes, n), f.Partitions+tree.Span(p.Node).Len()
		}
	}
	blob, err := w.cluster.store.PutFound(ctx, job, f)
	must(err)
	return blob
}

// reuse submits a job whose planner finds the partials of spans.
func (c *cluster) reuse(spans []engine.Span, params ...string) (id string) {
	c.t.Helper()
	w := c.addWorker("w1")
	w.finds, w.build = spans, wire.ThisBuild()
	c.lead(plain)
	return c.submitSpec(func(s *store.Spec) { s.Keep = 1 << 30 }, params...)
}

// TestReuse checks that a job runs only what was not found, and that the worker that calls Finish keeps the root.
func TestReuse(t *testing.T) {
	for name, spans := range map[string][]engine.Span{
		"nothing":    nil,
		"the middle": {{Lo: 4, Hi: 8}, {Lo: 9, Hi: 10}},
		"all":        {{Lo: 0, Hi: 16}, {Lo: 16, Hi: 21}},
		"the root":   {{Lo: 0, Hi: 21}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			found := uint64(0)
			for _, s := range spans {
				found += s.Len()
			}
			id := c.reuse(spans, "partitions=21")
			c.wantResult(id, "partitions=21")
			if got := c.ran(id); uint64(got) != 21-found {
				t.Errorf("ran %d partitions, want %d", got, 21-found)
			}
			m := c.manifest(id)
			if m.Reused == nil || m.Reused.Partitions != found || m.Reused.Work != time.Minute || !slices.Equal(m.Reused.From, []string{"an earlier job"}) {
				t.Errorf("the manifest says %+v, want %d reused partitions", m.Reused, found)
			}
			if m.Executed != 21 {
				t.Errorf("%d partitions were executed, want 21 with those that were reused", m.Executed)
			}
			if w := c.workers[0]; !slices.Equal(w.keeps, []string{rootKey}) {
				t.Errorf("the worker was told to keep %q", w.keeps)
			}
			if left := c.partials(); len(left) > 0 {
				t.Errorf("blobs are left: %v", left)
			}
		})
	}
}

// wantResult waits for the end of a job, and compares its result with a run in one process.
func (c *cluster) wantResult(id string, params ...string) {
	c.t.Helper()
	c.until("the job's end", func() bool { return c.manifest(id).State.Final() && c.cleanedUp() })
	result, err := c.store.Result(context.Background(), id, "")
	if m := c.manifest(id); err != nil || m.State != store.Completed || string(result) != localResult(c.t, params...) {
		c.t.Fatalf("the job is %s: %s; %.100s, %v", m.State, m.Error, result, err)
	}
}

// TestOtherBuild checks that the root is not kept if another build than the planner's has computed a part of it.
func TestOtherBuild(t *testing.T) {
	c := newCluster(t)
	id := c.reuse([]engine.Span{{Lo: 0, Hi: 4}}, "partitions=8")
	c.workers[0].build = "another/v1 go1.26.0"
	c.wantResult(id, "partitions=8")
	if w := c.workers[0]; !slices.Equal(w.keeps, []string{""}) {
		t.Errorf("the worker was told to keep %q", w.keeps)
	}
}

// TestNoReuse checks that a job that was submitted without reuse neither looks for partials nor keeps its root.
func TestNoReuse(t *testing.T) {
	c := newCluster(t)
	w := c.addWorker("w1")
	w.finds = []engine.Span{{Lo: 0, Hi: 4}}
	c.lead(plain)
	id := c.submit("partitions=8")
	c.wantCompleted(id, localResult(t, "partitions=8"))
	if c.ran(id) != 8 || c.manifest(id).Reused != nil || !slices.Equal(w.keeps, []string{""}) {
		t.Errorf("ran %d partitions, reused %+v, kept %q", c.ran(id), c.manifest(id).Reused, w.keeps)
	}
}

// TestFoundIsLost checks that a job computes everything if the blob with what the planner has found is missing or
// damaged, or if the worker that has planned the job or the leader that has stored the plan is of a version without
// reuse, and that the job takes nothing of another tree.
func TestFoundIsLost(t *testing.T) {
	for name, damage := range map[string]func(c *cluster, job, blob string) string{
		"missing": func(c *cluster, job, blob string) string {
			if err := c.store.DropPartial(context.Background(), job, blob); err != nil {
				c.t.Fatal(err)
			}
			return blob
		},
		"damaged": func(c *cluster, job, blob string) string {
			if _, err := c.blobs.Put(context.Background(), "partial/"+job+"/"+blob, []byte("damaged"), store.Always); err != nil {
				c.t.Fatal(err)
			}
			return blob
		},
		"of an earlier worker": func(*cluster, string, string) string { return "" },
		"of an earlier leader": func(c *cluster, job, blob string) string {
			plan, err := letters.Plan(context.Background(), c.workers[0].openings[job].Params)
			if err == nil {
				err = c.store.PutPlan(context.Background(), job, store.Plan{Plan: plan})
			}
			if err != nil {
				c.t.Fatal(err)
			}
			return blob
		},
		"of another tree": func(c *cluster, job, _ string) string {
			blob, err := c.store.PutFound(context.Background(), job, store.Found{Nodes: []store.StoredNode{{Node: engine.Leaf(8), Data: []byte("x")}}})
			if err != nil {
				c.t.Fatal(err)
			}
			return blob
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			w := c.addWorker("w1")
			w.finds, w.damagesFound = []engine.Span{{Lo: 0, Hi: 4}}, func(job, blob string) string { return damage(c, job, blob) }
			c.lead(plain)
			id := c.submitSpec(func(s *store.Spec) { s.Keep = 1 }, "partitions=8")
			c.wantCompleted(id, localResult(t, "partitions=8"))
			if c.ran(id) != 8 || c.manifest(id).Executed != 8 {
				t.Errorf("ran %d partitions, executed %d, want 8", c.ran(id), c.manifest(id).Executed)
			}
			if r := c.manifest(id).Reused; r != nil && (r.Partitions > 0 || r.Work > 0 || len(r.From) > 0) || !slices.Equal(w.keeps, []string{""}) {
				t.Errorf("reused %+v, and the worker was told to keep %q", r, w.keeps)
			}
		})
	}
}

// TestReuseSurvivesLeaders replaces the leader at each step of its storage calls. The result has the same bytes, and
// what was found is not computed.
func TestReuseSurvivesLeaders(t *testing.T) {
	params, spans := []string{"partitions=12", "pad=3_000"}, []engine.Span{{Lo: 2, Hi: 4}, {Lo: 8, Hi: 12}}
	reuse := func(c *cluster, ok func() bool) (id string) {
		id = c.reuse(spans, params...)
		c.until("the end", func() bool { return ok() || c.manifest(id).State.Final() && c.cleanedUp() })
		return id
	}
	c := newCluster(t)
	c.hold = func(int) func() bool { return nil }
	reuse(c, func() bool { return false })
	for _, r := range replacements {
		for moment := 1; moment <= c.moments; moment++ {
			t.Run(fmt.Sprintf("%s/%d", r.name, moment), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				held, over := c.holdAt(moment)
				resumeCall := func() { *over = true }
				id := reuse(c, func() bool { return *held })
				if !*held {
					t.Fatal("the moment did not come")
				}
				r.replace(c, c.leaders[0], resumeCall)
				c.wantResult(id, params...)
				m := c.manifest(id)
				if m.Reused == nil || m.Reused.Partitions != 6 || m.Executed < 12 {
					t.Errorf("the manifest says %+v and %d executed, want 6 and at least 12", m.Reused, m.Executed)
				}
				if got := c.ran(id); got != 6 {
					t.Errorf("ran %d partitions, want 6", got)
				}
				resumeCall()
				c.until("the tasks to return", c.leaders[0].idle)
			})
		}
	}
	if c.moments < 20 {
		t.Errorf("%d moments", c.moments)
	}
}
