package term_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// inBlob returns an item for the partial of a partition that a worker has written to storage.
func inBlob(partition uint64, size uint64) wire.Item {
	return wire.Item{Partial: &wire.Partial{Node: engine.Leaf(partition), Blob: strings.Repeat("0e", 32), Size: size, Stored: true}}
}

// operandSizes sends reports with held nodes until the leader assigns a merge of a planned job, and
// returns the sizes of the merge's operands. The first report contains items, the first of which has
// the given number.
func (l *leader) operandSizes(job string, nodes []wire.HeldNode, first uint64, items ...wire.Item) (sizes []uint64) {
	c := l.cluster
	c.t.Helper()
	report := wire.Report{
		Epoch: l.epoch, Worker: "holder", Hello: &wire.Hello{Host: "host", PID: 1, Slots: 1, Knows: []wire.JobKind{{Name: "letters", Version: "1"}}, Holds: true},
		Jobs: []wire.JobReport{{Job: job, First: first, Items: items}}, Nodes: nodes,
	}
	answered := true
	c.until("a merge to be assigned", func() bool {
		if sizes != nil || !answered {
			return sizes != nil
		}
		answered = false
		report.Sequence++
		l.turn(func() {
			l.term.Report(report, 100, func(r wire.Receipt) {
				answered = true
				for _, a := range r.Assigned {
					report.Spans = append(report.Spans, wire.HeldSpan{ID: a.ID, Job: a.Job, Span: a.Span})
					if a.Call != nil && a.Call.Function == wire.Merge {
						for _, o := range a.Call.Operands {
							sizes = append(sizes, o.Size)
						}
					}
				}
			})
		})
		report.Hello, report.Jobs = nil, nil
		return false
	})
	return sizes
}

// planned submits a job and waits until a leader has planned it.
func (c *cluster) planned(params ...string) (job string) {
	c.t.Helper()
	planner := c.addWorker("planner")
	planner.follow(c.leaders[0])
	job = c.submit(params...)
	c.until("the plan", func() bool { return c.manifest(job).Partitions > 0 })
	planner.drains = true
	c.until("the planner to hold nothing", func() bool { return len(planner.held) == 0 && planner.inFlight == nil })
	c.workers = nil
	return job
}

// TestOperandsInStorageHaveSizes checks that the worker of a merge learns the sizes of operands in
// storage, because the operands count against the worker's memory. The next leader knows the sizes
// from the manifest. If an earlier version wrote the manifest, the next leader uses the size of the
// job's largest partial instead.
func TestOperandsInStorageHaveSizes(t *testing.T) {
	const size = 1 << 20
	for name, test := range map[string]struct {
		between func(*store.Manifest) // changes the manifest between the leaders; nil if there is only one leader
		later   []wire.Item           // items for the second leader
		held    uint64                // size of a partial that the worker holds, for the second leader
		want    []uint64
	}{
		"reported":                           {want: []uint64{size, 2 * size}},
		"in the manifest":                    {between: func(*store.Manifest) {}, want: []uint64{size, 2 * size}},
		"manifest of an earlier version":     {between: withoutSizes, later: []wire.Item{inBlob(2, 3*size)}, want: []uint64{3 * size, 3 * size}},
		"largest partial is held":            {between: withoutSizes, held: 4 * size, want: []uint64{4 * size, 4 * size}},
		"no size is known":                   {between: withoutSizes, want: []uint64{0, 0}},
		"largest partial is in the manifest": {between: withoutFirstSize, want: []uint64{2 * size, 2 * size}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			first := c.lead(plain)
			job := c.planned("partitions=4")
			got := first.operandSizes(job, nil, 1, inBlob(0, size), inBlob(1, 2*size))
			if test.between != nil {
				c.until("the checkpoint", func() bool { return len(c.manifest(job).Nodes) == 2 && first.waiting() })
				first.kill()
				c.change(job, test.between)
				var held []wire.HeldNode
				if test.held > 0 {
					held = []wire.HeldNode{{Job: job, Node: engine.Leaf(3), Size: test.held}}
				}
				got = c.lead(plain).operandSizes(job, held, 3, test.later...)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the operands have sizes %v, want %v", got, test.want)
			}
		})
	}
}

func withoutSizes(m *store.Manifest) {
	for i := range m.Nodes {
		m.Nodes[i].Size = 0
	}
}

func withoutFirstSize(m *store.Manifest) { m.Nodes[0].Size = 0 }

// change replaces a job's manifest.
func (c *cluster) change(job string, change func(*store.Manifest)) {
	c.t.Helper()
	m, version, err := c.store.Manifest(context.Background(), job)
	if err != nil {
		c.t.Fatal(err)
	}
	change(&m)
	if _, err := c.store.PutManifest(context.Background(), job, m, store.IfVersion(version)); err != nil {
		c.t.Fatal(err)
	}
}

// TestManifestHasSizesOfTheLeadersBlobs checks the sizes of partials that the leader has written to
// storage: of merged partials, and of partials that are too large for a manifest.
func TestManifestHasSizesOfTheLeadersBlobs(t *testing.T) {
	for _, pad := range []string{"10_000", "200_000"} {
		c := newCluster(t)
		c.addWorker("w1")
		c.lead(plain)
		params := []string{"partitions=6", "pad=" + pad}
		job := c.submit(params...)
		checked := 0
		c.until("the job's end", func() bool {
			for _, n := range c.manifest(job).Nodes {
				if n.Blob == "" {
					continue
				}
				data, err := c.store.Partial(context.Background(), job, n.Blob)
				if err != nil || n.Size != uint64(len(data)) {
					t.Fatalf("node %v has size %d in the manifest, and %d bytes in storage (%v)", n.Node, n.Size, len(data), err)
				}
				checked++
			}
			return c.manifest(job).State.Final() && c.cleanedUp()
		})
		if checked == 0 {
			t.Errorf("with partials of %s bytes no manifest had a node in a blob", pad)
		}
	}
}

// TestMergedPartialsStayInMemory checks that a merge by the leader writes no blob for a partial that
// may stay in the leader's memory. Only a checkpoint needs the blob.
func TestMergedPartialsStayInMemory(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	merged, written := 0, 0
	c.fault = func(call memory.Call) error {
		if call.Operation == memory.Put && strings.HasPrefix(call.Key, "partial/") {
			written++
		}
		return nil
	}
	c.lead(func(cfg *term.Config) {
		rarelyCheckpointing(cfg)
		cfg.Observe = func(e term.Observation) {
			if _, ok := e.(term.MergeDone); ok {
				merged++
			}
		}
	})
	params := []string{"partitions=6", "pad=10_000"}
	c.wantCompleted(c.submit(params...), localResult(t, params...))
	if merged == 0 || written > 0 {
		t.Errorf("the leader merged %d times and wrote %d partials to storage, want several merges and no write", merged, written)
	}
}
