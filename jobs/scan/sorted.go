package scan

import (
	"cmp"
	"context"
	"iter"
)

// sortedShards merges the groups of shards that are sorted in the order of the result.
type sortedShards struct {
	*groups
	orders []rowOrder
	heap   []*sortedStream // streams that are not at their ends; the one with the first group is at the top
	err    error
}

// sortedStream is a stream with the prefixes of its group's values in the first columns of the orders, as far as they were
// needed.
type sortedStream struct {
	stream
	prefixes []uint64
}

// sortedLines yields the rows of the result from sorted shards.
func (q query) sortedLines(ctx context.Context, list []spilled) iter.Seq2[[]cell, error] {
	return func(yield func([]cell, error) bool) {
		s := &sortedShards{groups: &groups{query: q, scratch: newScratch(q.aggregates)}, orders: q.orders()}
		var early ahead
		defer early.reading.Wait()
		for i, pieces := range list {
			one := &sortedStream{stream: stream{left: pieces, ahead: &early, run: i}}
			if s.err = cmp.Or(s.err, one.stream.next(ctx)); !one.done() {
				s.heap = append(s.heap, one)
			}
		}
		heapify(s.heap, s.before)
		left := q.limit
		for skip := q.offset; s.err == nil && len(s.heap) > 0; s.advance(ctx) {
			if skip > 0 {
				skip--
				continue
			}
			if !yield(s.lineOf(s.heap[0].key, s.heap[0].states)) {
				return
			}
			if left--; left == 0 { // a limit of 0 never gets there
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

// advance moves the stream at the top to its next group.
func (s *sortedShards) advance(ctx context.Context) {
	top := s.heap[0]
	top.prefixes = top.prefixes[:0]
	if s.err = cmp.Or(s.err, top.next(ctx), ctx.Err()); s.err != nil {
		return
	}
	if top.done() {
		last := len(s.heap) - 1
		s.heap[0], s.heap = s.heap[last], s.heap[:last]
	}
	if len(s.heap) > 0 {
		sink(s.heap, 0, s.before)
	}
}

// before reports whether the group of a stream precedes that of another one in the result.
func (s *sortedShards) before(a, b **sortedStream) bool { return s.compare(*a, *b) < 0 }

// compare compares the groups of two streams in the order of the result. Two groups are equal in no order, because the columns
// of the parameter by are a part of each order.
func (s *sortedShards) compare(a, b *sortedStream) int {
	for i, o := range s.orders {
		x, y := s.prefix(a, i), s.prefix(b, i)
		order := comparePrefixes(x, y)
		if order == 0 && x&y&prefixExact == 0 {
			var err error
			order, err = s.compareGroups(&a.cursor, &b.cursor, o.Column)
			s.err = cmp.Or(s.err, err)
		}
		if o.Descending {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(a.run, b.run)
}

// prefix returns the prefix of a group's value in column i of the orders.
func (s *sortedShards) prefix(of *sortedStream, i int) uint64 {
	for len(of.prefixes) <= i {
		p, err := s.groups.prefix(&of.cursor, s.orders[len(of.prefixes)].Column)
		of.prefixes, s.err = append(of.prefixes, p), cmp.Or(s.err, err)
	}
	return of.prefixes[i]
}
