package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// View contains the part of a job's map that does not depend on the viewer's query. Making a view
// is expensive, because a job in a big cluster has tens of thousands of assignments. The leader
// therefore uses one View for all queries within a short time.
type View struct {
	Progress wire.JobProgress

	ledger  *Ledger
	job     *job
	held    []heldSpan
	again   uint64   // number of partitions of held spans whose worker has died before
	workers []string // IDs of the workers that hold spans
}

// heldSpan is a span that a worker holds.
type heldSpan struct {
	span   engine.Span
	worker uint32 // index of the span's worker in View.workers
}

// View returns a view of an active job, or nil if the job is not active.
func (l *Ledger) View(job string) *View {
	j := l.jobsByID[job]
	if j == nil {
		return nil
	}
	v := &View{Progress: l.jobProgress(j), ledger: l, job: j, held: make([]heldSpan, 0, j.assignments.len())}
	for _, w := range l.workers {
		before := len(v.held)
		for _, a := range w.assignments {
			if a.job == j && a.call == nil && (a.duplicate == nil || a.duplicate.id.Number > a.id.Number) {
				v.held = append(v.held, heldSpan{a.span, uint32(len(v.workers))})
				if a.deaths > 0 {
					v.again += a.span.Len()
				}
			}
		}
		if len(v.held) > before {
			v.workers = append(v.workers, w.id)
		}
	}
	return v
}

// Map returns the number of partitions in each state for each cell of the windows. The held
// partitions are those at the time when the view was made; the other states are current. The
// parameter durable lists the job's spans in the last checkpoint, in order and without overlaps.
// Map returns nil if the job has no plan yet. The cost of Map depends on the number of cells and of
// the job's assignments, but not on the number of partitions.
func (v *View) Map(windows []wire.Window, durable []engine.Span) *wire.JobMap {
	j := v.job
	if !j.planned() {
		return nil
	}
	m := &wire.JobMap{Elapsed: v.ledger.now - j.began, Tree: j.forest.upperNodes(wire.TreeLevels), OtherErrors: j.errors.others, Reassigned: v.again, Durations: j.durations.Clone()}
	for _, s := range j.queue.suspects.list {
		m.Reassigned += s.span.Len()
	}
	for _, e := range j.errors.sorted() {
		m.Errors = append(m.Errors, wire.ErrorCount{Text: e.Text, Count: e.Count, Partition: e.Partition})
	}
	holders := make([]uint64, len(v.workers))
	holder := func(worker uint32) uint64 {
		if holders[worker] == 0 {
			m.Holders = append(m.Holders, v.workers[worker])
			holders[worker] = uint64(len(m.Holders))
		}
		return holders[worker]
	}
	whole := false // one of the windows contains all partitions
	room := wire.MaxCells
	for _, w := range windows {
		w.Step = max(w.Step, 1)
		w.Cells = min(max(w.Cells, 0), room)
		room -= w.Cells
		c := v.cells(w, durable, holder)
		if !whole && c.span.Len() == j.tree.Partitions() {
			whole, m.Total = true, c.total()
		}
		m.Maps = append(m.Maps, wire.CellMap{Window: w, Runs: c.runs(), Retried: c.touched(j.retried.set.spans)})
	}
	if !whole {
		one := wire.Window{Step: j.tree.Partitions(), Cells: 1}
		m.Total = v.cells(one, durable, func(uint32) uint64 { return 0 }).total()
	}
	return m
}

// cells is a window of a job, divided into cells, each with its own counts.
type cells struct {
	window wire.Window
	span   engine.Span // the window, clipped to the job's partitions
	list   []wire.CellRun
}

// cells counts the partitions of a window by state.
func (v *View) cells(w wire.Window, durable []engine.Span, holder func(worker uint32) uint64) *cells {
	n := v.job.tree.Partitions()
	c := &cells{window: w, span: engine.Span{Lo: min(w.Lo, n), Hi: n}}
	if !c.span.Empty() {
		count := (c.span.Len()-1)/w.Step + 1
		if count > uint64(w.Cells) {
			count = uint64(w.Cells)
			c.span.Hi = c.span.Lo + count*w.Step
		}
		c.list = make([]wire.CellRun, count)
	}
	for i := range c.list {
		c.list[i].Repeat = 1
	}
	c.addFinished(v.job.forest)
	c.addDurable(durable)
	for _, h := range v.held {
		if h.span.Lo >= c.span.Hi || h.span.Hi <= c.span.Lo {
			continue
		}
		c.each(h.span, func(r *wire.CellRun, n uint64) {
			r.Holder = holder(h.worker)
			r.Held += n
		})
	}
	v.ledger.addExceptions(v.job, c)
	return c
}

// addDurable adds the partitions of the durable spans, which must be in order, to the cells.
func (c *cells) addDurable(durable []engine.Span) {
	from, _ := slices.BinarySearchFunc(durable, c.span.Lo, endsAfter)
	for _, span := range durable[from:] {
		if span.Lo >= c.span.Hi {
			break
		}
		c.each(span, func(r *wire.CellRun, n uint64) { r.Durable += n })
	}
}

