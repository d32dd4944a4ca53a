package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Map says where the partitions of an active job are. Durable are the job's spans in the
// last checkpoint. Map returns nil if the job is not active or not planned. The time that
// Map takes grows with the cells and with the job's assignments, not with its partitions.
func (l *Ledger) Map(job string, windows []wire.Window, durable []jobs.Span) *wire.JobMap {
	j := l.jobsByID[job]
	if j == nil || !j.planned() {
		return nil
	}
	m := &wire.JobMap{Tree: j.forest.upperNodes(wire.TreeLevels), OtherErrors: j.errors.others}
	for _, e := range j.errors.sorted() {
		m.Errors = append(m.Errors, wire.ErrorCount{Text: e.Text, Count: e.Count, Partition: e.Partition})
	}
	holders := map[*worker]uint64{}
	holder := func(w *worker) uint64 {
		if holders[w] == 0 {
			m.Holders = append(m.Holders, w.id)
			holders[w] = uint64(len(m.Holders))
		}
		return holders[w]
	}
	held := heldSpans(j)
	whole := false // a window has all partitions
	room := wire.MaxCells
	for _, w := range windows {
		w.Step = max(w.Step, 1)
		w.Cells = min(max(w.Cells, 0), room)
		room -= w.Cells
		c := l.cells(j, w, durable, held, holder)
		m.Maps = append(m.Maps, wire.CellMap{Window: w, Runs: c.runs()})
		if !whole && c.span.Len() == j.tree.Partitions() {
			whole, m.Total = true, c.total()
		}
	}
	if !whole {
		one := wire.Window{Step: j.tree.Partitions(), Cells: 1}
		m.Total = l.cells(j, one, durable, held, func(*worker) uint64 { return 0 }).total()
	}
	return m
}

// heldSpan is a span that a worker holds. A big cluster has tens of thousands, so they are
// copied once for all windows.
type heldSpan struct {
	span   jobs.Span
	worker *worker
	again  bool // a worker died while it held the span
}

func heldSpans(j *job) []heldSpan {
	list := make([]heldSpan, 0, j.assignments.len())
	for a := range j.assignments.all() {
		if a.call == nil && (a.duplicate == nil || a.duplicate.id.Number > a.id.Number) {
			list = append(list, heldSpan{a.span, a.worker, a.deaths > 0})
		}
	}
	return list
}

// cells is a window of a job, with a run of length one for each cell.
type cells struct {
	window wire.Window
	span   jobs.Span // the window, cut at the number of partitions
	list   []wire.CellRun
}

// cells counts the partitions of a window by state.
func (l *Ledger) cells(j *job, w wire.Window, durable []jobs.Span, held []heldSpan, holder func(*worker) uint64) *cells {
	n := j.tree.Partitions()
	c := &cells{window: w, span: jobs.Span{Lo: min(w.Lo, n), Hi: n}}
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
	c.addFinished(j.forest)
	for _, span := range durable {
		c.each(span, func(r *wire.CellRun, n uint64) { r.Durable += n })
	}
	for _, h := range held {
		c.each(h.span, func(r *wire.CellRun, n uint64) {
			r.Holder = holder(h.worker)
			if h.again {
				r.Retrying += n
			} else {
				r.Held += n
			}
		})
	}
	for _, s := range j.queue.suspects.list {
		c.each(s.span, func(r *wire.CellRun, n uint64) { r.Retrying += n })
	}
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
		skipped[(uint64(*p)-c.span.Lo)/w.Step]++
	}
	for i := range c.list {
		settle(&c.list[i].Cell, min(w.Step, c.span.Len()-uint64(i)*w.Step), skipped[i])
	}
	return c
}

// settle takes durable and skipped partitions out of the computed ones. A report may show
// that a worker holds partitions that another has finished, so settle also makes sure that
// the numbers add up to no more than the cell's size.
func settle(c *wire.Cell, size, skipped uint64) {
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

// each calls visit for each cell that a span overlaps, with the number of partitions in
// the overlap.
func (c *cells) each(span jobs.Span, visit func(r *wire.CellRun, n uint64)) {
	lo, hi := max(span.Lo, c.span.Lo), min(span.Hi, c.span.Hi)
	for lo < hi {
		i := (lo - c.span.Lo) / c.window.Step
		end := hi
		if (hi-1-c.span.Lo)/c.window.Step > i {
			end = c.span.Lo + (i+1)*c.window.Step
		}
		visit(&c.list[i], end-lo)
		lo = end
	}
}

// addFinished adds the finished partitions of each cell to its Computed.
func (c *cells) addFinished(f *forest) {
	add := func(r *wire.CellRun, n uint64) { r.Computed += n }
	var walk func(n jobs.Node, p *treeNode)
	walk = func(n jobs.Node, p *treeNode) {
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

// total is the sum of all cells.
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

// runs joins equal neighbours.
func (c *cells) runs() []wire.CellRun {
	var runs []wire.CellRun
	for _, r := range c.list {
		if last := len(runs) - 1; last >= 0 && runs[last].Cell == r.Cell && runs[last].Holder == r.Holder {
			runs[last].Repeat++
		} else {
			runs = append(runs, r)
		}
	}
	return slices.Clip(runs)
}

// upperNodes describes the nodes of the tree's upper levels, from the root, each level from
// the left.
func (f *forest) upperNodes(levels int) []wire.TreeNode {
	root := f.tree.Root()
	var list []wire.TreeNode
	level := []*treeNode{f.root}
	for depth := 0; depth < levels && depth <= int(root.Level); depth++ {
		at := root.Level - uint8(depth)
		var below []*treeNode
		for i, p := range level {
			n := jobs.Node{Level: at, Index: uint64(i)}
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