// addExceptions adds failed, retried and skipped partitions to the cells, and then computes the
// remaining counts of each cell.
func (l *Ledger) addExceptions(j *job, c *cells) {
	for f := range j.queue.failed.in(c.span) {
		c.each(single(f.partition), func(r *wire.CellRun, n uint64) {
			switch {
			case f.failed == 0:
			case f.queued && l.now < f.due:
				r.Failed += n
			default:
				r.Retrying += n
				r.Held -= min(r.Held, n)
			}
		})
	}
	skipped := make([]uint64, len(c.list))
	for p := range j.skipped.from(skippedPartition(c.span.Lo)) {
		if uint64(*p) >= c.span.Hi {
			break
		}
		skipped[(uint64(*p)-c.span.Lo)/c.window.Step]++
	}
	for i := range c.list {
		balance(&c.list[i].Cell, min(c.window.Step, c.span.Len()-uint64(i)*c.window.Step), skipped[i])
	}
}

// touched returns the ranges of cells that overlap one of the spans.
func (c *cells) touched(spans []engine.Span) []engine.Span {
	var set spanSet
	from, _ := slices.BinarySearchFunc(spans, c.span.Lo, endsAfter)
	for _, span := range spans[from:] {
		if span.Lo >= c.span.Hi {
			break
		}
		lo, hi := max(span.Lo, c.span.Lo), min(span.Hi, c.span.Hi)
		set.add(engine.Span{Lo: (lo - c.span.Lo) / c.window.Step, Hi: (hi-1-c.span.Lo)/c.window.Step + 1})
	}
	return set.spans
}

// balance subtracts the durable and the skipped partitions from the number of computed partitions.
// It also ensures that the sum of the counts does not exceed the cell's size, because a worker may
// hold partitions that another worker has finished.
func balance(c *wire.Cell, size, skipped uint64) {
	c.Durable = min(c.Durable, c.Computed)
	c.Computed -= c.Durable
	fromComputed := min(skipped, c.Computed)
	c.Computed -= fromComputed
	c.Durable -= min(skipped-fromComputed, c.Durable)
	c.Failed += skipped
	left := size
	for _, n := range []*uint64{&c.Failed, &c.Durable, &c.Computed, &c.Retrying, &c.Held} {
		*n = min(*n, left)
		left -= *n
	}
}

// each calls visit for each cell that overlaps a span, with the number of partitions in the
// overlap.
func (c *cells) each(span engine.Span, visit func(r *wire.CellRun, n uint64)) {
	lo, hi := max(span.Lo, c.span.Lo), min(span.Hi, c.span.Hi)
	if lo >= hi {
		return
	}
	step := c.window.Step
	i := (lo - c.span.Lo) / step
	room := step - (lo - c.span.Lo - i*step) // number of the cell's partitions from lo on
	for {
		n := min(hi-lo, room)
		visit(&c.list[i], n)
		if lo += n; lo == hi {
			return
		}
		i, room = i+1, step
	}
}

// addFinished adds the number of finished partitions to the field Computed of each cell.
func (c *cells) addFinished(f *forest) {
	add := func(r *wire.CellRun, n uint64) { r.Computed += n }
	var walk func(n engine.Node, p *treeNode)
	walk = func(n engine.Node, p *treeNode) {
		span := f.tree.Span(n)
		switch {
		case p == nil || p.done == 0 || span.Hi <= c.span.Lo || span.Lo >= c.span.Hi:
		case p.finished:
			c.each(span, add)
		case c.span.Contains(span) && (span.Lo-c.span.Lo)/c.window.Step == (span.Hi-1-c.span.Lo)/c.window.Step:
			c.list[(span.Lo-c.span.Lo)/c.window.Step].Computed += p.done
		default:
			walk(n.Left(), p.child[0])
			walk(n.Right(), p.child[1])
		}
	}
	walk(f.tree.Root(), f.root)
}

// total returns the sums of the counts of all cells.
func (c *cells) total() (t wire.Cell) {
	for _, r := range c.list {
		t.Held += r.Held
		t.Computed += r.Computed
		t.Durable += r.Durable
		t.Retrying += r.Retrying
		t.Failed += r.Failed
	}
	return t
}

// runs joins adjacent cells with equal counts into one run. The runs reuse the memory of the cells.
func (c *cells) runs() []wire.CellRun {
	runs := c.list[:0]
	for _, r := range c.list {
		if last := len(runs) - 1; last >= 0 && runs[last].Cell == r.Cell && runs[last].Holder == r.Holder {
			runs[last].Repeat++
		} else {
			runs = append(runs, r)
		}
	}
	return runs
}

// upperNodes returns the nodes of the tree's upper levels, from the root downwards and from left to right.
func (f *forest) upperNodes(levels int) []wire.TreeNode {
	root := f.tree.Root()
	var list []wire.TreeNode
	level := []*treeNode{f.root}
	for depth := 0; depth < levels && depth <= int(root.Level); depth++ {
		at := root.Level - uint8(depth)
		var below []*treeNode
		for i, p := range level {
			n := engine.Node{Level: at, Index: uint64(i)}
			span := f.tree.Span(n)
			if span.Empty() {
				continue
			}
			switch {
			case p == nil:
				list = append(list, wire.TreeNode{})
				below = append(below, nil, nil)
			case p.finished:
				list = append(list, wire.TreeNode{Done: span.Len(), Merged: true})
				below = append(below, p, p)
			default:
				list = append(list, wire.TreeNode{Done: p.done})
				below = append(below, p.child[0], p.child[1])
			}
		}
		level = below
	}
	return list
}
